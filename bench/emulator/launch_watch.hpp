// Who is told of the work that an EmulatorQueue is given, and says how much of it is done. For tests at sizes
// for which the emulator has no time: they look at the launches alone, or run some blocks of each.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/device/kernel/call_site.hpp"
#include "bench/emulator/vector_types.hpp"

namespace convscope::emulated {

class LaunchWatch {
 public:
  virtual ~LaunchWatch() = default;
  // A launch that a GPU accepts, before it runs: the numbers of the blocks that are to run.
  virtual std::vector<size_t> blocks(const CallSite& site, const dim3& grid) = 0;
  // A call of cuBLAS or cuFFT with good operands: whether it is to be computed.
  virtual bool computes(const char* library) = 0;
  virtual void waited() = 0;
};

}  // namespace convscope::emulated

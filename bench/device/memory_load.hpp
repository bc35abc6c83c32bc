// MemoryLoad: copies memory at a stated rate beside what is measured, as communication does beside the
// backward pass of a data-parallel step. On a CPU threads do, each with a core of its own behind those of the
// OpenMP threads; on a GPU kernels that have a multiprocessor each to themselves.
#pragma once

#include <memory>

#include "bench/device/device.hpp"

namespace convscope {

struct LoadRate {
  double bytes_per_second = 0;  // read and written, of all units together
  int units = 1;                // threads of a CPU, multiprocessors of a GPU
};

// "thread" or "multiprocessor"
inline const char* load_unit(DeviceKind kind) {
  return kind == DeviceKind::cpu ? "thread" : "multiprocessor";
}

class MemoryLoad {
 public:
  virtual ~MemoryLoad() = default;

  // Returns when every unit copies; when none does. Throw DeviceError; stop() also where the load ended
  // before.
  virtual void start() = 0;
  virtual void stop() = 0;

  // Bytes a second while it was on, so far; 0 before it ever was. What the memory gave, which may be less
  // than was asked for.
  virtual double measured_rate() const = 0;
};

// Ready and idle when it is returned. Copies between buffers that no cache of `device` holds. Throws
// UsageError where the device has not as many units as the load and the work beside it need:
// `compute_threads` on a CPU, one on a GPU; DeviceError, std::bad_alloc.
std::unique_ptr<MemoryLoad> make_memory_load(const LoadRate& rate, int compute_threads, Device& device);

}  // namespace convscope

// Runs a parsed kernel: every block of a launch, one after another. Functional, not timed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/ptx/kernel.hpp"

namespace convscope::ptx {

struct Dim3 {
  u32 x = 1, y = 1, z = 1;
};

struct Range {  // [begin, end) of addresses
  u64 begin = 0, end = 0;
};

// In which order the warps of a block have their turns.
enum class Order { forward, reverse, random };

// Something that need not be wrong for this run.
struct Warning {
  std::string what, place;  // place: of the instruction, FILE:LINE and its text
  std::string thread;
};

struct Options {
  Order order = Order::forward;
  u64 seed = 1;      // of Order::random
  bool late = true;  // asynchronous copies land as late as they may, otherwise at once
  // Tensor-core sums: aligned to the largest product or addend, two bits more than a float kept, truncated, a
  // few products at a time, as tensor cores do. Otherwise summed in double and rounded once.
  bool truncate = false;
  bool races = true;                  // looks for them
  bool report_uninitialised = false;  // reads of shared memory that nobody wrote
  std::function<void(const Warning&)> warn = [](const Warning&) {};
};

struct Launch {
  const Kernel* kernel = nullptr;
  Dim3 grid, block;
  u32 dynamic_shared = 0;      // bytes
  std::vector<u8> parameters;  // laid out as Kernel::parameters says
  // The live allocation around an address, empty when there is none.
  std::function<Range(u64)> allocation;
  // Of an address in no live allocation what a message says: "which is in no allocation".
  std::function<std::string(u64)> describe = [](u64) { return "which is in no allocation"; };
};

struct Statistics {
  u64 warp_instructions = 0;
  std::vector<u64> runs;         // of each instruction of Kernel::code: how often a warp ran it
  bool waited_for_host = false;  // volatile loads found the same until the host wrote
};

// Throws Fault for the first thing that is wrong.
Statistics run(const Launch& launch, const Options& options);

}  // namespace convscope::ptx

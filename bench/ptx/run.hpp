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

// The order in which the warps of a block run.
enum class Order { forward, reverse, random };

// A defect that need not change this run's results.
struct Warning {
  std::string what, place;  // place: FILE:LINE and text of the instruction
  std::string thread;
};

struct Options {
  Order order = Order::forward;
  u64 seed = 1;      // of Order::random
  bool late = true;  // asynchronous copies land as late as allowed, otherwise at once
  // Tensor-core sums: aligned to the largest product or addend, two bits more than a float kept, truncated, a
  // few products at a time, as tensor cores do. Otherwise summed in double and rounded once.
  bool truncate = false;
  std::function<void(const Warning&)> warn = [](const Warning&) {};
};

struct Launch {
  const Kernel* kernel = nullptr;
  Dim3 grid, block;
  u32 dynamic_shared = 0;      // bytes
  std::vector<u8> parameters;  // laid out by Kernel::parameters
  // The live allocation that contains an address; empty where there is none.
  std::function<Range(u64)> allocation;
  // Describes an address in no live allocation, for messages.
  std::function<std::string(u64)> describe = [](u64) { return "which is in no allocation"; };
};

struct Statistics {
  u64 warp_instructions = 0;
  std::vector<u64> runs;         // per instruction of Kernel::code: how often a warp ran it
  bool waited_for_host = false;  // volatile loads polled until the host wrote
};

// Throws Fault for the first error.
Statistics run(const Launch& launch, const Options& options);

}  // namespace convscope::ptx

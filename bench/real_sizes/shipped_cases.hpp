// Every problem that the configs ask for, at their own batch sizes and at 256, with every pass and layout,
// and under every workspace cap; the devices and plans that the tests of this folder try them with.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/core/problem.hpp"

namespace convscope::real_sizes {

// A layer of a config. The same shape stands for all layers that have it.
struct ShippedProblem {
  std::string layer;  // "alexnet conv2"
  ConvProblem problem;
};
// Of all configs but those without layers of their own, with the batch sizes that the config or the layer has
// for `device`, and 256; each problem once. Only passes and layouts are expanded: math is FP32.
std::vector<ShippedProblem> shipped_problems(DeviceKind device);

// Workspace caps in bytes: none, 256 MiB, 8 MiB, 0.
inline constexpr int64_t kCaps[] = {INT64_MAX, int64_t{256} << 20, int64_t{8} << 20, 0};

struct Case {
  const ShippedProblem* shipped = nullptr;
  ConvProblem problem;  // with its math mode
  const Algorithm* algorithm = nullptr;
  int64_t cap = 0;

  std::string text() const;
};

// Calls `look` with every plan of the algorithm for the problem: one for each cap that changes it and that it
// meets. Plans that refuse are left out.
void for_each_plan(const ShippedProblem& shipped, const ConvProblem& problem, const Algorithm& algorithm,
                   Device& device, int threads, const std::function<void(const Case&, Plan&)>& look);

// The same with every shipped problem in each math mode and all algorithms of this project for the device:
// for tests that run no kernel. Under sanitizers, where planning is ten times as slow, with one of 32 cases
// of each algorithm and math mode.
void for_each_plan(const Registry& registry, Device& device, int threads,
                   const std::function<void(const Case&, Plan&)>& look);

// The algorithms of this project for the device; for a GPU those that the emulator runs.
std::vector<const Algorithm*> own_algorithms(const Registry& registry, DeviceKind device);

// Of all cases every how many-th is tried: CONVSCOPE_REAL_SIZES_EVERY, or `usual`.
size_t stride(size_t usual);

}  // namespace convscope::real_sizes

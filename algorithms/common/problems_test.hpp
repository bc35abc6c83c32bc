// Problems that the tests of several families and of the whole catalog run.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/problem.hpp"

namespace convscope {

// Small, each odd in its own way.
inline constexpr const char* kOddShapes[] = {
    "n=1 c=1 hw=1x1 k=1 rs=1x1",
    "n=3 c=8 hw=5x9 k=16 rs=1x1",
    "n=2 c=6 hw=7x7 k=10 rs=1x1 groups=2",
    "n=3 c=7 hw=6x5 k=9 rs=1x1 stride=2x2",
    "n=3 c=5 hw=13x11 k=17 rs=3x3 pad=1x1",
    "n=3 c=3 hw=11x11 k=8 rs=3x3 pad=1x1",
    "n=1 c=4 hw=27x27 k=7 rs=5x5 pad=2x2",
    "n=1 c=3 hw=39x39 k=9 rs=11x11 stride=4x4",
    "n=2 c=3 hw=23x31 k=8 rs=7x7 stride=2x2 pad=3x3",
    "n=2 c=6 hw=12x15 k=10 rs=3x3 stride=2x1 pad=1x0",
    "n=1 c=3 hw=10x9 k=4 rs=2x2 stride=3x3",
    "n=2 c=5 hw=15x14 k=6 rs=3x3 pad=2x2 dilation=2x2",
    "n=2 c=4 hw=17x13 k=3 rs=3x3 stride=2x2 pad=2x2 dilation=2x2",
    "n=1 c=4 hw=20x17 k=3 rs=3x4 stride=4x3 pad=1x2 dilation=2x3",
    "n=3 c=8 hw=9x9 k=12 rs=3x3 pad=1x1 groups=4",
    "n=2 c=9 hw=10x11 k=9 rs=3x3 pad=1x1 groups=9",
    "n=1 c=6 hw=12x12 k=12 rs=5x5 stride=2x2 pad=2x2 groups=6",
    "n=2 c=4 hw=5x6 k=3 rs=5x6",
    "n=1 c=2 hw=3x3 k=3 rs=2x2 pad=4x4",
    "n=1 c=17 hw=1x40 k=19 rs=1x3 pad=0x1",
};

// Tiny. Every variant for GPUs takes at least one of them.
inline constexpr const char* kTinyShapes[] = {
    "n=1 c=3 hw=6x5 k=4 rs=3x3 pad=1x1",
    "n=1 c=2 hw=7x6 k=3 rs=5x5 pad=2x2",
    "n=2 c=4 hw=7x6 k=6 rs=3x3 stride=2x2 pad=1x1",
    "n=1 c=3 hw=5x6 k=3 rs=3x3 pad=1x1 groups=3",
};

// The shapes, one after the other, in NCHW and NHWC and in every pass.
inline std::vector<ConvProblem> in_every_pass(std::span<const char* const> shapes,
                                              MathMode math = MathMode::fp32) {
  std::vector<ConvProblem> all;
  for (const char* shape : shapes)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (Pass pass : kPasses) {
        ConvProblem& problem = all.emplace_back(parse_problem(shape));
        problem.pass = pass;
        problem.layout = layout;
        problem.math = math;
      }
  return all;
}

// How large a family's random problems are at most, and one of how many is depthwise or pointwise (0: none).
struct RandomProblems {
  int64_t batch, channels_of_a_group;
  int64_t depthwise, pointwise;
};

// Any small problem without a defect.
inline ConvProblem random_problem(std::mt19937& random, Pass pass, Layout layout,
                                  const RandomProblems& most) {
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  const auto is_one_in = [&](int64_t many) { return many > 0 && between(0, many - 1) == 0; };
  for (;;) {
    ConvProblem p;
    p.pass = pass;
    p.layout = layout;
    p.batch = between(1, most.batch);
    p.groups = is_one_in(3) ? between(2, 4) : 1;
    p.in_channels = p.groups * between(1, most.channels_of_a_group);
    p.out_channels = p.groups * between(1, most.channels_of_a_group);
    if (is_one_in(most.depthwise)) p.groups = p.out_channels = p.in_channels;
    p.input = {between(1, 20), between(1, 20)};
    if (is_one_in(most.pointwise)) return p;
    p.filter = {between(1, 5), between(1, 5)};
    p.stride = {between(1, 3), between(1, 3)};
    p.dilation = {between(1, 2), between(1, 2)};
    p.pad = {between(0, 3), between(0, 3)};
    if (!validate(p)) return p;
  }
}

// Every pass, math mode and layout of the shape that the algorithm takes on the device, forward with every
// epilogue too where it takes them.
inline std::vector<ConvProblem> supported_problems(const Algorithm& algorithm, const DeviceInfo& device,
                                                   const char* shape) {
  std::vector<ConvProblem> all;
  for (MathMode math : kMathModes)
    for (Layout layout : kLayouts)
      for (Pass pass : kPasses) {
        ConvProblem problem = parse_problem(shape);
        problem.math = math;
        problem.layout = layout;
        problem.pass = pass;
        for (Epilogue epilogue : kEpilogues) {
          problem.epilogue = epilogue;
          const bool has_it = epilogue == Epilogue::none || pass == Pass::forward;
          if (has_it && algorithm.supports(problem, device)) all.push_back(problem);
        }
      }
  return all;
}

}  // namespace convscope

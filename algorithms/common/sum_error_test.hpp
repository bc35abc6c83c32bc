// For tests of the folders: the rounding error of one run of a plan on the data that verification takes, so
// that a thin problem shows what a long sum costs.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/rounding.hpp"
#include "bench/verify/fast_reference.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {

// A quarter of the gate of FP32, which sums in two levels stay below at all sizes of the configs.
inline constexpr double kErrorAllowed = 5e-6;

// The relative L2 error of up to `most` evenly spaced elements of the written tensor against f64.
inline double sum_error(const Algorithm& algorithm, const ConvProblem& problem, Device& device,
                        const PlanOptions& options, int64_t most = 64) {
  const Operands operands = make_operands(problem, device, DataKind::uniform, 1);
  const auto plan = algorithm.plan(problem, device, options);
  Buffer workspace(device, static_cast<size_t>(plan->workspace_bytes()));
  const auto queue = device.make_queue();
  const ConvArgs args = operands.args(workspace.data());
  if (plan->has_prepare()) plan->prepare(args, *queue);
  plan->run(args, *queue);
  queue->synchronize();

  std::array<std::vector<float>, 3> host;
  const std::array<const Buffer*, 3> tensors{&operands.input, &operands.filter, &operands.output};
  for (size_t i = 0; i < host.size(); ++i) {
    host[i].resize(tensors[i]->bytes() / sizeof(float));
    tensors[i]->download(host[i].data(), tensors[i]->bytes());
  }
  const Role written = written_role(problem.pass);
  const TensorShape shape = problem.shape(written);
  const int64_t elements = problem.elements(written), step = ceil_div(elements, most);
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < elements; i += step) {
    std::array<int64_t, 4> index{};
    for (size_t axis = 4, rest = static_cast<size_t>(i); axis-- > 0;) {
      index[axis] = static_cast<int64_t>(rest) % shape.size[axis];
      rest /= static_cast<size_t>(shape.size[axis]);
    }
    const double expected = reference_element(problem, host[0].data(), host[1].data(), host[2].data(), index);
    const float result = host[static_cast<size_t>(written)]
                             [static_cast<size_t>(shape.offset(index[0], index[1], index[2], index[3]))];
    difference += (result - expected) * (result - expected);
    norm += expected * expected;
  }
  return std::sqrt(difference / norm);
}

// The error of a running sum of `terms` products of numbers of random sign in [-1, 1): each addition rounds a
// sum of its own size, which grows with the root. The factor is measured, of FP32.
inline double error_of_sum(double terms) {
  return 2.5e-8 * std::sqrt(terms / 2);
}

// Expects that the plan says how long its longest sum is, and that the measured error is what such a sum has.
inline void expect_error_of_sum(const Algorithm& algorithm, const ConvProblem& problem, Device& device,
                                const PlanOptions& options, double error) {
  const double terms = algorithm.plan(problem, device, options)->longest_sum();
  ASSERT_GT(terms, 0);
  EXPECT_LT(error, 1.5 * error_of_sum(terms)) << terms << " terms";
  EXPECT_GT(error, 0.5 * error_of_sum(terms)) << terms << " terms";
}

}  // namespace convscope

// For tests of the folders: an algorithm on small whole-number data against the f64 definition, element by
// element.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/fast_reference.hpp"

namespace convscope {

// Runs the problem twice on options.threads, everything that may be written filled with NaN before, and
// expects every element to within `tolerance` (0: equal) and nothing written beyond the tensors.
inline void expect_definition(const Algorithm& algorithm, const ConvProblem& problem, CpuDevice& device,
                              const PlanOptions& options, double tolerance) {
  SCOPED_TRACE(algorithm.info().id + " " + to_line(problem));
  device.set_threads(options.threads);
  std::mt19937 random(7);
  std::vector<Buffer> tensors;
  for (Role role : kRoles) {
    Buffer& buffer = tensors.emplace_back(device, static_cast<size_t>(problem.bytes(role)));
    if (role == written_role(problem.pass))
      buffer.fill_with_nan();
    else
      for (int64_t i = 0; i < problem.elements(role); ++i)
        buffer.as<float>()[i] = static_cast<float>(static_cast<int>(random() % 9) - 4);
  }
  const auto plan = algorithm.plan(problem, device, options);
  Buffer workspace(device, static_cast<size_t>(plan->workspace_bytes()));
  workspace.fill_with_nan();
  const ConvArgs args{tensors[0].data(), tensors[1].data(), tensors[2].data(), workspace.data()};
  const auto queue = device.make_queue();
  if (plan->has_prepare()) plan->prepare(args, *queue);
  plan->run(args, *queue);
  plan->run(args, *queue);

  EXPECT_NE(plan->implementation(), "");
  EXPECT_TRUE(workspace.guards_intact());
  for (const Buffer& buffer : tensors) EXPECT_TRUE(buffer.guards_intact());
  const Role written = written_role(problem.pass);
  const TensorShape shape = problem.shape(written);
  const float* result = tensors[static_cast<size_t>(written)].as<float>();
  const std::vector<double> all =
      reference_elements(problem, tensors[0].as<float>(), tensors[1].as<float>(), tensors[2].as<float>());
  for (int64_t a = 0; a < shape.size[0]; ++a)
    for (int64_t b = 0; b < shape.size[1]; ++b)
      for (int64_t c = 0; c < shape.size[2]; ++c)
        for (int64_t d = 0; d < shape.size[3]; ++d) {
          const int64_t at = shape.offset(a, b, c, d);
          ASSERT_NEAR(result[at], all[static_cast<size_t>(at)], tolerance)
              << plan->implementation() << " at " << a << "," << b << "," << c << "," << d;
        }
}

}  // namespace convscope

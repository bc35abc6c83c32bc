// What the plane plans say that they do. That they are right is in direct_test.cpp.
#include <gtest/gtest.h>

#include "algorithms/direct/cpu/correlation_plan.hpp"
#include "algorithms/direct/cpu/filter_plan.hpp"

namespace convscope::direct {
namespace {

std::optional<OperationCount> counted(const ConvProblem& problem, int threads) {
  const Kernels kernels = best_kernels();
  const PlanOptions options{.threads = threads};
  return problem.pass == Pass::backward_filter
             ? make_plane_filter_plan(problem, kernels, options)->operations()
             : make_plane_plan(problem, kernels, options)->operations();
}

TEST(DirectPlanes, CountWholeVectorsOfColumnsAndNoStagedRows) {
  ConvProblem problem = parse_problem("n=2 c=16 hw=15x15 k=16 rs=3x3 pad=1x1 groups=16");
  const int64_t columns = round_up(15, best_kernels().lanes);
  for (const Pass pass : kPasses) {
    problem.pass = pass;
    const OperationCount count = *counted(problem, 1);
    EXPECT_EQ(count.product_flops, 2 * 2 * 16 * 15 * columns * 9) << name(pass);
    EXPECT_EQ(count.bytes, problem.total_bytes()) << name(pass);
  }
}

TEST(DirectPlanes, CountTheSumsOfSlicesOfAGradient) {
  const ConvProblem problem =
      parse_problem("backward_filter n=2 c=8 hw=41x23 k=8 rs=3x3 stride=2x2 pad=1x1 groups=8");
  EXPECT_GT(counted(problem, 5)->bytes, problem.total_bytes());
}

}  // namespace
}  // namespace convscope::direct

// The reference against computations of another form: hand-worked numbers, and the adjoint identity
// <conv(x, w), y> = <x, conv_data(y, w)> = <w, conv_filter(x, y)>, which ties the three passes together.
#include "bench/verify/reference.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "bench/core/random.hpp"
#include "bench/verify/tensor_index.hpp"

namespace convscope {
namespace {

std::vector<float> random_tensor(const ConvProblem& problem, Role role) {
  std::vector<float> values(static_cast<size_t>(problem.elements(role)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = random_uniform(static_cast<uint64_t>(role), i);
  return values;
}

double inner_product(ConvProblem problem, Pass pass) {
  problem.pass = pass;
  const auto x = random_tensor(problem, Role::input), w = random_tensor(problem, Role::filter),
             y = random_tensor(problem, Role::output);
  const Role role = written_role(pass);
  const auto& other = role == Role::input ? x : role == Role::filter ? w : y;
  double sum = 0;
  for (int64_t i = 0; i < problem.elements(role); ++i)
    sum += other[static_cast<size_t>(i)] *
           reference_element(problem, x.data(), w.data(), y.data(), index_of_offset(problem.shape(role), i));
  return sum;
}

TEST(Reference, MultipliesByHand) {
  const ConvProblem problem = parse_problem("n=1 c=1 hw=3x3 k=1 rs=2x2");
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9}, w{1, 10, 100, 1000};
  const auto at = [&](int64_t p, int64_t q) {
    return reference_element(problem, x.data(), w.data(), nullptr, {0, 0, p, q});
  };
  EXPECT_EQ(at(0, 0), 1 + 20 + 400 + 5000);  // cross-correlation: the filter is not flipped
  EXPECT_EQ(at(1, 1), 5 + 60 + 800 + 9000);
}

TEST(Reference, PadsWithZeros) {
  const ConvProblem problem = parse_problem("n=1 c=1 hw=2x2 k=1 rs=3x3 pad=2x2");
  const std::vector<float> x{1, 2, 3, 4}, w{1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(reference_element(problem, x.data(), w.data(), nullptr, {0, 0, 0, 0}), 9);
  EXPECT_EQ(reference_element(problem, x.data(), w.data(), nullptr, {0, 0, 3, 3}), 4);
}

TEST(Reference, PassesAreAdjointForEveryLayoutStrideDilationAndGroup) {
  for (const char* line :
       {"n=2 c=3 hw=7x6 k=4 rs=3x2 pad=1x1", "n=1 c=4 hw=9x8 k=6 rs=3x3 stride=2x3 pad=1x0 groups=2",
        "n=2 c=4 hw=9x9 k=4 rs=3x3 dilation=2x1 pad=3x3 groups=4", "n=3 c=2 hw=5x4 k=3 rs=5x4",
        "n=1 c=2 hw=3x3 k=2 rs=2x2 stride=3x3 pad=4x4"})
    for (Layout layout : kLayouts) {
      ConvProblem problem = parse_problem(line);
      problem.layout = layout;
      const double forward = inner_product(problem, Pass::forward);
      EXPECT_NEAR(inner_product(problem, Pass::backward_data), forward, 1e-10) << to_line(problem);
      EXPECT_NEAR(inner_product(problem, Pass::backward_filter), forward, 1e-10) << to_line(problem);
      EXPECT_NE(forward, 0);
    }
}

TEST(TensorIndex, ComesBackFromEveryOffset) {
  for (Layout layout : kLayouts) {
    ConvProblem problem = parse_problem("n=2 c=3 hw=1x5 k=4 rs=1x2");
    problem.layout = layout;
    for (Role role : kRoles)
      for (int64_t i = 0; i < problem.elements(role); ++i)
        EXPECT_EQ(offset_of(problem.shape(role), index_of_offset(problem.shape(role), i)), i);
  }
}

}  // namespace
}  // namespace convscope

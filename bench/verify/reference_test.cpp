// The definition against hand-worked numbers and the adjoint identity
// <conv(x, w), y> = <x, conv_data(y, w)> = <w, conv_filter(x, y)>, which ties the three passes together; the
// fast reference against the definition.
#include "bench/verify/reference.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "bench/core/random.hpp"
#include "bench/verify/fast_reference.hpp"
#include "bench/verify/tensor_data.hpp"
#include "bench/verify/tensor_index.hpp"

namespace convscope {
namespace {

struct Sums {
  std::vector<double> values, magnitudes;
};

Sums definition(const ConvProblem& problem, const float* input, const float* filter, const float* output) {
  const auto elements = static_cast<size_t>(problem.elements(written_role(problem.pass)));
  Sums sums{std::vector<double>(elements), std::vector<double>(elements)};
  reference(problem, input, filter, output, sums.values, sums.magnitudes);
  return sums;
}

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
  const Sums sums = definition(problem, x.data(), w.data(), y.data());
  double sum = 0;
  for (size_t i = 0; i < other.size(); ++i) sum += other[i] * sums.values[i];
  return sum;
}

TEST(Reference, MultipliesByHand) {
  const ConvProblem problem = parse_problem("n=1 c=1 hw=3x3 k=1 rs=2x2");
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9}, w{1, 10, 100, 1000};
  const std::vector<double> y = definition(problem, x.data(), w.data(), nullptr).values;
  EXPECT_EQ(y[0], 1 + 20 + 400 + 5000);  // cross-correlation: the filter is not flipped
  EXPECT_EQ(y[3], 5 + 60 + 800 + 9000);
}

TEST(Reference, PadsWithZeros) {
  const ConvProblem problem = parse_problem("n=1 c=1 hw=2x2 k=1 rs=3x3 pad=2x2");
  const std::vector<float> x{1, 2, 3, 4}, w{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<double> y = definition(problem, x.data(), w.data(), nullptr).values;
  EXPECT_EQ(y.front(), 9);
  EXPECT_EQ(y.back(), 4);
}

TEST(Reference, GivesEachChannelGroupItsOwnChannels) {
  const ConvProblem problem = parse_problem("n=1 c=4 hw=1x1 k=2 rs=1x1 groups=2");
  const std::vector<float> x{1, 10, 100, 1000}, w{1, 2, 3, 4};
  EXPECT_EQ(definition(problem, x.data(), w.data(), nullptr).values, (std::vector<double>{21, 4300}));
}

TEST(Reference, AddsUpMagnitudesBesides) {
  const ConvProblem problem = parse_problem("n=1 c=1 hw=1x2 k=1 rs=1x2");
  const std::vector<float> x{1, 2}, w{3, -5};
  const Sums sums = definition(problem, x.data(), w.data(), nullptr);
  EXPECT_EQ(sums.values, std::vector<double>{-7});
  EXPECT_EQ(sums.magnitudes, std::vector<double>{13});
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

// Whole numbers, so that any order of summation gives the same.
TEST(FastReference, IsTheDefinitionElementByElement) {
  for (const char* line :
       {"n=2 c=3 hw=7x6 k=4 rs=3x2 pad=1x1", "n=1 c=1 hw=1x1 k=1 rs=1x1", "n=3 c=2 hw=5x4 k=3 rs=5x4",
        "n=1 c=4 hw=9x8 k=6 rs=3x3 stride=2x3 pad=1x0 groups=2",
        "n=1 c=2 hw=3x3 k=2 rs=2x2 stride=3x3 pad=4x4",
        "n=2 c=4 hw=9x9 k=4 rs=3x3 dilation=2x1 pad=3x3 groups=4",
        "n=2 c=6 hw=11x5 k=9 rs=1x4 pad=0x2 groups=3",
        "n=1 c=3 hw=12x13 k=2 rs=4x3 stride=3x2 pad=5x1 dilation=3x4", "n=2 c=2 hw=8x1 k=3 rs=3x1 stride=4x1",
        "n=1 c=5 hw=6x7 k=10 rs=2x3 stride=1x2 dilation=1x2 groups=5"})
    for (Pass pass : kPasses)
      for (Layout layout : kLayouts) {
        ConvProblem problem = parse_problem(line);
        problem.pass = pass;
        problem.layout = layout;
        std::array<std::vector<float>, 3> tensors;
        for (Role role : read_roles(pass))
          tensors[static_cast<size_t>(role)] = TensorData(problem, role, DataKind::integers, 3).generate();
        const Sums sums = definition(problem, tensors[0].data(), tensors[1].data(), tensors[2].data());
        const FastReference fast(problem, tensors[0].data(), tensors[1].data(), tensors[2].data());
        const TensorShape shape = problem.shape(written_role(pass));
        for (size_t i = 0; i < sums.values.size(); ++i) {
          const TensorIndex index = index_of_offset(shape, static_cast<int64_t>(i));
          ASSERT_EQ(fast.at(index).value, sums.values[i]) << to_line(problem) << " at " << i;
          ASSERT_EQ(fast.at(index).magnitude, sums.magnitudes[i]) << to_line(problem) << " at " << i;
          ASSERT_EQ(
              reference_element(problem, tensors[0].data(), tensors[1].data(), tensors[2].data(), index),
              sums.values[i]);
        }
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

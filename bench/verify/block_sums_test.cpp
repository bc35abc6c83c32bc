#include "bench/verify/block_sums.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/verify/fast_reference.hpp"
#include "bench/verify/tensor_data.hpp"

namespace convscope {
namespace {

struct Tensors {
  explicit Tensors(const ConvProblem& problem) {
    for (Role role : kRoles)
      values[static_cast<size_t>(role)] = TensorData(problem, role, DataKind::integers, 4).generate();
    const Role role = written_role(problem.pass);
    auto& written = values[static_cast<size_t>(role)];
    std::vector<float> result(written.size());
    const FastReference fast(problem, input(), filter(), output());
    for (size_t i = 0; i < result.size(); ++i)
      result[i] =
          static_cast<float>(fast.at(index_of_offset(problem.shape(role), static_cast<int64_t>(i))).value);
    written = result;
  }
  const float* input() const { return values[0].data(); }
  const float* filter() const { return values[1].data(); }
  const float* output() const { return values[2].data(); }
  std::array<std::vector<float>, 3> values;
};

std::vector<ConvProblem> problems() {
  std::vector<ConvProblem> all;
  for (const char* line :
       {"n=2 c=5 hw=6x5 k=7 rs=3x2 pad=1x1", "n=2 c=6 hw=6x5 k=10 rs=3x2 stride=2x1 groups=2",
        "n=2 c=3 hw=4x5 k=3 rs=2x2 groups=3"})
    for (Pass pass : kPasses)
      for (Layout layout : kLayouts) {
        all.push_back(parse_problem(line));
        all.back().pass = pass;
        all.back().layout = layout;
      }
  return all;
}

TEST(BlockSums, OfARightResultAreAsExpected) {
  for (const ConvProblem& problem : problems()) {
    const Tensors tensors(problem);
    const auto& written = tensors.values[static_cast<size_t>(written_role(problem.pass))];
    for (int64_t block : {1, 2, 3, 7}) {
      const BlockSums sums(problem, block, 1);
      EXPECT_EQ(sums.expected(tensors.input(), tensors.filter(), tensors.output()),
                sums.of_result(written.data()))
          << to_line(problem) << " block " << block;
    }
  }
}

TEST(BlockSums, MoveWithEveryElement) {
  for (const ConvProblem& problem : problems()) {
    Tensors tensors(problem);
    auto& written = tensors.values[static_cast<size_t>(written_role(problem.pass))];
    const BlockSums sums(problem, 3, 1);
    const std::vector<double> right = sums.of_result(written.data());
    for (float& element : written) {
      element += 1;
      const std::vector<double> now = sums.of_result(written.data());
      int moved = 0;
      for (size_t i = 0; i < now.size(); ++i) moved += now[i] != right[i];
      EXPECT_EQ(moved, 1) << to_line(problem);
      element -= 1;
    }
  }
}

TEST(BlockSums, NameTheirChannels) {
  const BlockSums sums(parse_problem("n=2 c=6 hw=6x5 k=10 rs=3x2 groups=2"), 3, 1);
  EXPECT_EQ(sums.describe(0), "output[n=0 k=0 p=0 q=0] to output[n=0 k=2 p=0 q=0]");
  // Blocks are k=0..2, 3..4, 5..7, 8..9 at 4x4 positions.
  EXPECT_EQ(sums.describe(16), "output[n=0 k=3 p=0 q=0] to output[n=0 k=4 p=0 q=0]");
  EXPECT_EQ(sums.describe(127), "output[n=1 k=8 p=3 q=3] to output[n=1 k=9 p=3 q=3]");
}

TEST(BlockSums, BlocksGrowWithTheProblemUpToAGroup) {
  const ConvProblem conv2 = parse_problem("n=16 c=96 hw=27 k=256 rs=5x5 pad=2x2");  // 7.2e9 multiply-adds
  EXPECT_EQ(block_for_cost(conv2, 1e10), 1);
  EXPECT_EQ(block_for_cost(conv2, 1e9), 8);
  EXPECT_EQ(block_for_cost(conv2, 1), 256);
}

}  // namespace
}  // namespace convscope

#include <gtest/gtest.h>

#include <set>

#include "bench/verify/tensor_index.hpp"

namespace convscope {
namespace {

std::set<int64_t> coordinates(const std::vector<TensorIndex>& sample, size_t axis) {
  std::set<int64_t> found;
  for (const TensorIndex& index : sample) found.insert(index[axis]);
  return found;
}

TEST(Sample, HoldsEveryResidueOfEveryTileSizeAndTheLastTile) {
  const ConvProblem problem = parse_problem("n=16 c=3 hw=227x227 k=96 rs=11x11 stride=4x4");  // 55x55
  const auto sample = sample_outputs(problem, 4096, 1);
  for (size_t axis : {2, 3}) {
    const auto found = coordinates(sample, axis);
    for (int64_t tile = 2; tile <= 32; ++tile) {
      std::set<int64_t> residues;
      for (int64_t p : found) residues.insert(p % tile);
      EXPECT_EQ(residues.size(), static_cast<size_t>(tile));
      EXPECT_TRUE(found.contains(54 / tile * tile));
    }
  }
  const auto channels = coordinates(sample, 1);
  for (int64_t k : {0, 7, 8, 15, 16, 31, 32, 95}) EXPECT_TRUE(channels.contains(k)) << k;
  EXPECT_TRUE(coordinates(sample, 0).contains(0));
  EXPECT_TRUE(coordinates(sample, 0).contains(15));
}

TEST(Sample, IsDistinctInRangeReproducibleAndNearTheSizeAskedFor) {
  for (Pass pass : kPasses) {
    ConvProblem problem = parse_problem("n=4 c=64 hw=56x40 k=128 rs=3x3 pad=1x1 groups=2");
    problem.pass = pass;
    const auto size = problem.shape(written_role(pass)).size;
    const auto sample = sample_outputs(problem, 1000, 9);
    EXPECT_EQ(sample, sample_outputs(problem, 1000, 9));
    EXPECT_NE(sample, sample_outputs(problem, 1000, 10));
    EXPECT_EQ(std::set<TensorIndex>(sample.begin(), sample.end()).size(), sample.size());
    EXPECT_GT(sample.size(), 900);
    EXPECT_LE(sample.size(), 1016);
    for (const TensorIndex& index : sample)
      for (size_t axis = 0; axis < 4; ++axis) {
        EXPECT_GE(index[axis], 0);
        EXPECT_LT(index[axis], size[axis]);
      }
  }
}

TEST(Sample, IsEverythingWhenThatIsLittle) {
  const ConvProblem problem = parse_problem("n=2 c=3 hw=8 k=4 rs=3x3");
  EXPECT_EQ(sample_outputs(problem, 4096, 1), all_outputs(problem));
  EXPECT_EQ(static_cast<int64_t>(all_outputs(problem).size()), problem.elements(Role::output));
}

}  // namespace
}  // namespace convscope

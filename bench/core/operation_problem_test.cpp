#include "bench/core/operation_problem.hpp"

#include <gtest/gtest.h>

namespace convscope {
namespace {

constexpr Activations kShape{2, 3, 5, 4};

OperationProblem of(OperationSort sort, bool backward = false) {
  OperationProblem problem{sort, backward, kShape, {}};
  if (problem.is_pool()) problem.pool = *operation_from_text(std::string(name(sort)) + " 3x2/2");
  return problem;
}

TEST(OperationProblem, IsOneReadableLine) {
  EXPECT_EQ(to_text(of(OperationSort::bias_relu, true)), "bias+relu backward n=2 c=3 hw=5x4");
  EXPECT_EQ(to_text(of(OperationSort::batch_norm_relu)), "batch_norm+relu n=2 c=3 hw=5x4");
  EXPECT_EQ(to_text(of(OperationSort::pool)), "pool 3x2/2 n=2 c=3 hw=5x4");
  EXPECT_EQ(to_text(of(OperationSort::mean, true)), "mean 3x2/2 backward n=2 c=3 hw=5x4");
  EXPECT_EQ(to_text({OperationSort::update, false, {1, 1, 1, 77}, {}}), "update values=77");
  EXPECT_EQ(to_text({OperationSort::one_bit, false, {5, 1, 1, 77}, {}}), "1bit columns=5 values=77");
}

TEST(OperationProblem, CountsEachTensorOnceAndTwiceWhereItIsUpdated) {
  constexpr int64_t x = 2 * 3 * 5 * 4, y = 2 * 3 * 2 * 2, channels = 3;
  EXPECT_EQ(of(OperationSort::relu).bytes(), 4 * 2 * x);
  EXPECT_EQ(of(OperationSort::relu, true).bytes(), 4 * 3 * x);
  EXPECT_EQ(of(OperationSort::bias).bytes(), 4 * (2 * x + channels));
  EXPECT_EQ(of(OperationSort::bias, true).bytes(), 4 * (x + channels));
  EXPECT_EQ(of(OperationSort::bias_relu, true).bytes(), 4 * (3 * x + channels));
  EXPECT_EQ(of(OperationSort::lrn).bytes(), 4 * 2 * x);
  EXPECT_EQ(of(OperationSort::lrn, true).bytes(), 4 * 3 * x) << "y can be made from x";
  EXPECT_EQ(of(OperationSort::pool).bytes(), 4 * (x + y));
  EXPECT_EQ(of(OperationSort::pool, true).bytes(), 4 * (x + y));
  EXPECT_EQ(of(OperationSort::mean).bytes(), 4 * (x + y));
  EXPECT_EQ(of(OperationSort::mean, true).bytes(), 4 * (x + y));
  EXPECT_EQ(of(OperationSort::batch_norm).bytes(), 4 * (2 * x + 2 * channels));
  EXPECT_EQ(of(OperationSort::batch_norm_relu, true).bytes(), 4 * (3 * x + 4 * channels));
  EXPECT_EQ(of(OperationSort::add_relu).bytes(), 4 * 3 * x);
  EXPECT_EQ(of(OperationSort::copy).bytes(), 4 * 2 * x);
  EXPECT_EQ(of(OperationSort::update).bytes(), 4 * 5 * x);
  EXPECT_EQ(of(OperationSort::one_bit).bytes(), 4 * 4 * x);
}

}  // namespace
}  // namespace convscope

#include "bench/core/rounding.hpp"

#include <gtest/gtest.h>

namespace convscope {
namespace {

TEST(Rounding, IsUpToTheNextMultiple) {
  for (int64_t a = 0; a < 40; ++a)
    for (int64_t b = 1; b < 12; ++b) {
      EXPECT_GE(ceil_div(a, b) * b, a);
      EXPECT_LT((ceil_div(a, b) - 1) * b, a);
      EXPECT_EQ(round_up(a, b), ceil_div(a, b) * b);
    }
}

}  // namespace
}  // namespace convscope

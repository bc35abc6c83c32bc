#include "bench/core/random.hpp"

#include <gtest/gtest.h>

#include <map>

namespace convscope {
namespace {

TEST(Shuffle, MakesEveryOrderAboutAsOften) {
  std::map<std::vector<int>, int> count;
  uint64_t draws = 0;
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> values{0, 1, 2};
    shuffle(values, 7, draws);
    ++count[values];
  }
  ASSERT_EQ(count.size(), 6U);
  for (const auto& [order, times] : count) EXPECT_NEAR(times, 1000, 150);
  EXPECT_EQ(draws, 2 * 6000U);
}

TEST(Shuffle, TakesNothingOfOneValueOrNone) {
  uint64_t draws = 0;
  std::vector<int> one{5}, none;
  shuffle(one, 1, draws);
  shuffle(none, 1, draws);
  EXPECT_EQ(draws, 0U);
  EXPECT_EQ(one, std::vector<int>{5});
}

}  // namespace
}  // namespace convscope

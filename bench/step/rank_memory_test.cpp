#include "bench/step/rank_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace convscope {
namespace {

using ::testing::HasSubstr;

TEST(RankMemory, IsThatOfAContainerForItsRanksAndOfAMachineForThoseOfItsContainers) {
  const RankPlace one{"a", 1, "boot pid:[1]"}, contained{"b", 1, "boot pid:[2]"}, far{"c", 1, "pid:[1]"};
  const std::vector<RankPlace> places{one, one, contained, far};
  const std::vector<int64_t> bytes{100, 200, 300, 1000};
  EXPECT_EQ(memory_defect(places, bytes, 0, 400, 800), "");
  EXPECT_THAT(memory_defect(places, bytes, 0, 396, 800), HasSubstr("steps of 2 ranks on a need 300"));
  EXPECT_THAT(memory_defect(places, bytes, 0, 400, 796),
              HasSubstr("steps of 3 ranks on the machine of a need 600"));
  EXPECT_EQ(memory_defect(places, bytes, 2, 400, 800), "");
  EXPECT_NE(memory_defect(places, bytes, 3, 1200, 1200), "");
}

}  // namespace
}  // namespace convscope

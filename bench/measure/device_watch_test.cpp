#include <gtest/gtest.h>

#include "bench/measure/watches.hpp"

namespace convscope {
namespace {

// A device that others use for the first `busy` readings; counts the readings.
struct Readings {
  int busy;
  std::string programs;
  int taken = 0;

  DeviceState read() {
    DeviceState state;
    state.others = ++taken <= busy ? OthersUse{0.6, programs} : OthersUse{};
    return state;
  }
};

TEST(DeviceWatch, WaitsUntilProgramsThatItKnowsHaveLeft) {
  Readings readings{2, "pid 7 60%"};
  DeviceWatch watch([&] { return readings.read(); }, 1000);
  EXPECT_FALSE(is_used_by_others(watch.wait()));
  EXPECT_EQ(readings.taken, 3);
}

TEST(DeviceWatch, ReturnsABusyDeviceWhenItsPatienceIsSpent) {
  Readings readings{1000, "pid 7 60%"};
  DeviceWatch watch([&] { return readings.read(); }, 0);
  EXPECT_TRUE(is_used_by_others(watch.wait()));
  EXPECT_EQ(readings.taken, 1);
}

// While it waits, one program that is left over would be taken for this one.
TEST(DeviceWatch, DoesNotWaitForProgramsOfWhichThisOneMayBeAny) {
  Readings readings{2, ""};
  DeviceWatch watch([&] { return readings.read(); }, 1000);
  EXPECT_TRUE(is_used_by_others(watch.wait()));
  EXPECT_EQ(readings.taken, 1);
}

}  // namespace
}  // namespace convscope

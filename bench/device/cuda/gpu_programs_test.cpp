#include "bench/device/cuda/gpu_programs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace convscope::cuda {
namespace {

// More than Linux has process ids, so that they have no names.
constexpr int64_t kHog = 5'000'042, kSecond = 5'000'043, kThird = 5'000'044, kFourth = 5'000'045;
constexpr int64_t kOwn = 17, kWorker = 18;

TEST(GpuPrograms, AreThoseThatAreNotThisOne) {
  const OthersUse use = others_of({{kOwn, 40}, {kWorker, 10}, {kHog, 30}}, {kOwn, kWorker}, true);
  EXPECT_DOUBLE_EQ(use.share, 0.3);
  EXPECT_EQ(use.programs, "pid 5000042 30%");
}

TEST(GpuPrograms, AreNamedBusiestFirstAndNoMoreThanThree) {
  const ProcessShares shares{{kHog, 5}, {kSecond, 50}, {kThird, 10}, {kFourth, 1}};
  EXPECT_EQ(others_of(shares, {}, true).programs, "pid 5000043 50%, pid 5000044 10%, pid 5000042 5%, 1 more");
}

TEST(GpuPrograms, ThatRanNothingAreNotNamed) {
  EXPECT_EQ(others_of({{kHog, 0}}, {}, true).programs, "");
  EXPECT_EQ(others_of({}, {kOwn}, true).share, 0);
}

TEST(GpuPrograms, AreAllButTheBusiestWhereThisOnesProcessIdIsNotKnown) {
  const OthersUse two = others_of({{kHog, 60}, {kSecond, 7}}, {kOwn}, false);
  EXPECT_DOUBLE_EQ(two.share, 0.07);
  EXPECT_EQ(two.programs, "") << "of another namespace";
  EXPECT_EQ(others_of({{kHog, 60}}, {kOwn}, false).share, 0) << "it may be this one";
}

TEST(GpuPrograms, HaveNoNameWithoutAFileOfNvidiasDriver) {
  const int64_t parent = getppid();  // a shell or a test runner
  EXPECT_EQ(others_of({{parent, 20}}, {}, true).programs, "pid " + std::to_string(parent) + " 20%");
}

TEST(GpuPrograms, OfADeviceThatIsNotThereAreNotKnown) {
  const SharedLibrary none({"libconvscope-none.so.1"}, "");
  GpuPrograms programs(none, nullptr);
  EXPECT_FALSE(programs.now());
  EXPECT_FALSE(programs.before_use());
}

}  // namespace
}  // namespace convscope::cuda

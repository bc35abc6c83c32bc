#include "bench/cli/run/calibrate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/cli/test_program.hpp"
#include "bench/core/error.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Folders : public ::testing::Test {
 protected:
  Folders()
      : place_(fs::path(::testing::TempDir()) /
               ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(place_);
    fs::create_directories(place_ / "kept");
    std::ofstream(place_ / "kept" / "old");
  }
  ~Folders() override { fs::remove_all(place_); }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(place_))
      found.push_back(entry.path().lexically_relative(place_).string());
    std::ranges::sort(found);
    return found;
  }

  fs::path place_;
};

TEST_F(Folders, AreReplacedByFinishedOnes) {
  fs::create_directories(place_ / "new");
  std::ofstream(place_ / "new" / "fresh");
  replace_folder(place_ / "new", place_ / "kept");
  EXPECT_THAT(names(), ElementsAre("kept", "kept/fresh"));
}

TEST_F(Folders, StayWhereTheyCannotBeReplaced) {
  EXPECT_THAT([&] { replace_folder(place_ / "missing", place_ / "kept"); },
              ThrowsMessage<UsageError>(HasSubstr("kept: cannot be replaced by ")));
  EXPECT_THAT(names(), ElementsAre("kept", "kept/old"));
}

TEST(Calibrate, MeasuresTwoLayersOfAlexNetOnWhatARunMeasures) {
  const auto options = testing::read_flags<CalibrateOptions>({"--threads", "1,2", "--batch", "3"});
  Suite suite = calibration_suite();
  EXPECT_THAT(suite.batch.at(DeviceKind::cpu), ElementsAre(16));
  apply(options.overrides, suite);
  EXPECT_THAT(suite.threads, ElementsAre(1, 2));
  EXPECT_THAT(suite.batch.at(DeviceKind::cpu), ElementsAre(3));
  EXPECT_TRUE(suite.devices.empty()) << "those of a run without --device";
  EXPECT_EQ(suite.layers.size(), 2u);
}

}  // namespace
}  // namespace convscope

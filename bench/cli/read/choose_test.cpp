// The verb `choose` over results that are in the repository, and its bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "bench/cli/test_program.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using testing::refusal_of;

TEST(Choose, OnTheCommittedResultsHasLessRegretThanTheLibrary) {
  const Json scores =
      Json::parse(testing::run_program({"choose", "--results", testing::kKeptRun, "--json"}))[0]["scores"];
  EXPECT_EQ(scores["own"]["judged"], 14);
  EXPECT_LT(scores["own"]["regret"].get<double>(), 0.05);
  EXPECT_NEAR(scores["onednn.auto.cpu"]["regret"].get<double>(), 0.3850 / 0.1590 - 1, 1e-3);
}

// Of GPUs, and here of the emulator.
class Emulated final : public Algorithm {
 public:
  Emulated() {
    info_.id = "emulated.cuda";
    info_.device = DeviceKind::cuda;
  }
  const AlgorithmInfo& info() const override { return info_; }
  Support takes(const ConvProblem&, const DeviceInfo&) const override { return Support::yes(); }
  std::unique_ptr<Plan> plan(const ConvProblem&, Device&, const PlanOptions&) const override {
    return nullptr;
  }

 private:
  AlgorithmInfo info_;
};

TEST(Choose, RefusesADeviceWithoutTimes) {
  Registry registry;
  registry.add(std::make_unique<Emulated>());
  const std::string config = CONVSCOPE_SOURCE_FOLDER "/configs/smoke.json";
  EXPECT_THAT(testing::error_of([&] {
                testing::run_program({"choose", config, "--device", "emulator"}, registry);
              }),
              HasSubstr("allowed are devices that have times"));
}

TEST(Choose, NeedsAConfigOrResultsAndNotBoth) {
  EXPECT_THAT(refusal_of({"choose"}), HasSubstr("needs a CONFIG or --results"));
  EXPECT_THAT(refusal_of({"choose", "a.json", "--results", "out"}), HasSubstr("leave out CONFIG"));
  EXPECT_THAT(refusal_of({"choose", "--results", "out", "--batch", "1"}), HasSubstr("leave out --batch"));
  EXPECT_EQ(refusal_of({"choose", "--results", "out,other", "--json"}), "");
  EXPECT_EQ(refusal_of({"choose", "a.json", "--batch", "1"}), "");
}

}  // namespace
}  // namespace convscope

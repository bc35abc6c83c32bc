#include "bench/cli/inventory/info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cli/test_program.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

TEST(Info, ShowsTheEnvironmentAndTheCeilings) {
  const Json environment = {
      {"program", {{"build_type", "Release"}, {"modified", false}}},
      {"device", {{"name", "Test processor"}, {"l2_bytes", 1 << 20}, {"governor", nullptr}}}};
  const std::string text = testing::output_of(
      [&](auto& out) { print_info(out, environment, {testing::kCeilings}, InfoOptions{false}, {}); });
  EXPECT_THAT(text, AllOf(HasSubstr("build type             Release\n"),
                          HasSubstr("l2                     1.0 MiB\n"),
                          HasSubstr("governor               not readable\n"), HasSubstr("200.0")));
  const Json json = Json::parse(testing::output_of(
      [&](auto& out) { print_info(out, environment, {testing::kCeilings}, InfoOptions{true}, {}); }));
  EXPECT_EQ(json["device"]["l2_bytes"], 1 << 20);
  EXPECT_EQ(json["ceilings"][0]["fma_flops"], 2e11);
}

TEST(Info, LeavesOutCeilingsThatDoNotFitTheLineAndNamesThem) {
  const auto printed = [](size_t columns) {
    return testing::output_of([&](auto& out) {
      print_info(out, Json::object(), {testing::kCeilings}, InfoOptions{false}, Look(false, columns));
    });
  };
  EXPECT_THAT(printed(100), AllOf(HasSubstr("FP32 GFLOP/s"), Not(HasSubstr("left out"))));
  EXPECT_THAT(printed(60), HasSubstr("left out to fit 60 columns: TF32, BF16"));
}

TEST(Info, MeasuresPowersOfTwoAndAllCores) {
  EXPECT_THAT(ceiling_thread_counts(1), ElementsAre(1));
  EXPECT_THAT(ceiling_thread_counts(2), ElementsAre(1, 2));
  EXPECT_THAT(ceiling_thread_counts(12), ElementsAre(1, 2, 4, 8, 12));
}

TEST(InfoFlags, AreRead) {
  EXPECT_TRUE(testing::read_flags<InfoOptions>({"--json"}).json);
  EXPECT_FALSE(testing::read_flags<InfoOptions>({}).json);
}

}  // namespace
}  // namespace convscope

#include "bench/runner/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/algorithm/described_test.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/record/record_json.hpp"

namespace convscope {
namespace {

using ::testing::MatchesRegex;

TEST(Environment, NamesBuildLibrariesSystemAndProcessor) {
  Registry registry;
  registry.add(std::make_unique<testing::Described>(
      AlgorithmInfo{"somelib.cpu", "library", "somelib", "4.5.6", DeviceKind::cpu, ""}));
  const DeviceInfo device = describe_cpu();
  const auto json = describe_environment({device}, registry);
  EXPECT_EQ(json["libraries"]["somelib"], "4.5.6");
  EXPECT_TRUE(json["libraries"]["fmt"].is_string());
  EXPECT_EQ(json["device"], to_json(device));
  EXPECT_THAT(json["program"]["commit"].get<std::string>(), MatchesRegex("unknown|[0-9a-f]{40}"));
  EXPECT_TRUE(json["program"]["modified"].is_boolean());
  EXPECT_FALSE(json["system"]["kernel"].get<std::string>().empty());
  EXPECT_GT(json["state"]["available_memory_bytes"].get<int64_t>(), int64_t{1} << 20);
}

TEST(Environment, NamesEveryGpuWithItsIndex) {
  DeviceInfo first, second;
  first.kind = second.kind = DeviceKind::cuda;
  second.index = 1;
  const auto json = describe_environment({first, second}, {});
  EXPECT_EQ(json["gpu"]["index"], 0);
  ASSERT_EQ(json["other_gpus"].size(), 1u);
  EXPECT_EQ(json["other_gpus"][0]["index"], 1);
}

TEST(Environment, WritesTheTimeAsUtc) {
  EXPECT_THAT(utc_now(), MatchesRegex("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
}

TEST(BuildInfo, IsFilledInByTheBuild) {
  const BuildInfo build = build_info();
  EXPECT_FALSE(build.version.empty());
  EXPECT_FALSE(build.build_type.empty());
  EXPECT_THAT(build.compiler, MatchesRegex("[A-Za-z]+ [0-9.]+"));
  EXPECT_EQ(build.flags.find('@'), std::string::npos);
}

}  // namespace
}  // namespace convscope

#include "bench/cli/inventory/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/cli/test_program.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::string explanation(const std::string& line, ExplainOptions options) {
  CpuDevice device;
  options.problem = line;
  return testing::output_of([&](auto& out) {
    const ExplainedDevice devices[] = {{device, testing::kCeilings}};
    print_explanation(out, parse_problem(line), options, testing::registry_with_picky(), devices,
                      {false, 200});
  });
}

TEST(Explain, ShowsCountsAndTheBindingBound) {
  const std::string line = "n=16 c=64 hw=14 k=64 rs=3 pad=1";
  const std::string text = explanation(line, {});
  EXPECT_THAT(text,
              AllOf(HasSubstr(to_line(parse_problem(line))), HasSubstr("mb16ic64ih14oc64oh14kh3ph1"),
                    HasSubstr("picky.cpu"), HasSubstr("1.0 MiB"), HasSubstr("5+4+4"), HasSubstr("compute")));
  ExplainOptions as_json;
  as_json.json = true;
  const Json json = Json::parse(explanation(line, as_json));
  const Json& picky = json["algorithms"][1];
  const double flops = parse_problem(line).nominal_flops() / 4 + 1e6;
  EXPECT_TRUE(picky["supported"].get<bool>());
  EXPECT_DOUBLE_EQ(picky["flops_executed"].get<double>(), flops);
  EXPECT_EQ(picky["workspace_bytes"], 1 << 20);
  EXPECT_EQ(picky["bound"], "compute");
  EXPECT_DOUBLE_EQ(picky["bound_seconds"].get<double>(), flops / testing::kCeilings.fma_flops);
}

TEST(Explain, LeavesOutTheCountsThatALibraryDoesNotTell) {
  const std::string line = "nhwc n=16 c=64 hw=14 k=64 rs=3 pad=1";
  EXPECT_THAT(explanation(line, {}), ContainsRegex("picky.cpu +- +- +- +- +1.0 MiB +- +- +- +5\\+4\\+4"));
  ExplainOptions as_json;
  as_json.json = true;
  const Json picky = Json::parse(explanation(line, as_json))["algorithms"][1];
  EXPECT_TRUE(picky["supported"].get<bool>());
  EXPECT_EQ(picky["workspace_bytes"], 1 << 20);
  for (const char* unknown : {"product_flops", "transform_flops", "flops_executed", "bytes_algo",
                              "bytes_cached", "arithmetic_intensity", "bound", "bound_seconds"})
    EXPECT_TRUE(picky.at(unknown).is_null()) << unknown;
}

TEST(Explain, SaysWhyNot) {
  EXPECT_THAT(explanation("n=1 c=4 hw=8 k=4 rs=3 stride=2", {}),
              HasSubstr("picky.cpu: unsupported_stride: it needs stride 1\n"));
  ExplainOptions small;
  small.workspace_cap = 1000;
  EXPECT_THAT(
      explanation("n=1 c=4 hw=8 k=4 rs=3", small),
      HasSubstr("picky.cpu: workspace_over_cap: it needs 1.0 MiB of workspace, more than the cap of 1000 B "
                "(1048576 and 1000 bytes)\n"));
  small.json = true;
  const Json json = Json::parse(explanation("backward_data n=1 c=4 hw=8 k=4 rs=3", small));
  EXPECT_EQ(json["algorithms"][1]["reason"], "unsupported_pass");
  EXPECT_FALSE(json["algorithms"][1]["supported"].get<bool>());
}

TEST(ExplainFlags, AreRead) {
  const auto options = testing::read_flags<ExplainOptions>(
      {"n=1", "--threads", "2", "--cache", "hot", "--workspace-cap", "inf", "--device", "cuda:1"});
  EXPECT_EQ(options.problem, "n=1");
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.device, DeviceId(DeviceKind::cuda, 1));
  EXPECT_EQ(options.cache, CacheState::hot);
  EXPECT_EQ(options.workspace_cap, std::nullopt);
}

}  // namespace
}  // namespace convscope

// What list, info, explain and exec print and write, with an algorithm and a machine made up for the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "bench/cli/exec.hpp"
#include "bench/cli/explain.hpp"
#include "bench/cli/info.hpp"
#include "bench/cli/list.hpp"
#include "bench/cli/npy.hpp"
#include "bench/core/error.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/record/results_format.hpp"
#include "bench/verify/reference_algorithm.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

// Forward 3x3 at stride 1 only; 1 MiB of workspace; its run() does what `work_` says.
class Picky final : public Algorithm {
 public:
  explicit Picky(void (*work)(const ConvArgs&), const std::string& id = "picky.cpu") : work_(work) {
    info_.id = id;
  }
  const AlgorithmInfo& info() const override { return info_; }
  Support supports(const ConvProblem& p, const DeviceInfo&) const override {
    if (p.pass != Pass::forward) return Support::no(Reason::unsupported_pass, "it only goes forward");
    if (p.math != MathMode::fp32) return Support::no(Reason::unsupported_math, "it needs fp32");
    if (p.filter != Extent2{3, 3}) return Support::no(Reason::unsupported_filter, "it needs a 3x3 filter");
    if (p.stride != Extent2{1, 1}) return Support::no(Reason::unsupported_stride, "it needs stride 1");
    return Support::yes();
  }
  std::unique_ptr<Plan> plan(const ConvProblem&, Device&, const PlanOptions&) const override {
    return std::make_unique<PickyPlan>(work_);
  }
  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    if (p.layout == Layout::nhwc) return std::nullopt;  // as a library that does not say what it does
    return OperationCount{p.nominal_flops() / 4, 1e6, 5e6};
  }

 private:
  struct PickyPlan final : Plan {
    explicit PickyPlan(void (*work)(const ConvArgs&)) : work_(work) {}
    int64_t workspace_bytes() const override { return 1 << 20; }
    std::string implementation() const override { return "5+4+4"; }
    void run(const ConvArgs& args, Queue&) override { work_(args); }
    void (*work_)(const ConvArgs&);
  };
  AlgorithmInfo info_{"picky.cpu",     "winograd",       "somelib", "1.2",
                      DeviceKind::cpu, "For this test.", false,     true};
  void (*work_)(const ConvArgs&);
};

Registry registry(void (*work)(const ConvArgs&) = [](const ConvArgs&) {}) {
  Registry all;
  add_reference(all);
  all.add(std::make_unique<Picky>(work));
  return all;
}

DeviceInfo machine() {
  return {DeviceKind::cpu, "Test processor", "AVX3", 2, 32 << 10, 1 << 20, 32 << 20, int64_t{24} << 30, true};
}
const Ceilings kCeilings{2, 2e11, 2e10, 2.5e10, 2e11};

template <typename Function>
std::string output_of(const Function& function) {
  std::ostringstream out;
  function(out);
  return out.str();
}
template <typename Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ListAlgorithms, AsksEachWhatItSupports) {
  const std::string text = output_of([](auto& out) {
    list_algorithms(out, registry(), {{machine()}, {}}, false);
  });
  EXPECT_THAT(
      text,
      HasSubstr("picky.cpu  (somelib 1.2)\n  For this test.\n  passes forward; layouts nchw, nhwc, chwn; "
                "math fp32\n  filters 3x3, 3x3 dilation 2, 3x3 groups 2, 3x3 depthwise\n"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("reference.cpu"), HasSubstr("never timed"), HasSubstr("filters all probed\n")));
}

TEST(ListAlgorithms, GivesNeighboursThatAreAlikeOneEntry) {
  Registry all;
  for (const char* id : {"picky.0.cpu", "picky.1.cpu", "picky.2.cpu"})
    all.add(std::make_unique<Picky>([](const ConvArgs&) {}, id));
  const auto list = [&](bool json) {
    return output_of([&](auto& out) { list_algorithms(out, all, {{machine()}, {}}, json); });
  };
  EXPECT_THAT(list(false), StartsWith("picky.{0..2}.cpu  (somelib 1.2)\n  For this test.\n"));
  EXPECT_EQ(Json::parse(list(true)).size(), 3u);
}

TEST(ListAlgorithms, WritesTheSameAsJson) {
  const std::string text = output_of([](auto& out) {
    list_algorithms(out, registry(), {{machine()}, {}}, true);
  });
  const Json json = Json::parse(text);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["id"], "picky.cpu");
  EXPECT_EQ(json[1]["passes"], Json({"forward"}));
  EXPECT_TRUE(json[1]["refusal"].is_null());
  EXPECT_TRUE(json[0]["version"].is_null());
}

TEST(ListAlgorithms, SaysWhenTheDeviceIsMissing) {
  const std::string text = output_of([](auto& out) { list_algorithms(out, registry(), {}, false); });
  EXPECT_THAT(text, HasSubstr("not here: this machine has no cpu device"));
}

TEST(ListAlgorithms, SaysWhyThereIsNoSuchDeviceWhereThatIsKnown) {
  const DeviceList devices{{}, {{DeviceKind::cpu, "no CPU device: it was sold"}}};
  const std::string text = output_of([&](auto& out) { list_algorithms(out, registry(), devices, false); });
  EXPECT_THAT(text, HasSubstr("not here: no CPU device: it was sold"));
}

TEST(ListDevices, ShowsTheMachine) {
  const std::string text = output_of([](auto& out) { list_devices(out, {{machine()}, {}}, false); });
  EXPECT_THAT(text, AllOf(HasSubstr("Test processor"), HasSubstr("32.0 KiB"), HasSubstr("24.0 GiB"),
                          HasSubstr("yes")));
  const Json json = Json::parse(output_of([](auto& out) { list_devices(out, {{machine()}, {}}, true); }));
  EXPECT_EQ(json[0]["cores"], 2);
}

TEST(ListDevices, ShowsEveryGpuUnderTheNameThatTheFlagTakes) {
  DeviceInfo first = machine(), second = machine();
  first.kind = second.kind = DeviceKind::cuda;
  second.index = 1;
  const DeviceList devices{{machine(), first, second}, {}};
  const std::string text = output_of([&](auto& out) { list_devices(out, devices, false); });
  EXPECT_THAT(text, AllOf(HasSubstr("\n  cpu "), HasSubstr("\n  cuda:0 "), HasSubstr("\n  cuda:1 ")));
  const Json json = Json::parse(output_of([&](auto& out) { list_devices(out, devices, true); }));
  EXPECT_EQ(json[2]["index"], 1);
}

TEST(ListLayers, ShowsTheConfig) {
  Suite suite;
  suite.name = "tiny";
  suite.source = "a paper";
  Layer layer;
  layer.name = "conv2";
  layer.shape = parse_problem("n=16 c=96 hw=27 k=256 rs=5 pad=2");
  layer.count = 3;
  suite.layers = {layer};
  const std::string text = output_of([&](auto& out) { list_layers(out, suite, false); });
  EXPECT_THAT(text, AllOf(HasSubstr("tiny: a paper\n"), HasSubstr("N16 C96 27x27 -> K256 5x5 pad 2"),
                          HasSubstr("14.3 GFLOP")));
  const Json json = Json::parse(output_of([&](auto& out) { list_layers(out, suite, true); }));
  EXPECT_EQ(json["layers"][0]["count"], 3);
  EXPECT_TRUE(json["layers"][0]["batch"].is_null());
}

TEST(ListColumns, PrintsTheDocumentationFile) {
  EXPECT_EQ(output_of([](auto& out) { list_columns(out, false, true); }), results_format_markdown());
  EXPECT_THAT(output_of([](auto& out) { list_columns(out, false, false); }), HasSubstr("full_median_ms"));
  EXPECT_EQ(Json::parse(output_of([](auto& out) { list_columns(out, true, false); }))[0]["name"], "network");
}

TEST(List, SaysWhatIsAllowed) {
  const auto error = [](const ListOptions& options) {
    return error_of([&] {
      std::ostringstream out;
      list(out, options, registry());
    });
  };
  EXPECT_THAT(error({"networks", "", false, false}),
              AllOf(HasSubstr("\"networks\""), HasSubstr("algorithms, devices")));
  EXPECT_THAT(error({"layers", "", false, false}), HasSubstr("name a config"));
  EXPECT_THAT(error({"devices", "x.json", false, false}), HasSubstr("\"x.json\" is one argument too many"));
  EXPECT_THAT(error({"devices", "", false, true}), HasSubstr("--markdown"));
}

TEST(Info, ShowsTheEnvironmentAndTheCeilings) {
  const Json environment = {
      {"program", {{"build_type", "Release"}, {"modified", false}}},
      {"device", {{"name", "Test processor"}, {"l2_bytes", 1 << 20}, {"governor", nullptr}}}};
  const std::string text =
      output_of([&](auto& out) { print_info(out, environment, {kCeilings}, InfoOptions{false}); });
  EXPECT_THAT(text, AllOf(HasSubstr("build type             Release\n"),
                          HasSubstr("l2                     1.0 MiB\n"),
                          HasSubstr("governor               not readable\n"), HasSubstr("200.0")));
  const Json json = Json::parse(
      output_of([&](auto& out) { print_info(out, environment, {kCeilings}, InfoOptions{true}); }));
  EXPECT_EQ(json["device"]["l2_bytes"], 1 << 20);
  EXPECT_EQ(json["ceilings"][0]["fma_flops"], 2e11);
}

TEST(Info, MeasuresPowersOfTwoAndAllCores) {
  EXPECT_THAT(ceiling_thread_counts(1), ElementsAre(1));
  EXPECT_THAT(ceiling_thread_counts(2), ElementsAre(1, 2));
  EXPECT_THAT(ceiling_thread_counts(12), ElementsAre(1, 2, 4, 8, 12));
}

std::string explanation(const std::string& line, ExplainOptions options) {
  CpuDevice device;
  options.problem = line;
  return output_of([&](auto& out) {
    const ExplainedDevice devices[] = {{device, kCeilings}};
    print_explanation(out, parse_problem(line), options, registry(), devices);
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
  EXPECT_DOUBLE_EQ(picky["bound_seconds"].get<double>(), flops / kCeilings.fma_flops);
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
      HasSubstr(
          "picky.cpu: workspace_over_cap: it needs 1.0 MiB of workspace, more than the cap of 1000 B\n"));
  small.json = true;
  const Json json = Json::parse(explanation("backward_data n=1 c=4 hw=8 k=4 rs=3", small));
  EXPECT_EQ(json["algorithms"][1]["reason"], "unsupported_pass");
  EXPECT_FALSE(json["algorithms"][1]["supported"].get<bool>());
}

class Exec : public ::testing::Test {
 protected:
  Exec() {
    folder_ = std::filesystem::temp_directory_path() /
              ("convscope_" + std::to_string(getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    options_.problem = "n=1 c=1 hw=3 k=1 rs=3 pad=1";
    options_.algorithm = "reference.cpu";
    options_.input = path("x.npy");
    options_.filter = path("w.npy");
    options_.output = path("y.npy");
    write_npy(options_.input, {{1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}});
    write_npy(options_.filter, {{1, 1, 3, 3}, {0, 1, 0, 0, 0, 0, 0, 0, 0}});
  }
  ~Exec() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  int run(void (*picky)(const ConvArgs&) = [](const ConvArgs&) {}) {
    CpuDevice device;
    std::ostringstream errors;
    const int code = exec_algorithm(options_, registry(picky), device, 1, errors);
    errors_ = errors.str();
    return code;
  }

  std::filesystem::path folder_;
  ExecOptions options_;
  std::string errors_;
};

TEST_F(Exec, ReadsTwoTensorsAndWritesTheThird) {
  EXPECT_EQ(run(), 0);
  const NpyArray y = read_npy(options_.output);
  EXPECT_THAT(y.shape, ElementsAre(1, 1, 3, 3));
  EXPECT_THAT(y.values, ElementsAre(0, 0, 0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(errors_, "");
}

TEST_F(Exec, WritesTheInputInBackwardDataAndTheFilterInBackwardFilter) {
  EXPECT_EQ(run(), 0);
  options_.problem = "backward_data n=1 c=1 hw=3 k=1 rs=3 pad=1";
  options_.input = path("dx.npy");
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(read_npy(path("dx.npy")).values, ElementsAre(1, 2, 3, 4, 5, 6, 0, 0, 0));
  options_.problem = "backward_filter n=1 c=1 hw=3 k=1 rs=3 pad=1";
  options_.input = path("x.npy");
  options_.filter = path("dw.npy");
  EXPECT_EQ(run(), 0);
  // dw[0][1] = sum of y[i][j] x[i-1][j] = 1 1 + 2 2 + 3 3 + 4 4 + 5 5 + 6 6
  EXPECT_EQ(read_npy(path("dw.npy")).values.at(1), 91);
}

TEST_F(Exec, RefusesTensorsOfAnotherShape) {
  options_.problem = "nhwc n=1 c=1 hw=3 k=1 rs=3 pad=1";
  EXPECT_THAT(error_of([&] { run(); }),
              AllOf(HasSubstr("x.npy: its shape is (1, 1, 3, 3)"),
                    HasSubstr("the input of this problem in nhwc is (1, 3, 3, 1)")));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(Exec, NamesTheNearestAlgorithmAndTheMissingFile) {
  options_.algorithm = "refrence.cpu";
  EXPECT_THAT(error_of([&] { run(); }),
              AllOf(HasSubstr("\"refrence.cpu\""), HasSubstr("did you mean \"reference.cpu\"?")));
  options_.algorithm = "reference.cpu";
  options_.filter = "";
  EXPECT_THAT(error_of([&] { run(); }),
              AllOf(HasSubstr("--filter is missing"), HasSubstr("forward writes --output")));
}

TEST_F(Exec, ReportsARefusalWithItsCode) {
  options_.algorithm = "picky.cpu";
  options_.problem = "n=1 c=1 hw=3 k=1 rs=1";
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(errors_, "convscope: picky.cpu: unsupported_filter: it needs a 3x3 filter\n");
  options_.problem = "n=1 c=1 hw=3 k=1 rs=3 pad=1";
  options_.workspace_cap = 100;
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(errors_, HasSubstr("workspace_over_cap: it needs 1048576 bytes"));
}

TEST_F(Exec, ReportsAFailureAndWritesNothing) {
  options_.algorithm = "picky.cpu";
  EXPECT_EQ(run([](const ConvArgs&) { throw std::runtime_error("the library gave up"); }), 1);
  EXPECT_EQ(errors_, "convscope: picky.cpu: failed: the library gave up\n");
  EXPECT_EQ(run([](const ConvArgs& args) { static_cast<float*>(args.output)[9] = 0; }), 1);
  EXPECT_THAT(errors_, HasSubstr("it wrote outside the tensors"));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

}  // namespace
}  // namespace convscope

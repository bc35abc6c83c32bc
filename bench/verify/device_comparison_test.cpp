// Results that are compared on the device get the verdicts of results that are compared on the host.
#include "bench/verify/device_comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "bench/algorithm/described_test.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/device/values.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/verify/fast_reference.hpp"
#include "bench/verify/tensor_data.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

using testing::Described;
using ::testing::HasSubstr;

// The emulator, which counts what is copied to and from the host.
class CountingEmulator final : public Device {
 public:
  int64_t bytes_up = 0, bytes_down = 0;
  int64_t usable = int64_t{1} << 40;

  explicit CountingEmulator(EmulatorOrder order = EmulatorOrder::forward) : emulator({.order = order}) {}
  const DeviceInfo& info() const override { return emulator.info(); }
  std::unique_ptr<Queue> make_queue() override { return emulator.make_queue(); }
  void* allocate(size_t bytes) override { return emulator.allocate(bytes); }
  void release(void* data) noexcept override { emulator.release(data); }
  void protect(const void* data, size_t bytes) override { emulator.protect(data, bytes); }
  void copy_to_device(void* to, const void* from, size_t bytes) override {
    bytes_up += static_cast<int64_t>(bytes);
    emulator.copy_to_device(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    bytes_down += static_cast<int64_t>(bytes);
    emulator.copy_to_host(to, from, bytes);
  }
  void fill(void* data, unsigned char byte, size_t bytes) override { emulator.fill(data, byte, bytes); }
  int64_t usable_bytes() override { return usable; }

  EmulatorDevice emulator;
};

// A run on the host's copies of the operands, which go back to the device afterwards.
struct HostRun {
  const ConvProblem& problem;
  std::array<std::vector<float>, 3> tensors;  // by role
  std::vector<float> before;                  // what the written tensor held
  float workspace;                            // its first value
  int run;                                    // 1 is the first
  std::vector<float>& written() { return tensors[static_cast<size_t>(written_role(problem.pass))]; }
  bool is_on_whole_numbers() const {
    const auto& read = tensors[static_cast<size_t>(read_roles(problem.pass)[0])];
    return std::all_of(read.begin(), read.end(), [](float value) { return value == std::round(value); });
  }
};
using Fault = std::function<void(HostRun&)>;
enum class Outside { nowhere, output, workspace };

class FaultyPlan final : public Plan {
 public:
  FaultyPlan(const ConvProblem& problem, Device& device, Fault fault, Outside outside)
      : problem_(problem), device_(device), fault_(std::move(fault)), outside_(outside) {}
  int64_t workspace_bytes() const override { return 64; }

  void run(const ConvArgs& args, Queue&) override {
    const DataType storage = storage_type(problem_.math);
    HostRun run{problem_, {}, {}, 0, ++runs_};
    for (Role role : kRoles) {
      std::vector<uint8_t> stored(static_cast<size_t>(problem_.bytes(role)));
      device_.copy_to_host(stored.data(), args.tensor(role), stored.size());
      auto& values = run.tensors[static_cast<size_t>(role)];
      values.resize(static_cast<size_t>(problem_.elements(role)));
      load_values(stored.data(), storage, values);
    }
    device_.copy_to_host(&run.workspace, args.workspace, sizeof(float));
    run.before = run.written();
    const FastReference fast(problem_, run.tensors[0].data(), run.tensors[1].data(), run.tensors[2].data());
    const TensorShape shape = problem_.shape(written_role(problem_.pass));
    std::vector<float> right(run.before.size());
    for (size_t i = 0; i < right.size(); ++i)
      right[i] = static_cast<float>(fast.at(index_of_offset(shape, static_cast<int64_t>(i))).value);
    run.written() = right;
    fault_(run);
    for (Role role : kRoles)
      upload_values(device_, args.tensor(role), storage, run.tensors[static_cast<size_t>(role)]);
    const float value = 1;
    const Role written = written_role(problem_.pass);
    if (outside_ == Outside::output)
      device_.copy_to_device(static_cast<std::byte*>(args.tensor(written)) + problem_.bytes(written), &value,
                             4);
    if (outside_ == Outside::workspace)
      device_.copy_to_device(static_cast<std::byte*>(args.workspace) - 4, &value, 4);
  }

 private:
  ConvProblem problem_;
  Device& device_;
  Fault fault_;
  Outside outside_;
  int runs_ = 0;
};

const Described kExact({"", "", "", "", DeviceKind::cpu, "", true});

struct PlantedFault {
  const char* name;
  Fault fault;
  Outside outside = Outside::nowhere;
};

void scale(HostRun& run, float factor) {
  for (float& value : run.written()) value *= factor;
}

std::vector<PlantedFault> planted_faults() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return {
      {"none", [](HostRun&) {}},
      {"one element", [](HostRun& r) { r.written()[17] += 1; }},
      {"the last element", [](HostRun& r) { r.written().back() += 0.5f; }},
      {"a little everywhere",
       [](HostRun& r) {
         if (!r.is_on_whole_numbers()) scale(r, 1.02f);
       }},
      {"far less everywhere",
       [](HostRun& r) {
         if (!r.is_on_whole_numbers()) scale(r, 1 + 1e-6f);
       }},
      {"whole numbers inexact",
       [](HostRun& r) {
         if (r.is_on_whole_numbers()) scale(r, 1.01f);
       }},
      {"a NaN", [](HostRun& r) { r.written()[20] = std::nanf(""); }},
      {"an infinity", [](HostRun& r) { r.written()[21] = kInfinity; }},
      {"unwritten", [](HostRun& r) { r.written()[22] = r.before[22]; }},
      {"unwritten from the second run on",
       [](HostRun& r) {
         if (r.run >= 2) r.written()[22] = r.before[22];
       }},
      {"reads its output", [](HostRun& r) { r.written()[5] += r.before[5]; }},
      {"reads its output where it is a number",
       [](HostRun& r) {
         if (!std::isnan(r.before[6])) r.written()[6] += r.before[6] + 1;
       }},
      {"reads its workspace", [](HostRun& r) { r.written()[0] += r.workspace; }},
      {"wrong from the third run on",
       [](HostRun& r) {
         if (r.run >= 3) r.written()[9] += 1;
       }},
      {"a little off the first run",
       [](HostRun& r) {
         if (r.run == 3) scale(r, 1 + 1e-7f);
       }},
      {"writes into its first tensor",
       [](HostRun& r) { r.tensors[static_cast<size_t>(read_roles(r.problem.pass)[0])][12] = 99; }},
      {"writes into its second tensor, the last element",
       [](HostRun& r) { r.tensors[static_cast<size_t>(read_roles(r.problem.pass)[1])].back() = 0; }},
      {"writes past its output", [](HostRun&) {}, Outside::output},
      {"writes before its workspace", [](HostRun&) {}, Outside::workspace},
  };
}

// Every pass, and every type that tensors are stored in.
std::vector<ConvProblem> compared_problems() {
  std::vector<ConvProblem> all;
  for (const auto& [pass, math, layout] : {std::tuple(Pass::forward, MathMode::fp32, Layout::nchw),
                                           std::tuple(Pass::backward_data, MathMode::fp32, Layout::nhwc),
                                           std::tuple(Pass::backward_filter, MathMode::fp32, Layout::nchw),
                                           std::tuple(Pass::forward, MathMode::bf16, Layout::nhwc),
                                           std::tuple(Pass::backward_filter, MathMode::fp16, Layout::nchw)}) {
    all.push_back(parse_problem("n=2 c=4 hw=9x8 k=6 rs=3x2 pad=1x1 groups=2"));
    all.back().pass = pass;
    all.back().math = math;
    all.back().layout = layout;
  }
  return all;
}

// With equal expected values: those of another device than the candidate's are compared on the host.
struct Verdicts {
  Verdict on_device, on_host;
};

Verdicts both(const ConvProblem& problem, const PlantedFault& planted, const Algorithm& algorithm, bool again,
              CountingEmulator& device) {
  EmulatorDevice other;
  const auto queue = device.make_queue();
  const auto verdict = [&](Device& reference) {
    VerifyOptions options;
    options.reference_device = &reference;
    Verification verification(problem, options);
    FaultyPlan plan(problem, device.emulator, planted.fault, planted.outside);
    return again ? verification.check_again(algorithm, plan, device, *queue)
                 : verification.check(algorithm, plan, device, *queue);
  };
  return {verdict(device), verdict(other)};
}

void expect_equal(const std::optional<double>& a, const std::optional<double>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  EXPECT_NEAR(a.value_or(0), b.value_or(0), 1e-12 * std::abs(b.value_or(0)));
}

void expect_equal(const Verdicts& verdicts) {
  const Verdict &a = verdicts.on_device, &b = verdicts.on_host;
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.note, b.note);
  EXPECT_EQ(a.contained, b.contained);
  expect_equal(a.accuracy.relative_l2, b.accuracy.relative_l2);
  expect_equal(a.accuracy.max_abs, b.accuracy.max_abs);
  expect_equal(a.accuracy.max_relative, b.accuracy.max_relative);
  EXPECT_EQ(a.accuracy.integers_exact, b.accuracy.integers_exact);
  EXPECT_EQ(a.accuracy.checked_outputs, b.accuracy.checked_outputs);
  EXPECT_EQ(a.accuracy.total_outputs, b.accuracy.total_outputs);
}

TEST(DeviceComparison, GivesTheHostsVerdictOnEveryFault) {
  for (const PlantedFault& planted : planted_faults())
    for (const ConvProblem& problem : compared_problems()) {
      SCOPED_TRACE(std::string(planted.name) + ": " + to_line(problem));
      CountingEmulator device;
      expect_equal(both(problem, planted, kExact, false, device));
    }
}

TEST(DeviceComparison, PlantsFaultsThatFail) {
  const ConvProblem problem = compared_problems().front();
  for (const PlantedFault& planted : planted_faults()) {
    CountingEmulator device;
    const Verdict verdict = both(problem, planted, kExact, false, device).on_device;
    const bool is_small = std::string(planted.name).starts_with("far less") ||
                          std::string(planted.name).starts_with("a little off") ||
                          std::string(planted.name) == "none";
    EXPECT_EQ(verdict.passed(), is_small) << planted.name << ": " << verdict.note;
  }
}

TEST(DeviceComparison, GivesTheHostsVerdictOnAlgorithmsThatTransformAndAfterTiming) {
  const Described transforming({}, 10);
  for (const PlantedFault& planted : planted_faults())
    for (const bool again : {false, true}) {
      SCOPED_TRACE(planted.name);
      CountingEmulator device(EmulatorOrder::reverse);
      expect_equal(both(compared_problems()[1], planted, transforming, again, device));
    }
}

TEST(DeviceComparison, LeavesTheTensorsOfARightCandidateOnTheDevice) {
  const ConvProblem problem = parse_problem("n=4 c=8 hw=32 k=8 rs=1x1");
  CountingEmulator device;
  const auto queue = device.make_queue();
  VerifyOptions options;
  options.reference_device = &device;
  Verification verification(problem, options);
  const auto check = [&] {
    FaultyPlan plan(
        problem, device.emulator, [](HostRun&) {}, Outside::nowhere);
    const Verdict verdict = verification.check(kExact, plan, device, *queue);
    EXPECT_TRUE(verdict.passed()) << verdict.note;
    EXPECT_EQ(verdict.accuracy.checked_outputs, verdict.accuracy.total_outputs);
  };
  check();
  device.bytes_up = device.bytes_down = 0;
  check();
  // Guard zones and findings only, each way: 131,072 bytes has the output.
  EXPECT_LT(device.bytes_up, 2 * 4 * 2 * int64_t{Buffer::kGuardBytes} + 1000);
  EXPECT_LT(device.bytes_down, 3 * 4 * 2 * int64_t{Buffer::kGuardBytes} + 20'000);
  verification.release_device();
  check();
  EXPECT_GT(device.bytes_up, problem.bytes(Role::input));
}

TEST(DeviceComparison, IsTheHostsBusinessWhereTheDeviceHasNoMemoryForIt) {
  const ConvProblem problem = compared_problems().front();
  CountingEmulator device;
  device.usable = problem.total_bytes() - 1;
  expect_equal(both(problem, planted_faults()[1], kExact, false, device));
  EXPECT_GT(device.bytes_down, 0);
}

// What the kernels find, in every order of threads and on a GPU where there is one, on results with more
// elements than one block looks at.
TEST(DeviceComparison, FindsTheFirstFaultInEveryOrderOfThreads) {
  const ConvProblem problem = parse_problem("n=2 c=8 hw=30x31 k=12 rs=3x3 pad=1x1");
  std::vector<std::unique_ptr<Device>> devices;
  for (EmulatorOrder order : kEveryOrder)
    devices.push_back(std::make_unique<EmulatorDevice>(EmulatorOptions{.order = order}));
  if (cuda::device_defect().empty()) devices.push_back(cuda::make_device({}));
  for (const auto& made : devices) {
    Device& device = *made;
    const auto queue = device.make_queue();
    const Expectation expectation(problem, {.reference_device = &device}, DataKind::uniform);
    const ReadTensors read(problem, DataKind::uniform, 1);
    DeviceComparison comparison(problem, DataKind::uniform, expectation, read, device);
    const ErrorBounds bounds = expectation.bounds(1, false);
    std::vector<float> values = expectation.values(false);
    Buffer written(device, values.size() * sizeof(float));
    const auto put = [&](size_t i, float value) {
      values[i] = value;
      upload_values(written, DataType::f32, values);
    };
    put(0, values[0]);
    EXPECT_TRUE(expectation.passed(comparison.judge_first(written.data(), bounds, *queue)));
    EXPECT_EQ(comparison.first_result(), values);
    put(9001, values[9001] + 0.5f);
    put(21007, values[21007] - 0.25f);
    Findings findings = comparison.judge_repeated(written.data(), bounds, *queue);
    EXPECT_EQ(findings.compared, problem.elements(Role::output));
    EXPECT_NEAR(findings.max_abs, 0.5, 1e-6);
    EXPECT_NEAR(findings.squares, 0.3125, 1e-5);
    EXPECT_GT(findings.worst_excess, 0.4);
    EXPECT_EQ(findings.first_difference, 9001);
    EXPECT_EQ(findings.first_not_finite, Findings::kNone);
    EXPECT_FALSE(expectation.passed(findings));
    put(15000, std::nanf(""));
    put(15001, std::nanf(""));
    findings = comparison.judge_repeated(written.data(), bounds, *queue);
    EXPECT_EQ(findings.first_not_finite, 15000);
    EXPECT_NEAR(findings.max_abs, 0.5, 1e-6);

    Buffer input(device, static_cast<size_t>(problem.bytes(Role::input)));
    comparison.copy_original(Role::input, input.data(), *queue);
    EXPECT_EQ(comparison.first_change(Role::input, input.data(), *queue), std::nullopt);
    const float negative_zero = -0.0f;  // another number of the same value
    for (const int64_t at : {problem.elements(Role::input) - 1, int64_t{4321}}) {
      device.copy_to_device(input.as<float>() + at, &negative_zero, sizeof(float));
      EXPECT_EQ(comparison.first_change(Role::input, input.data(), *queue), at);
    }
  }
}

}  // namespace
}  // namespace convscope

// Here and not beside separate_epilogue.hpp, because it needs an algorithm and its verification.
#include "bench/algorithm/separate_epilogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bench/algorithm/described_test.hpp"
#include "bench/algorithm/device_epilogue.hpp"
#include "bench/algorithm/epilogue.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/device/values.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/verify/reference_algorithm.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

class SeparateEpilogues : public ::testing::Test {
 protected:
  SeparateEpilogues() {
    add_reference(registry_);
    add_device_reference(registry_);
  }
  Registry registry_;
  CpuDevice device_;
};

TEST_F(SeparateEpilogues, AreRightForEveryEpilogueAndLayout) {
  const auto algorithm = with_separate_epilogue(*registry_.find("reference.cpu"));
  EXPECT_EQ(algorithm->info().id, "reference.separate.cpu");
  const auto queue = device_.make_queue();
  for (Epilogue epilogue : {Epilogue::relu, Epilogue::bias, Epilogue::bias_relu})
    for (Layout layout : kLayouts) {
      ConvProblem problem = parse_problem("n=3 c=4 hw=8x7 k=6 rs=3x2 stride=2x1 pad=1x2 groups=2");
      problem.epilogue = epilogue;
      problem.layout = layout;
      ASSERT_TRUE(algorithm->supports(problem, device_.info()));
      const auto plan = algorithm->plan(problem, device_, {.threads = 2});
      const Verdict verdict = Verification(problem, {}).check(*algorithm, *plan, device_, *queue);
      EXPECT_TRUE(verdict.passed()) << to_line(problem) << ": " << verdict.note;
      EXPECT_THAT(plan->implementation(), HasSubstr(std::string(name(epilogue))));
      EXPECT_EQ(plan->operations()->bytes, static_cast<double>(problem.total_bytes()) +
                                               2.0 * static_cast<double>(problem.bytes(Role::output)));
    }
}

TEST_F(SeparateEpilogues, RefuseProblemsWithoutOneAndTensorsOf16Bits) {
  const auto algorithm = with_separate_epilogue(*registry_.find("reference.cpu"));
  ConvProblem problem = parse_problem("n=1 c=4 hw=8x7 k=6 rs=3x2");
  EXPECT_EQ(algorithm->supports(problem, device_.info()).reason(), Reason::unsupported_epilogue);
  problem.epilogue = Epilogue::relu;
  problem.math = MathMode::bf16;
  EXPECT_EQ(algorithm->supports(problem, device_.info()).reason(), Reason::unsupported_math);
}

// The emulator in every order of threads, and a GPU where there is one.
std::vector<std::unique_ptr<Device>> gpus() {
  std::vector<std::unique_ptr<Device>> all;
  for (EmulatorOrder order : kEveryOrder)
    all.push_back(std::make_unique<EmulatorDevice>(EmulatorOptions{.order = order}));
  if (cuda::device_defect().empty()) all.push_back(cuda::make_device({}));
  return all;
}

TEST_F(SeparateEpilogues, AreRightOnAGpuForEveryEpilogueAndLayout) {
  const Algorithm& reference = *registry_.find("reference.cuda");
  const auto algorithm = with_separate_epilogue(reference);
  EXPECT_EQ(algorithm->info().id, "reference.separate.cuda");
  for (const auto& device : gpus()) {
    const auto queue = device->make_queue();
    for (Epilogue epilogue : {Epilogue::relu, Epilogue::bias, Epilogue::bias_relu})
      for (Layout layout : kLayouts) {
        ConvProblem problem = parse_problem("n=3 c=4 hw=8x7 k=6 rs=3x2 stride=2x1 pad=1x2 groups=2");
        problem.epilogue = epilogue;
        problem.layout = layout;
        EXPECT_EQ(reference.supports(problem, device->info()).reason(), Reason::unsupported_epilogue);
        ASSERT_TRUE(algorithm->supports(problem, device->info()));
        const auto plan = algorithm->plan(problem, *device, {});
        const Verdict verdict = Verification(problem, {}).check(*algorithm, *plan, *device, *queue);
        EXPECT_TRUE(verdict.passed()) << to_line(problem) << ": " << verdict.note;
      }
  }
}

// What the pass leaves of values around zero in a buffer with one element more than the tensor has.
std::vector<float> finished_on(Device& device, const ConvProblem& problem, const std::vector<float>& values,
                               const std::vector<float>& bias) {
  Buffer output(device, values.size() * sizeof(float)), biases(device, bias.size() * sizeof(float));
  upload_values(output, DataType::f32, values);
  upload_values(biases, DataType::f32, bias);
  const auto queue = device.make_queue();
  enqueue_epilogue(problem, biases.as<float>(), output.as<float>(), device.info().kind, *queue);
  queue->synchronize();
  std::vector<float> result(values.size());
  download_values(output, DataType::f32, result);
  return result;
}

std::vector<float> on_host(const ConvProblem& problem, std::vector<float> values,
                           const std::vector<float>& bias) {
  finish_output(problem, bias.data(), values.data(), 1);
  return values;
}

std::vector<float> values_around_zero(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) - 50;
  return values;
}

// Planes of 1, of fewer pixels than a quad has, of whole quads and with a rest; channels likewise.
TEST_F(SeparateEpilogues, FinishOnAGpuWhatTheyFinishOnTheHost) {
  for (const auto& device : gpus())
    for (const char* shape :
         {"n=3 c=1 hw=1x1 k=5 rs=1x1", "n=2 c=1 hw=1x3 k=7 rs=1x1", "n=5 c=1 hw=4x4 k=8 rs=1x1",
          "n=3 c=1 hw=13x13 k=6 rs=1x1", "n=1 c=1 hw=9x5 k=1 rs=1x1"})
      for (Layout layout : kLayouts)
        for (Epilogue epilogue : {Epilogue::relu, Epilogue::bias, Epilogue::bias_relu}) {
          ConvProblem problem = parse_problem(shape);
          problem.layout = layout;
          problem.epilogue = epilogue;
          const auto values = values_around_zero(problem.elements(Role::output) + 1);
          const auto bias = values_around_zero(problem.out_channels);
          EXPECT_EQ(finished_on(*device, problem, values, bias), on_host(problem, values, bias))
              << to_line(problem);
        }
}

// More than one grid of quads; a thread's next quad is of another channel and place.
TEST_F(SeparateEpilogues, FinishTensorsThatAreLargerThanAGrid) {
  for (const auto& device : gpus())
    for (Layout layout : kLayouts) {
      ConvProblem problem = parse_problem("n=5 c=1 hw=301x263 k=7 rs=1x1 epilogue=bias+relu");
      problem.layout = layout;
      const auto values = values_around_zero(problem.elements(Role::output) + 1);
      const auto bias = values_around_zero(problem.out_channels);
      EXPECT_TRUE(finished_on(*device, problem, values, bias) == on_host(problem, values, bias))
          << name(layout);
    }
}

TEST_F(SeparateEpilogues, LeaveNaNOnAGpuSoThatWhatWasNeverWrittenShows) {
  const ConvProblem problem = parse_problem("n=1 c=1 hw=5x3 k=2 rs=1x1 epilogue=bias+relu");
  const std::vector<float> values(30, std::nanf("")), bias(2, 1);
  for (const auto& device : gpus())
    EXPECT_THAT(finished_on(*device, problem, values, bias), ::testing::Each(::testing::IsNan()));
}

TEST_F(SeparateEpilogues, AreThereForEveryCandidateAndListedWithNone) {
  const size_t before = registry_.all().size();
  // It says nothing of epilogues.
  for (DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda})
    registry_.add(std::make_unique<testing::Described>(
        AlgorithmInfo{"plain." + std::string(name(kind)), "", "", "", kind, ""}));
  EXPECT_EQ(registry_.all().size(), before + 2);
  EXPECT_EQ(registry_.separate(*registry_.find("plain.cuda")), registry_.find("plain.separate.cuda"));
  EXPECT_NE(registry_.find("plain.separate.cuda"), nullptr);
  const Algorithm& plain = *registry_.find("plain.cpu");
  ASSERT_NE(registry_.separate(plain), nullptr);
  EXPECT_EQ(registry_.separate(plain), registry_.find("plain.separate.cpu"));
  EXPECT_EQ(registry_.separate(*registry_.find("reference.cpu")), nullptr);  // no candidate

  ConvProblem problem = parse_problem("n=1 c=4 hw=8x7 k=6 rs=3x2 epilogue=bias");
  const Support refusal = plain.supports(problem, device_.info());
  EXPECT_EQ(refusal.reason(), Reason::unsupported_epilogue);
  EXPECT_THAT(refusal.why(), HasSubstr("epilogue bias"));
  EXPECT_TRUE(registry_.separate(plain)->supports(problem, device_.info()));
}

}  // namespace
}  // namespace convscope

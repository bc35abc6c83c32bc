// The GPU's reference on the emulator, and on a GPU where there is one, against the definition.
#include "bench/verify/device_reference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/verify/reference.hpp"
#include "bench/verify/reference_algorithm.hpp"
#include "bench/verify/tensor_data.hpp"
#include "bench/verify/tensor_index.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

constexpr const char* kShapes[] = {"n=2 c=3 hw=7x9 k=4 rs=3x3 pad=1x1",
                                   "n=1 c=4 hw=9x8 k=6 rs=2x3 stride=2x3 pad=0x2 groups=2",
                                   "n=2 c=3 hw=10x9 k=2 rs=3x2 pad=2x1 dilation=2x3",
                                   "n=1 c=5 hw=6x6 k=5 rs=3x3 groups=5", "n=1 c=2 hw=3x3 k=3 rs=2x2 pad=4x4"};

std::vector<ConvProblem> reference_problems() {
  std::vector<ConvProblem> all;
  for (const char* shape : kShapes)
    for (Pass pass : kPasses)
      for (Layout layout : kLayouts) {
        all.push_back(parse_problem(shape));
        all.back().pass = pass;
        all.back().layout = layout;
      }
  return all;
}

// The emulator in every order of threads, and the GPU where there is one.
std::vector<std::unique_ptr<Device>> devices() {
  std::vector<std::unique_ptr<Device>> all;
  for (EmulatorOrder order : kEveryOrder)
    all.push_back(std::make_unique<EmulatorDevice>(EmulatorOptions{.order = order}));
  if (cuda::device_defect().empty()) all.push_back(cuda::make_device({}));
  return all;
}

TEST(DeviceReference, IsTheDefinitionOnEveryDevice) {
  for (const auto& device : devices()) {
    for (const ConvProblem& problem : reference_problems()) {
      std::array<std::vector<float>, 3> tensors;
      for (Role role : read_roles(problem.pass))
        tensors[static_cast<size_t>(role)] = TensorData(problem, role, DataKind::uniform, 1).generate();
      const ReferenceOutputs outputs = reference_outputs(problem, tensors, *device);
      const size_t elements = outputs.values.size();
      std::vector<double> values(elements), magnitudes(elements);
      reference(problem, tensors[0].data(), tensors[1].data(), tensors[2].data(), values, magnitudes);
      for (size_t i = 0; i < elements; ++i) {
        ASSERT_NEAR(outputs.values[i], values[i], 1e-6 * magnitudes[i]) << to_line(problem) << " at " << i;
        ASSERT_NEAR(outputs.magnitudes[i], magnitudes[i], 1e-6 * magnitudes[i]) << to_line(problem);
      }
    }
  }
}

TEST(DeviceReference, IsAnAlgorithmThatVerifies) {
  Registry registry;
  add_device_reference(registry);
  const Algorithm& algorithm = *registry.find("reference.cuda");
  EmulatorDevice device;
  const auto queue = device.make_queue();
  for (const ConvProblem& problem : reference_problems()) {
    const auto plan = algorithm.plan(problem, device, {});
    const Verdict verdict = Verification(problem, {}).check(algorithm, *plan, device, *queue);
    EXPECT_TRUE(verdict.passed()) << to_line(problem) << ": " << verdict.note;
  }
}

TEST(DeviceReference, RefusesTensorsIn16Bits) {
  Registry registry;
  add_device_reference(registry);
  ConvProblem problem = parse_problem("n=1 c=2 hw=3 k=3 rs=1");
  problem.math = MathMode::bf16;
  const Support support = registry.find("reference.cuda")->supports(problem, EmulatorDevice().info());
  EXPECT_EQ(support.reason(), Reason::unsupported_math);
}

// With a budget of 1 the CPU's check would be on a sample.
class ComparedOnADevice : public ::testing::Test {
 protected:
  ComparedOnADevice() { add_reference(registry_); }
  Verdict check(Plan& plan) {
    const VerifyOptions options{.full_check_flops = 1, .reference_device = &emulator_};
    return Verification(problem_, options).check(algorithm(), plan, cpu_, *queue_);
  }
  const Algorithm& algorithm() const { return *registry_.find("reference.cpu"); }

  CpuDevice cpu_;
  std::unique_ptr<Queue> queue_ = cpu_.make_queue();
  EmulatorDevice emulator_;
  Registry registry_;
  ConvProblem problem_ = parse_problem("n=2 c=3 hw=40x41 k=5 rs=3x3 pad=1x1");
};

TEST_F(ComparedOnADevice, EveryOutputIsChecked) {
  const auto plan = algorithm().plan(problem_, cpu_, {});
  const Verdict verdict = check(*plan);
  EXPECT_TRUE(verdict.passed()) << verdict.note;
  EXPECT_EQ(verdict.accuracy.checked_outputs, problem_.elements(Role::output));
  EXPECT_TRUE(verdict.accuracy.integers_exact.value_or(false));
}

TEST_F(ComparedOnADevice, OneWrongOutputIsNamed) {
  class OneWrong final : public Plan {
   public:
    explicit OneWrong(std::unique_ptr<Plan> right) : right_(std::move(right)) {}
    void run(const ConvArgs& args, Queue& queue) override {
      right_->run(args, queue);
      static_cast<float*>(args.output)[1234] += 1;
    }

   private:
    std::unique_ptr<Plan> right_;
  };
  OneWrong plan(algorithm().plan(problem_, cpu_, {}));
  const Verdict verdict = check(plan);
  EXPECT_FALSE(verdict.passed());
  const TensorShape shape = problem_.shape(Role::output);
  EXPECT_THAT(verdict.note, ::testing::HasSubstr(element_name(Role::output, index_of_offset(shape, 1234))));
}

}  // namespace
}  // namespace convscope

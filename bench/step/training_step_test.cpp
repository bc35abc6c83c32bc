// A step's tasks, its memory, and what it does on the CPU and on a GPU. Its gradients:
// step_gradients_test.cpp.
#include "bench/step/training_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/emulator/emulator_device.hpp"
#include "bench/step/test_steps.hpp"

namespace convscope {
namespace {

using testing::inception_suite;
using testing::Plans;
using testing::reduction_suite;
using testing::residual_suite;
using testing::small_suite;
using testing::step_registry;

// Of each task in the order in which they run, its layer and label; updates on request.
std::vector<std::string> task_names(const TrainingStep& step, bool with_updates = false) {
  std::vector<std::string> names;
  for (const StepTask& task : step.tasks())
    if (with_updates || task.kind != TaskKind::update)
      names.push_back(step.network().layers[task.layer].name + " " + task.label);
  return names;
}

// The loss and all gradients of a step, its convolutions by the definition.
std::pair<double, std::vector<float>> outcome(const Suite& suite, bool fuse) {
  CpuDevice device;
  const Registry registry = step_registry();
  TrainingStep step(network_of(suite, 2, fuse), device, 5);
  Plans plans(step, *registry.find("exact.cpu"), device);
  for (size_t task = 0; task < plans.all.size(); ++task)
    step.run(task, plans.all[task], plans.workspace.data(), *plans.queue);
  return {step.loss(), {step.gradients().begin(), step.gradients().end()}};
}

TEST(TrainingStep, IsTheSameWithBiasAndReluFusedAndHasNoTaskForThem) {
  for (const Suite& suite : {small_suite(), inception_suite()}) {
    const auto [loss, gradients] = outcome(suite, false);
    const auto [fused_loss, fused_gradients] = outcome(suite, true);
    EXPECT_NEAR(fused_loss, loss, 1e-6);
    ASSERT_EQ(fused_gradients.size(), gradients.size());
    for (size_t i = 0; i < gradients.size(); ++i) EXPECT_NEAR(fused_gradients[i], gradients[i], 1e-6) << i;
  }

  CpuDevice device;
  const TrainingStep step(network_of(small_suite(), 2, true), device, 5);
  std::vector<std::string> forward;
  for (const StepTask& task : step.tasks())
    if (task.kind == TaskKind::forward || task.kind == TaskKind::operation_forward)
      forward.push_back(task.label);
  EXPECT_THAT(forward, ::testing::ElementsAre("forward", "lrn", "pool 3x2/2", "forward"));
  for (const StepTask& task : step.tasks()) {
    if (!task.problem) continue;
    EXPECT_EQ(task.problem->epilogue != Epilogue::none, task.kind == TaskKind::forward);
  }
}

TEST(TrainingStep, TasksCountTheBytesOfTheOperationByItself) {
  const StepProgram program(network_of(small_suite(), 2));
  size_t operations = 0;
  for (const StepTask& task : program.tasks) {
    if (task.kind != TaskKind::operation_forward && task.kind != TaskKind::operation_backward) continue;
    ++operations;
    EXPECT_EQ(task.bytes, static_cast<double>(task.operation->bytes())) << task.label;
  }
  EXPECT_EQ(operations, 8U);
}

TEST(TrainingStep, ASumThatIsNotInPlaceCopiesAnAddendFirst) {
  const StepProgram program(network_of(residual_suite(), 2));
  const auto sum = std::ranges::find_if(program.tasks, [](const StepTask& task) {
    return task.kind == TaskKind::operation_forward && task.label == "add b";
  });
  ASSERT_NE(sum, program.tasks.end());
  constexpr double each = 4 * 2 * 4 * 4;  // bytes of a tensor
  EXPECT_EQ(sum->bytes, 5 * each) << "read and written, then both addends read and the sum written";
}

TEST(TrainingStep, TasksAreThoseOfAProgramInItsOrder) {
  CpuDevice device;
  const TrainingStep step(network_of(small_suite(), 2), device, 1);
  const std::vector<std::string> names = task_names(step, true);
  EXPECT_THAT(names, ::testing::ElementsAre(
                         "one forward", "one bias+relu", "one lrn", "one pool 3x2/2", "two forward",
                         "two bias", "two loss", "two bias backward", "two backward_filter",
                         "two backward_data", "one pool 3x2/2 backward", "one lrn backward",
                         "one bias+relu backward", "one backward_filter", "one update", "two update"));
  for (size_t i = 0; i < names.size(); ++i) EXPECT_FALSE(step.memory_of(i).empty()) << names[i];
}

TEST(TrainingStep, TasksOfAGraphAddTheGradientsOfWhatSeveralRead) {
  CpuDevice device;
  const TrainingStep step(network_of(residual_suite(), 2), device, 1);
  EXPECT_THAT(task_names(step),
              ::testing::ElementsAre(
                  "one forward", "one batch_norm+relu", "one pool 2x2/2", "projection forward",
                  "projection batch_norm", "a forward", "a batch_norm+relu", "b forward", "b batch_norm",
                  "b add projection+relu", "c forward", "c bias+relu", "c add b", "c loss", "c copy gradient",
                  "c bias+relu backward", "c backward_filter", "c backward_data", "b add gradient",
                  "b add projection+relu backward", "b batch_norm backward", "b backward_filter",
                  "b backward_data", "a batch_norm+relu backward", "a backward_filter", "a backward_data",
                  "projection copy gradient", "projection batch_norm backward", "projection backward_filter",
                  "projection backward_data", "projection add gradient", "one pool 2x2/2 backward",
                  "one batch_norm+relu backward", "one backward_filter"));
  for (size_t i = 0; i < step.tasks().size(); ++i) EXPECT_FALSE(step.memory_of(i).empty()) << i;
}

TEST(TrainingStep, TasksMakeAConcatenationAndItsPoolsOnceInFrontOfTheFirstThatReadsThem) {
  CpuDevice device;
  const TrainingStep step(network_of(inception_suite(), 2), device, 1);
  EXPECT_THAT(
      task_names(step),
      ::testing::ElementsAre(
          "one forward", "one bias+relu", "a0 forward", "a0 relu", "b pool 3x3/1 pad 1", "b forward",
          "b bias", "a forward", "a add a0+relu", "c concat", "c forward", "d pool 3x3/2 pad 1", "d forward",
          "d bias", "d add c", "e pool 3x3/1 pad 1", "e forward", "e bias", "f concat", "f forward",
          "f bias+relu", "g forward", "g add f", "g add e", "g loss",
          // d's gradient is there when f splits its own.
          "g backward_filter", "g backward_data", "f copy gradient", "f bias+relu backward",
          "f backward_filter", "f backward_data", "f split", "f split", "f add gradient", "e add gradient",
          "e bias backward", "e backward_filter", "e backward_data", "e pool 3x3/1 pad 1 backward",
          "d bias backward", "d backward_filter", "d backward_data", "d add gradient",
          "d pool 3x3/2 pad 1 backward", "c copy gradient", "c backward_filter", "c backward_data",
          "c add gradient", "c split", "a add a0+relu backward", "a backward_filter", "a backward_data",
          "b bias backward", "b backward_filter", "b backward_data", "b pool 3x3/1 pad 1 backward",
          "b add gradient", "a0 copy gradient", "a0 relu backward", "a0 backward_filter", "a0 backward_data",
          "a0 add gradient", "one bias+relu backward", "one backward_filter"));
  for (size_t i = 0; i < step.tasks().size(); ++i) EXPECT_FALSE(step.memory_of(i).empty()) << i;
}

TEST(TrainingStep, TasksPoolPartsOfAConcatenationInFrontOfItAndOnce) {
  CpuDevice device;
  const TrainingStep step(network_of(reduction_suite(), 2), device, 1);
  EXPECT_THAT(
      task_names(step),
      ::testing::ElementsAre(
          "one forward", "one bias+relu", "a forward", "a bias+relu", "b concat", "b forward", "b bias",
          "c pool 3x3/2", "c pool 3x3/2", "c concat", "c forward", "c bias+relu", "d mean 3x3/1 pad 1",
          "d forward", "d bias", "e forward", "e bias", "e add c", "e add d", "e loss",
          // e reads a part of what c and d read, whose gradient is there when c splits its own.
          "e bias backward", "e backward_filter", "e backward_data", "d copy gradient", "d bias backward",
          "d backward_filter", "d backward_data", "d mean 3x3/1 pad 1 backward", "c copy gradient",
          "c bias+relu backward", "c backward_filter", "c backward_data", "c add gradient", "c split",
          "c split", "c add gradient", "c pool 3x3/2 backward", "c pool 3x3/2 backward", "b bias backward",
          "b backward_filter", "b backward_data", "b split", "b add gradient", "b split", "b add gradient",
          "a bias+relu backward", "a backward_filter", "a backward_data", "a add gradient",
          "one bias+relu backward", "one backward_filter"));
  for (size_t i = 0; i < step.tasks().size(); ++i) EXPECT_FALSE(step.memory_of(i).empty()) << i;
}

// The loss, the gradients and the updated parameters of a step, its convolutions by the definition.
struct Outcome {
  Outcome(const Suite& suite, Device& device) {
    const Registry registry = step_registry();
    TrainingStep step(network_of(suite, 2), device, 5);
    Plans plans(step, *registry.find("exact.cpu"), device);
    plans.run(step);
    loss = step.loss();
    gradients = step.read_gradients();
    parameters = step.read_parameters();
  }
  double loss;
  std::vector<float> gradients, parameters;
};

TEST(TrainingStep, IsOnAGpuWhatItIsOnTheCpu) {
  for (const Suite& suite : {small_suite(), residual_suite(), inception_suite()}) {
    CpuDevice cpu;
    EmulatorDevice gpu;
    const Outcome expected(suite, cpu), found(suite, gpu);
    EXPECT_NEAR(found.loss, expected.loss, 1e-6);
    ASSERT_EQ(found.gradients.size(), expected.gradients.size());
    for (size_t i = 0; i < expected.gradients.size(); ++i) {
      EXPECT_NEAR(found.gradients[i], expected.gradients[i], 2e-6) << i;
      EXPECT_NEAR(found.parameters[i], expected.parameters[i], 1e-6) << i;
    }
  }
}

TEST(TrainingStep, StepsBringTheLossDown) {
  CpuDevice device;
  const Registry registry = step_registry();
  for (const Suite& suite : {small_suite(), residual_suite(), inception_suite()}) {
    TrainingStep step(network_of(suite, 2), device, 2);
    Plans plans(step, *registry.find("exact.cpu"), device);
    plans.run(step);
    const double first = step.loss();
    for (int i = 0; i < 40; ++i) plans.run(step);
    EXPECT_LT(step.loss(), 0.5 * first) << suite.name;
  }
}

TEST(TrainingStep, UpdatesScalesAndShifts) {
  CpuDevice device;
  const Registry registry = step_registry();
  TrainingStep step(network_of(residual_suite(), 2), device, 2);
  Plans plans(step, *registry.find("exact.cpu"), device);
  const size_t scale = step.program().layers[0].first_scale;
  const std::vector<float> before = step.read_parameters();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(before[scale + i], 1, 0.1) << "a scale";
    EXPECT_NEAR(before[scale + 3 + i], 0, 0.01) << "a shift";
  }
  plans.run(step);
  const std::vector<float> after = step.read_parameters();
  for (size_t i = 0; i < 6; ++i) {
    const float gradient = step.gradients()[scale + i];
    EXPECT_NE(gradient, 0);
    EXPECT_NEAR(after[scale + i], before[scale + i] - 1e-3 * (gradient + 5e-4 * before[scale + i]), 2e-7);
  }
}

TEST(TrainingStep, BytesNeededAreThoseOfItsBuffers) {
  const StepNetwork network = network_of(small_suite(), 2);
  // Parameters three times, filters and biases rounded up to 16 and layers to 64; the image; each activation
  // and its gradient; what lrn and the pool keep.
  CpuDevice device;
  const int64_t parameters = 3 * (128 + 64), image = 2 * 2 * 42;
  const int64_t one = 2 * 3 * 42, pooled = 2 * 3 * 9, two = 2 * 4 * 4;
  EXPECT_EQ(TrainingStep::bytes_needed(network, device),
            4 * (parameters + image + 2 * one + 3 * one + 3 * pooled + 2 * two));

  // Batch normalisation gives another tensor and keeps two values a channel; an addition is in place, but
  // behind a ReLU; the gradient of what two convolutions read needs room for the second one's.
  const int64_t first = 2 * 3 * 25, small = 2 * 3 * 4, each = 2 * 4 * 4;
  EXPECT_EQ(TrainingStep::bytes_needed(network_of(residual_suite(), 2), device),
            4 * (3 * (128 + 64 + 64 + 192 + 64) + 2 * 2 * 25 + 4 * first + 2 * 3 + 3 * small + small +
                 3 * (4 * each + 2 * 4) + 4 * each));

  // A concatenation and a pool of it are tensors of their own with gradients.
  const Suite inception = inception_suite();
  Suite plain = inception;
  plain.layers.resize(4);
  const int64_t whole = 2 * 5 * 30, pooled_whole = 2 * 5 * 9, scratch = whole - 2 * 3 * 30;
  Suite with_pool = plain, with_whole = plain;
  with_whole.layers.push_back(inception.layers[4]);
  with_pool.layers.push_back(inception.layers[4]);
  with_pool.layers.push_back(inception.layers[5]);
  const int64_t of_plain = TrainingStep::bytes_needed(network_of(plain, 2), device);
  const int64_t of_whole = TrainingStep::bytes_needed(network_of(with_whole, 2), device);
  EXPECT_EQ(of_whole - of_plain, 4 * (3 * 64 + 2 * whole + 2 * each));
  EXPECT_EQ(TrainingStep::bytes_needed(network_of(with_pool, 2), device) - of_whole,
            4 * (3 * 128 + 3 * pooled_whole + 2 * each + scratch));

  // A mean keeps nothing.
  Suite with_mean = with_pool;
  with_mean.layers[5].before[0].kind = OperationKind::mean;
  EXPECT_EQ(TrainingStep::bytes_needed(network_of(with_pool, 2), device) -
                TrainingStep::bytes_needed(network_of(with_mean, 2), device),
            4 * pooled_whole);
}

}  // namespace
}  // namespace convscope

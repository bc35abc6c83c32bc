// A step's gradients against a model of the same network in f64, written from the definitions.
#include "bench/step/training_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/core/error.hpp"
#include "bench/step/test_steps.hpp"
#include "bench/verify/fast_reference.hpp"

namespace convscope {
namespace {

using testing::small_suite;
using testing::step_registry;
using Doubles = std::vector<double>;

// The plans of a step's convolutions, all by one algorithm, with room for their workspace.
struct Plans {
  Plans(const TrainingStep& step, const Algorithm& algorithm, Device& device)
      : workspace(device, 4096), queue(device.make_queue()) {
    for (const StepTask& task : step.tasks()) {
      owned.push_back(task.problem ? algorithm.plan(*task.problem, device, {}) : nullptr);
      all.push_back(owned.back().get());
    }
  }
  void run(TrainingStep& step) {
    for (size_t task = 0; task < all.size(); ++task) step.run(task, all[task], workspace.data(), *queue);
  }
  std::vector<std::unique_ptr<Plan>> owned;
  std::vector<Plan*> all;
  Buffer workspace;
  std::unique_ptr<Queue> queue;
};

struct Tensor {
  Activations shape;
  Doubles values;
  double& at(int64_t n, int64_t c, int64_t h, int64_t w) {
    return values[static_cast<size_t>(((n * shape.c + c) * shape.h + h) * shape.w + w)];
  }
};

Tensor convolved(const ConvProblem& problem, Tensor x, const Doubles& filter) {
  const Extent2 image = problem.output();
  Tensor y{{problem.batch, problem.out_channels, image.h, image.w}, {}};
  const FastReference<double, double, double> reference(problem, x.values.data(), filter.data(), nullptr);
  for (int64_t n = 0; n < y.shape.n; ++n)
    for (int64_t k = 0; k < y.shape.c; ++k)
      for (int64_t p = 0; p < image.h; ++p)
        for (int64_t q = 0; q < image.w; ++q) y.values.push_back(reference.at({n, k, p, q}).value);
  return y;
}

Tensor operated(const LayerOperation& operation, Tensor x, const double* bias) {
  const Extent2 image = operation.output({x.shape.h, x.shape.w});
  Tensor y{{x.shape.n, x.shape.c, image.h, image.w}, {}};
  for (int64_t n = 0; n < y.shape.n; ++n)
    for (int64_t c = 0; c < y.shape.c; ++c)
      for (int64_t p = 0; p < image.h; ++p)
        for (int64_t q = 0; q < image.w; ++q) {
          double value = operation.kind == OperationKind::pool ? -INFINITY : x.at(n, c, p, q);
          if (operation.kind == OperationKind::bias) value += bias[c];
          if (operation.kind == OperationKind::relu) value = std::max(value, 0.0);
          if (operation.kind == OperationKind::pool)
            for (int64_t r = 0; r < operation.window.h; ++r)
              for (int64_t s = 0; s < operation.window.w; ++s)
                value = std::max(value, x.at(n, c, p * operation.stride.h + r, q * operation.stride.w + s));
          if (operation.kind == OperationKind::lrn) {
            double squares = 0;
            for (int64_t i = std::max<int64_t>(0, c - 2); i <= std::min(x.shape.c - 1, c + 2); ++i)
              squares += std::pow(x.at(n, i, p, q), 2);
            value *= std::pow(2 + 1e-4 * squares, -0.75);
          }
          y.values.push_back(value);
        }
  return y;
}

// The network's activations before the loss, in f64, of these parameters.
Tensor activations(const StepNetwork& network, const TrainingStep& step, Tensor x,
                   const Doubles& parameters) {
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const ConvProblem& problem = network.layers[i].problem;
    const auto* const filter = parameters.data() + step.parameters_of(i).first;
    const double* const bias = filter + problem.elements(Role::filter);
    x = convolved(problem, x, {filter, bias});
    for (const LayerOperation& operation : network.layers[i].after) x = operated(operation, x, bias);
  }
  return x;
}

TEST(TrainingStep, GradientsOfASmallNetAreThoseOfTheDefinitionInF64) {
  CpuDevice device;
  const Registry registry = step_registry();
  TrainingStep step(network_of(small_suite(), 2), device, 5);
  Plans plans(step, *registry.find("exact.cpu"), device);
  // Without the update, so that the parameters are those of the gradient.
  for (size_t task = 0; task < plans.all.size(); ++task)
    if (step.tasks()[task].kind != TaskKind::update)
      step.run(task, plans.all[task], plans.workspace.data(), *plans.queue);
  const auto* const image = static_cast<const float*>(step.args(0, nullptr).input);
  const Activations in{2, 2, 7, 6};
  const Tensor x{in, {image, image + in.elements()}};
  const Doubles parameters(step.parameters().begin(), step.parameters().end());
  // The labels are not shown: those with which the model's loss is the step's.
  const Tensor last = activations(step.network(), step, x, parameters);
  const auto loss_with = [&](const Tensor& y, std::span<const int32_t> labels) {
    std::vector<float> values(y.values.begin(), y.values.end()), unused(values.size());
    Doubles mean(8);
    double loss = 0;
    for (size_t n = 0; n < 2; ++n) {
      double total = 0;
      for (size_t c = 0; c < 4; ++c) {
        for (size_t i = 0; i < 4; ++i) mean[n * 4 + c] += y.values[(n * 4 + c) * 4 + i] / 4;
        total += std::exp(mean[n * 4 + c]);
      }
      loss += std::log(total) - mean[n * 4 + static_cast<size_t>(labels[n])];
    }
    return loss / 2;
  };
  std::vector<int32_t> labels(2);
  double nearest = INFINITY;
  for (int32_t code = 0; code < 16; ++code) {
    const std::vector<int32_t> guess{code / 4, code % 4};
    const double distance = std::abs(loss_with(last, guess) - step.loss());
    if (distance < nearest) {
      nearest = distance;
      labels = guess;
    }
  }
  ASSERT_LT(nearest, 1e-6);
  int compared = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto loss_at = [&](double change) {
      Doubles moved = parameters;
      moved[i] += change;
      return loss_with(activations(step.network(), step, x, moved), labels);
    };
    const double derivative = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5;
    EXPECT_NEAR(step.gradients()[i], derivative, 1e-5) << i;
    compared += derivative != 0;
  }
  EXPECT_GT(compared, 70) << "most parameters change the loss";
}

// The loss and all gradients of a step, its convolutions by the definition.
std::pair<double, std::vector<float>> outcome(bool fuse) {
  CpuDevice device;
  const Registry registry = step_registry();
  TrainingStep step(network_of(small_suite(), 2, fuse), device, 5);
  Plans plans(step, *registry.find("exact.cpu"), device);
  for (size_t task = 0; task < plans.all.size(); ++task)
    step.run(task, plans.all[task], plans.workspace.data(), *plans.queue);
  return {step.loss(), {step.gradients().begin(), step.gradients().end()}};
}

TEST(TrainingStep, IsTheSameWithBiasAndReluFusedAndHasNoTaskForThem) {
  const auto [loss, gradients] = outcome(false);
  const auto [fused_loss, fused_gradients] = outcome(true);
  EXPECT_NEAR(fused_loss, loss, 1e-6);
  ASSERT_EQ(fused_gradients.size(), gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) EXPECT_NEAR(fused_gradients[i], gradients[i], 1e-6) << i;

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

TEST(TrainingStep, TasksAreThoseOfAProgramInItsOrder) {
  CpuDevice device;
  const TrainingStep step(network_of(small_suite(), 2), device, 1);
  std::vector<std::string> names;
  for (const StepTask& task : step.tasks())
    names.push_back(step.network().layers[task.layer].name + " " + task.label);
  EXPECT_THAT(names, ::testing::ElementsAre(
                         "one forward", "one bias+relu", "one lrn", "one pool 3x2/2", "two forward",
                         "two bias", "two loss", "two bias backward", "two backward_filter",
                         "two backward_data", "one pool 3x2/2 backward", "one lrn backward",
                         "one bias+relu backward", "one backward_filter", "one update", "two update"));
  for (size_t i = 0; i < names.size(); ++i) EXPECT_FALSE(step.memory_of(i).empty()) << names[i];
}

TEST(TrainingStep, StepsBringTheLossDown) {
  CpuDevice device;
  const Registry registry = step_registry();
  TrainingStep step(network_of(small_suite(), 2), device, 2);
  step.rule().rate = 0.05F;
  Plans plans(step, *registry.find("exact.cpu"), device);
  plans.run(step);
  const double first = step.loss();
  for (int i = 0; i < 40; ++i) plans.run(step);
  EXPECT_LT(step.loss(), 0.5 * first);
}

TEST(CheckGradient, IsSmallForARightStepAndSeesAWrongPass) {
  CpuDevice device;
  const Registry registry = step_registry();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    TrainingStep step(network_of(small_suite(), 2), device, seed);
    const Plans plans(step, *registry.find("exact.cpu"), device);
    const std::vector<float> before(step.parameters().begin(), step.parameters().end());
    EXPECT_LT(check_gradient(step, plans.all, plans.workspace.data(), *plans.queue), 2e-3);
    EXPECT_TRUE(std::ranges::equal(before, step.parameters()));
    for (TaskKind kind : {TaskKind::backward_filter, TaskKind::backward_data}) {
      const testing::ScaledReference halved("halved.cpu", 0.5F);
      const Plans wrong(step, halved, device);
      std::vector<Plan*> mixed = plans.all;
      for (size_t task = 0; task < mixed.size(); ++task)
        if (step.tasks()[task].kind == kind) mixed[task] = wrong.all[task];
      EXPECT_GT(check_gradient(step, mixed, plans.workspace.data(), *plans.queue), 0.05);
    }
  }
}

TEST(TrainingStep, BytesNeededAreThoseOfItsBuffers) {
  const StepNetwork network = network_of(small_suite(), 2);
  // Parameters three times, rounded up to 64; the image; each activation and its gradient; what lrn and the
  // pool keep.
  const int64_t parameters = 3 * (64 + 64), image = 2 * 2 * 42;
  const int64_t one = 2 * 3 * 42, pooled = 2 * 3 * 9, two = 2 * 4 * 4;
  EXPECT_EQ(TrainingStep::bytes_needed(network),
            4 * (parameters + image + 2 * one + 3 * one + 3 * pooled + 2 * two));
}

}  // namespace
}  // namespace convscope

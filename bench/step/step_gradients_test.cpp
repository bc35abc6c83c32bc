// A step's gradients against a model of the same network in f64, written from the definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "bench/step/test_steps.hpp"
#include "bench/step/training_step.hpp"
#include "bench/verify/fast_reference.hpp"

namespace convscope {
namespace {

using testing::inception_suite;
using testing::mean_suite;
using testing::Plans;
using testing::reduction_suite;
using testing::residual_suite;
using testing::small_suite;
using testing::step_registry;
using Doubles = std::vector<double>;

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

// Scales and shifts, `channels` of each.
Tensor normalised(Tensor x, const double* scale) {
  const double* const shift = scale + x.shape.c;
  const auto count = static_cast<double>(x.shape.n * x.shape.pixels());
  for (int64_t c = 0; c < x.shape.c; ++c) {
    const auto each = [&](const auto& at) {
      for (int64_t n = 0; n < x.shape.n; ++n)
        for (int64_t i = 0; i < x.shape.pixels(); ++i) at(x.at(n, c, 0, i));
    };
    double sum = 0, squares = 0;
    each([&](double value) { sum += value; });
    each([&](double value) { squares += std::pow(value - sum / count, 2); });
    each([&](double& value) {
      value = (value - sum / count) / std::sqrt(squares / count + 1e-5) * scale[c] + shift[c];
    });
  }
  return x;
}

double pooled(const LayerOperation& pool, Tensor& x, int64_t n, int64_t c, int64_t p, int64_t q) {
  double largest = -INFINITY, sum = 0, inside = 0;
  for (int64_t r = 0; r < pool.window.h; ++r)
    for (int64_t s = 0; s < pool.window.w; ++s) {
      const int64_t h = p * pool.stride.h + r - pool.pad.h, w = q * pool.stride.w + s - pool.pad.w;
      if (h < 0 || h >= x.shape.h || w < 0 || w >= x.shape.w) continue;
      largest = std::max(largest, x.at(n, c, h, w));
      sum += x.at(n, c, h, w);
      ++inside;
    }
  if (pool.kind == OperationKind::pool) return largest;
  return sum / (pool.counts_padding ? static_cast<double>(pool.window.h * pool.window.w) : inside);
}

Tensor operated(const LayerOperation& operation, Tensor x, const double* bias) {
  const Extent2 image = operation.output({x.shape.h, x.shape.w});
  Tensor y{{x.shape.n, x.shape.c, image.h, image.w}, {}};
  for (int64_t n = 0; n < y.shape.n; ++n)
    for (int64_t c = 0; c < y.shape.c; ++c)
      for (int64_t p = 0; p < image.h; ++p)
        for (int64_t q = 0; q < image.w; ++q) {
          if (is_pool(operation.kind)) {
            y.values.push_back(pooled(operation, x, n, c, p, q));
            continue;
          }
          double value = x.at(n, c, p, q);
          if (operation.kind == OperationKind::bias) value += bias[c];
          if (operation.kind == OperationKind::relu) value = std::max(value, 0.0);
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

// What a layer reads: outputs one behind the other along channels, pooled.
Tensor read(const NetworkLayer& layer, std::vector<Tensor>& outputs) {
  std::vector<Tensor> parts;
  for (size_t i = 0; i < layer.reads.size(); ++i) {
    parts.push_back(outputs[layer.reads[i]]);
    for (const LayerOperation& pool : layer.through[i])
      parts.back() = operated(pool, std::move(parts.back()), nullptr);
  }
  Tensor x{parts[0].shape, {}};
  x.shape.c = 0;
  for (const Tensor& part : parts) x.shape.c += part.shape.c;
  for (int64_t n = 0; n < x.shape.n; ++n)
    for (Tensor& part : parts)
      for (int64_t i = 0; i < part.shape.c * x.shape.pixels(); ++i) x.values.push_back(part.at(n, 0, 0, i));
  for (const LayerOperation& pool : layer.before) x = operated(pool, std::move(x), nullptr);
  return x;
}

// The network's activations before the loss, in f64, of these parameters.
Tensor activations(const StepNetwork& network, const TrainingStep& step, const Tensor& images,
                   const Doubles& parameters) {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const NetworkLayer& layer = network.layers[i];
    const auto* const filter = parameters.data() + step.parameters_of(i).first;
    const double* const bias = parameters.data() + step.program().layers[i].first_bias;
    const double* const scales = parameters.data() + step.program().layers[i].first_scale;
    Tensor x = convolved(layer.problem, layer.begins_chain() ? images : read(layer, outputs),
                         {filter, filter + layer.problem.elements(Role::filter)});
    auto added = layer.added.begin();
    for (const LayerOperation& operation : layer.after) {
      if (operation.kind == OperationKind::batch_norm) {
        x = normalised(std::move(x), scales);
      } else if (operation.kind == OperationKind::add) {
        const Tensor& other = outputs[*added++];
        for (size_t at = 0; at < x.values.size(); ++at) x.values[at] += other.values[at];
      } else {
        x = operated(operation, x, bias);
      }
    }
    outputs.push_back(std::move(x));
  }
  return outputs.back();
}

// The mean cross-entropy of two images of 4 channels of 2x2.
double loss_of(const Tensor& y, std::span<const int32_t> labels) {
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
}

// One of the tensors that a task uses.
std::span<float> floats_of(const TrainingStep& step, size_t task, size_t which) {
  const std::span<const std::byte> bytes = step.memory_of(task)[which];
  return {reinterpret_cast<float*>(const_cast<std::byte*>(bytes.data())), bytes.size() / sizeof(float)};
}

// What is done to a step beside its tasks; nothing where a task is left out.
using Around = std::function<bool(TrainingStep&, size_t task)>;
const Around kAsItIs = [](TrainingStep&, size_t) { return true; };

// A step up to its update. What `around` says of a task is done before it.
void run_without_update(TrainingStep& step, const Plans& plans, const Around& around) {
  for (size_t task = 0; task < plans.all.size(); ++task)
    if (step.tasks()[task].kind != TaskKind::update && around(step, task))
      step.run(task, plans.all[task], plans.workspace.data(), *plans.queue);
}

// The largest distance of a parameter's gradient from the derivative of the model, after a step without
// update.
double farthest_gradient(const Suite& suite, const Around& around = kAsItIs) {
  CpuDevice device;
  const Registry registry = step_registry();
  TrainingStep step(network_of(suite, 2), device, 5);
  run_without_update(step, Plans(step, *registry.find("exact.cpu"), device), around);
  const auto* const image = static_cast<const float*>(step.args(0, nullptr).input);
  const ConvProblem& first = step.network().layers[0].problem;
  const Activations in{2, first.in_channels, first.input.h, first.input.w};
  const Tensor x{in, {image, image + in.elements()}};
  const std::vector<float> floats = step.read_parameters();
  const Doubles parameters(floats.begin(), floats.end());
  // The labels are not shown: those with which the model's loss is the step's.
  const Tensor last = activations(step.network(), step, x, parameters);
  std::vector<int32_t> labels(2);
  double nearest = INFINITY;
  for (int32_t code = 0; code < 16; ++code) {
    const std::vector<int32_t> guess{code / 4, code % 4};
    const double distance = std::abs(loss_of(last, guess) - step.loss());
    if (distance < nearest) {
      nearest = distance;
      labels = guess;
    }
  }
  EXPECT_LT(nearest, 1e-6);
  double farthest = 0;
  int compared = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto loss_at = [&](double change) {
      Doubles moved = parameters;
      moved[i] += change;
      return loss_of(activations(step.network(), step, x, moved), labels);
    };
    const double derivative = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5;
    farthest = std::max(farthest, std::abs(step.gradients()[i] - derivative));
    compared += derivative != 0;
  }
  EXPECT_GT(compared, 70) << "most parameters change the loss";
  return farthest;
}

TEST(TrainingStep, GradientsOfSmallNetsAreThoseOfTheDefinitionInF64) {
  EXPECT_LT(farthest_gradient(small_suite()), 1e-5);
  EXPECT_LT(farthest_gradient(residual_suite()), 1e-5);
  EXPECT_LT(farthest_gradient(inception_suite()), 1e-5);
  EXPECT_LT(farthest_gradient(mean_suite()), 1e-5);
  EXPECT_LT(farthest_gradient(reduction_suite()), 1e-5);
}

TEST(TrainingStep, AWrongDivisorOfAMeanAtTheBorderShows) {
  int padded = 0;
  for (bool forward : {true, false}) {
    const auto wrong = [&](TrainingStep& step, size_t task) {
      const StepTask& of = step.tasks()[task];
      const bool is_asked = of.kind == (forward ? TaskKind::operation_forward : TaskKind::operation_backward);
      if (!is_asked || of.operation->sort != OperationSort::mean) return true;
      LayerOperation other = of.operation->pool;
      if (other.pad == Extent2{0, 0}) return true;
      other.counts_padding = !other.counts_padding;
      // The input, its gradient, the output, its gradient, what is kept, and the scratch if it is used.
      const auto at = [&](size_t which) { return floats_of(step, task, which).data(); };
      if (forward)
        mean_pool_forward(of.operation->in, other, at(0), at(2));
      else
        mean_pool_backward(of.operation->in, other, at(3), at(of.into_scratch ? 5 : 1));
      ++padded;
      return false;
    };
    CpuDevice device;
    const Registry registry = step_registry();
    TrainingStep step(network_of(mean_suite(), 2), device, 5);
    const Plans plans(step, *registry.find("exact.cpu"), device);
    run_without_update(step, plans, kAsItIs);
    const std::vector<float> right(step.gradients().begin(), step.gradients().end());
    run_without_update(step, plans, wrong);
    double farthest = 0;
    for (size_t i = 0; i < right.size(); ++i)
      farthest = std::max<double>(farthest, std::abs(step.gradients()[i] - right[i]));
    EXPECT_GT(farthest, 1e-3) << forward;
  }
  EXPECT_EQ(padded, 4) << "two in each direction";
}

TEST(TrainingStep, AForgottenAdditionOfGradientsShows) {
  // With the one of the projection's input, the one of the sum that b gives, and the copy behind a ReLU.
  CpuDevice device;
  const TrainingStep step(network_of(residual_suite(), 2), device, 5);
  int forgotten = 0;
  for (size_t left_out = 0; left_out < step.tasks().size(); ++left_out) {
    const StepTask& of = step.tasks()[left_out];
    if (of.kind != TaskKind::add_gradient) continue;
    const auto without = [&](TrainingStep& wrong, size_t task) {
      if (task != left_out) return true;
      // A gradient that is not copied is that of an earlier step.
      if (of.operation->sort == OperationSort::copy) std::ranges::fill(floats_of(wrong, task, 0), 0.0F);
      return false;
    };
    EXPECT_GT(farthest_gradient(residual_suite(), without), 1e-3) << of.label << " of " << of.layer;
    ++forgotten;
  }
  EXPECT_EQ(forgotten, 4);
}

TEST(TrainingStep, AForgottenSplitOrPoolBeforeALayerShows) {
  CpuDevice device;
  const Registry registry = step_registry();
  const auto gradients = [&](const Around& around) {
    TrainingStep step(network_of(inception_suite(), 2), device, 5);
    run_without_update(step, Plans(step, *registry.find("exact.cpu"), device), around);
    return std::vector<float>(step.gradients().begin(), step.gradients().end());
  };
  const std::vector<float> right = gradients(kAsItIs);  // as the definition's: tested above
  const TrainingStep step(network_of(inception_suite(), 2), device, 5);
  std::vector<std::string> forgotten;
  for (size_t left_out = 0; left_out < step.tasks().size(); ++left_out) {
    const StepTask& of = step.tasks()[left_out];
    const bool is_copy = of.kind == TaskKind::split || of.kind == TaskKind::add_gradient;
    const bool is_pool = of.kind == TaskKind::operation_backward && of.label.starts_with("pool");
    if (!is_copy && !is_pool) continue;
    const auto without = [&](TrainingStep& wrong, size_t task) {
      if (task != left_out) return true;
      // What it would have written is of an earlier step: of a split its parts or the scratch, of a pool the
      // gradient of its input or the scratch.
      if (of.kind == TaskKind::split)
        for (size_t i = 1; i < wrong.memory_of(task).size(); ++i)
          std::ranges::fill(floats_of(wrong, task, i), 0.0F);
      if (of.kind == TaskKind::add_gradient && of.operation->sort == OperationSort::copy)
        std::ranges::fill(floats_of(wrong, task, 0), 0.0F);
      if (is_pool) std::ranges::fill(floats_of(wrong, task, of.into_scratch ? 5 : 1), 0.0F);
      return false;
    };
    const std::vector<float> wrong = gradients(without);
    double farthest = 0;
    for (size_t i = 0; i < right.size(); ++i)
      farthest = std::max<double>(farthest, std::abs(right[i] - wrong[i]));
    EXPECT_GT(farthest, 1e-3) << of.label << " of " << of.layer;
    forgotten.push_back(of.label);
  }
  EXPECT_EQ(std::ranges::count(forgotten, "split"), 3);
  EXPECT_EQ(std::ranges::count(forgotten, "pool 3x3/1 pad 1 backward"), 2);
  EXPECT_EQ(std::ranges::count(forgotten, "pool 3x3/2 pad 1 backward"), 1);
}

TEST(TrainingStep, AWrongTermOfBatchNormalisationsBackwardShows) {
  // The term of the mean left out: a constant in each channel.
  const auto without_mean = [](TrainingStep& step, size_t task) {
    if (step.tasks()[task].kind != TaskKind::backward_filter || step.tasks()[task].layer != 3) return true;
    const ConvArgs args = step.args(task, nullptr);
    const std::span gradient(static_cast<float*>(args.output), 2 * 4 * 4);
    for (float& value : gradient) value += 0.01F;
    return true;
  };
  EXPECT_GT(farthest_gradient(residual_suite(), without_mean), 1e-3);
  // The scale's and the shift's gradients.
  for (size_t change : {size_t{0}, size_t{4}}) {
    const auto wrong = [&](TrainingStep& step, size_t task) {
      if (step.tasks()[task].kind == TaskKind::backward_filter && step.tasks()[task].layer == 3)
        step.gradients()[step.program().layers[3].first_scale + change] *= 2;
      return true;
    };
    EXPECT_GT(farthest_gradient(residual_suite(), wrong), 1e-3) << change;
  }
}

TEST(CheckGradient, IsSmallForARightStepAndSeesAWrongPass) {
  CpuDevice device;
  const Registry registry = step_registry();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    TrainingStep step(network_of(small_suite(), 2), device, seed);
    const Plans plans(step, *registry.find("exact.cpu"), device);
    const std::vector<float> before = step.read_parameters();
    EXPECT_LT(check_gradient(step, plans.all, plans.workspace.data(), *plans.queue), 2e-3);
    EXPECT_EQ(before, step.read_parameters());
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

TEST(CheckGradient, SeesABranchWhoseGradientIsNotAdded) {
  CpuDevice device;
  const Registry registry = step_registry();
  TrainingStep step(network_of(residual_suite(), 2), device, 5);
  const Plans plans(step, *registry.find("exact.cpu"), device);
  EXPECT_LT(check_gradient(step, plans.all, plans.workspace.data(), *plans.queue), 5e-3);
  const testing::ScaledReference nothing("nothing.cpu", 0);
  const Plans wrong(step, nothing, device);
  int branches = 0;
  for (size_t task = 0; task < step.tasks().size(); ++task) {
    if (step.tasks()[task].kind != TaskKind::backward_data) continue;
    std::vector<Plan*> mixed = plans.all;
    mixed[task] = wrong.all[task];
    EXPECT_GT(check_gradient(step, mixed, plans.workspace.data(), *plans.queue), 0.03) << task;
    ++branches;
  }
  EXPECT_EQ(branches, 4);
}

TEST(CheckGradient, TakesTheLossOfANetworkWithConcatenations) {
  CpuDevice device;
  const Registry registry = step_registry();
  TrainingStep step(network_of(inception_suite(), 2), device, 5);
  const Plans plans(step, *registry.find("exact.cpu"), device);
  EXPECT_LT(check_gradient(step, plans.all, plans.workspace.data(), *plans.queue), 5e-3);
}

}  // namespace
}  // namespace convscope

#include "bench/step/training_step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/core/random.hpp"
#include "bench/core/rounding.hpp"

namespace convscope {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr double kBiasReach = 0.01;
constexpr int64_t kAligned = 64;  // values: each layer's parameters begin on a cache line

int64_t filter_values(const ConvProblem& problem) {
  return problem.elements(Role::filter);
}
int64_t parameter_values(const ConvProblem& problem) {
  return round_up(filter_values(problem) + problem.out_channels, kAligned);
}

Activations convolved_shape(const ConvProblem& problem) {
  const Extent2 image = problem.output();
  return {problem.batch, problem.out_channels, image.h, image.w};
}
Activations input_shape(const ConvProblem& problem) {
  return {problem.batch, problem.in_channels, problem.input.h, problem.input.w};
}

bool has(const NetworkLayer& layer, OperationKind kind) {
  return std::ranges::any_of(layer.after, [&](const auto& operation) { return operation.kind == kind; });
}

// Uniform in [-reach, reach): those from `first` on of the values that the seed stands for.
void fill_random(float* values, int64_t count, uint64_t seed, double reach, int64_t first = 0) {
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(reach) * random_uniform(seed, static_cast<uint64_t>(first + i));
}

double bytes_of(const Activations& shape) {
  return static_cast<double>(kFloat * shape.elements());
}

}  // namespace

std::string_view name(TaskKind kind) {
  constexpr std::string_view names[] = {
      "forward", "backward_data", "backward_filter", "operation_forward", "operation_backward",
      "loss",    "update"};
  return names[static_cast<size_t>(kind)];
}

TrainingStep::TrainingStep(StepNetwork network, Device& device, uint64_t seed, int64_t first_image)
    : network_(std::move(network)), device_(device) {
  for (const NetworkLayer& layer : network_.layers)
    parameter_count_ += static_cast<size_t>(parameter_values(layer.problem));
  for (Buffer* buffer : {&parameters_, &gradients_, &velocities_}) {
    *buffer = Buffer(device, parameter_count_ * kFloat);
    std::fill_n(buffer->as<float>(), parameter_count_, 0.0F);
  }
  size_t input = 0;
  for (size_t i = 0; i < network_.layers.size(); ++i) {
    const NetworkLayer& layer = network_.layers[i];
    if (layer.begins_chain) {
      input = add_tensor(input_shape(layer.problem), layer.needs_input_gradient);
      const Activations& images = tensors_[input].shape;
      fill_random(tensors_[input].value.as<float>(), images.elements(), random_bits(seed, 3 * i), 1,
                  first_image * (images.elements() / images.n));
    }
    add_layer(layer, input, random_bits(seed, 3 * i + 1));
    input = layers_.back().groups.empty() ? layers_.back().convolved : layers_.back().groups.back().output;
    if (!layer.ends_chain) continue;
    for (int64_t n = 0; n < layer.problem.batch; ++n)
      layers_.back().labels.push_back(static_cast<int32_t>(random_below(
          random_bits(seed, 3 * i + 2), static_cast<uint64_t>(first_image + n), tensors_[input].shape.c)));
  }
  add_tasks();
}

int64_t TrainingStep::bytes_needed(const StepNetwork& network) {
  int64_t values = 0;
  for (const NetworkLayer& layer : network.layers) {
    values += 3 * parameter_values(layer.problem);
    if (layer.begins_chain)
      values += (layer.needs_input_gradient ? 2 : 1) * input_shape(layer.problem).elements();
    Activations shape = convolved_shape(layer.problem);
    values += 2 * shape.elements();
    for (const LayerOperation& operation : layer.after) {
      if (operation.kind != OperationKind::pool && operation.kind != OperationKind::lrn) continue;
      const Extent2 image = operation.output({shape.h, shape.w});
      shape = {shape.n, shape.c, image.h, image.w};
      values += 3 * shape.elements();
    }
  }
  return kFloat * values;
}

size_t TrainingStep::add_tensor(const Activations& shape, bool has_gradient) {
  const auto bytes = static_cast<size_t>(kFloat * shape.elements());
  Tensor tensor{shape, Buffer(device_, bytes), has_gradient ? Buffer(device_, bytes) : Buffer()};
  tensors_.push_back(std::move(tensor));
  return tensors_.size() - 1;
}

void TrainingStep::add_layer(const NetworkLayer& layer, size_t input, uint64_t seed) {
  LayerState state;
  state.input = input;
  if (!layers_.empty())
    state.first_parameter =
        layers_.back().first_parameter +
        static_cast<size_t>(parameter_values(network_.layers[layers_.size() - 1].problem));
  const ConvProblem& problem = layer.problem;
  state.first_bias = state.first_parameter + static_cast<size_t>(filter_values(problem));
  const int64_t terms = problem.in_channels_per_group() * problem.filter.h * problem.filter.w;
  // He et al. 2015: the variance of activations is kept, where ReLU halves it and where nothing does.
  const double variance = (has(layer, OperationKind::relu) ? 2.0 : 1.0) / static_cast<double>(terms);
  fill_random(parameters_.as<float>() + state.first_parameter, filter_values(problem), seed,
              std::sqrt(3 * variance));
  // So small that it changes nothing, and not zero, so that one that is left out shows.
  if (has(layer, OperationKind::bias))
    fill_random(parameters_.as<float>() + state.first_bias, problem.out_channels, ~seed, kBiasReach);
  state.convolved = add_tensor(convolved_shape(problem));
  size_t last = state.convolved;
  for (const LayerOperation& operation : layer.after) {
    const bool in_place = operation.kind == OperationKind::bias || operation.kind == OperationKind::relu;
    if (in_place && !state.groups.empty() && state.groups.back().input == state.groups.back().output) {
      OperationGroup& group = state.groups.back();
      group.has_relu = group.has_relu || operation.kind == OperationKind::relu;
      group.label += "+" + to_text(operation);
      continue;
    }
    OperationGroup group;
    group.operation = operation;
    group.label = to_text(operation);
    group.has_bias = operation.kind == OperationKind::bias;
    group.has_relu = operation.kind == OperationKind::relu;
    group.input = group.output = last;
    if (!in_place) {
      const Activations in = tensors_[last].shape;
      const Extent2 image = operation.output({in.h, in.w});
      group.output = add_tensor({in.n, in.c, image.h, image.w});
      const Activations& kept = tensors_[group.output].shape;
      group.kept = Buffer(device_, static_cast<size_t>(kFloat * kept.elements()));
    }
    last = group.output;
    state.groups.push_back(std::move(group));
  }
  layers_.push_back(std::move(state));
}

void TrainingStep::add_convolution(size_t layer, Pass pass) {
  const TaskKind kind = pass == Pass::forward         ? TaskKind::forward
                        : pass == Pass::backward_data ? TaskKind::backward_data
                                                      : TaskKind::backward_filter;
  ConvProblem problem = network_.layers[layer].problem;
  problem.pass = pass;
  if (pass != Pass::forward) problem.epilogue = Epilogue::none;
  tasks_.push_back(
      {kind, layer, std::string(name(kind)), problem, static_cast<double>(problem.total_bytes())});
  group_of_task_.push_back(0);
}

void TrainingStep::add_tasks() {
  const auto add = [&](TaskKind kind, size_t layer, std::string label, size_t group, double bytes) {
    tasks_.push_back({kind, layer, std::move(label), std::nullopt, bytes});
    group_of_task_.push_back(group);
  };
  // Tensors read and written by a pass over an operation, at least.
  const auto bytes_of_group = [&](const OperationGroup& group, bool forward) {
    const double in = bytes_of(tensors_[group.input].shape), out = bytes_of(tensors_[group.output].shape);
    if (group.operation.kind == OperationKind::lrn) return forward ? 3 * in : 5 * in;
    if (group.operation.kind == OperationKind::pool) return in + 2 * out;
    return forward ? 2 * in : group.has_relu ? 3 * in : in;
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    add_convolution(i, Pass::forward);
    const bool is_fused = network_.layers[i].problem.epilogue != Epilogue::none;  // with the first group
    for (size_t g = is_fused ? 1 : 0; g < layers_[i].groups.size(); ++g)
      add(TaskKind::operation_forward, i, layers_[i].groups[g].label, g,
          bytes_of_group(layers_[i].groups[g], true));
  }
  for (size_t i = 0; i < layers_.size(); ++i)
    if (network_.layers[i].ends_chain)
      add(TaskKind::loss, i, "loss", 0, 2 * bytes_of(network_.layers[i].output()));
  for (size_t i = layers_.size(); i-- > 0;) {
    for (size_t g = layers_[i].groups.size(); g-- > 0;)
      add(TaskKind::operation_backward, i, layers_[i].groups[g].label + " backward", g,
          bytes_of_group(layers_[i].groups[g], false));
    add_convolution(i, Pass::backward_filter);
    if (network_.layers[i].needs_input_gradient) add_convolution(i, Pass::backward_data);
  }
  // Weight and velocity read and written, the gradient read.
  for (size_t i = 0; i < layers_.size(); ++i)
    add(TaskKind::update, i, "update", 0,
        5.0 * static_cast<double>(kFloat * parameter_values(network_.layers[i].problem)));
}

ConvArgs TrainingStep::args(size_t task, void* workspace) const {
  const StepTask& of = tasks_[task];
  const LayerState& layer = layers_[of.layer];
  const Tensor &in = tensors_[layer.input], &out = tensors_[layer.convolved];
  float* const filter = parameters_.as<float>() + layer.first_parameter;
  float* const filter_gradient = gradients_.as<float>() + layer.first_parameter;
  switch (of.problem->pass) {
    case Pass::forward:
      return {in.value.data(), filter, out.value.data(), workspace,
              has_bias(of.problem->epilogue) ? parameters_.as<float>() + layer.first_bias : nullptr};
    case Pass::backward_data:
      return {in.gradient.data(), filter, out.gradient.data(), workspace};
    case Pass::backward_filter:
      return {in.value.data(), filter_gradient, out.gradient.data(), workspace};
  }
  return {};
}

void TrainingStep::run_group(OperationGroup& group, const LayerState& layer, bool forward) {
  Tensor &in = tensors_[group.input], &out = tensors_[group.output];
  const auto value = [](Tensor& tensor) { return tensor.value.as<float>(); };
  const auto gradient = [](Tensor& tensor) { return tensor.gradient.as<float>(); };
  float* const bias = group.has_bias ? parameters_.as<float>() + layer.first_bias : nullptr;
  float* const bias_gradient = group.has_bias ? gradients_.as<float>() + layer.first_bias : nullptr;
  switch (group.operation.kind) {
    case OperationKind::bias:
    case OperationKind::relu:
      if (forward)
        bias_relu_forward(in.shape, bias, group.has_relu, value(in));
      else
        bias_relu_backward(in.shape, value(in), group.has_relu, gradient(in), bias_gradient);
      return;
    case OperationKind::lrn:
      if (forward)
        lrn_forward(in.shape, value(in), value(out), group.kept.as<float>());
      else
        lrn_backward(in.shape, value(in), value(out), group.kept.as<float>(), gradient(out), gradient(in));
      return;
    case OperationKind::pool:
      if (forward)
        max_pool_forward(in.shape, group.operation, value(in), value(out), group.kept.as<int32_t>());
      else
        max_pool_backward(in.shape, group.operation, group.kept.as<int32_t>(), gradient(out), gradient(in));
      return;
  }
}

void TrainingStep::run(size_t task, Plan* plan, void* workspace, Queue& queue) {
  const StepTask& of = tasks_[task];
  LayerState& layer = layers_[of.layer];
  switch (of.kind) {
    case TaskKind::forward:
    case TaskKind::backward_data:
    case TaskKind::backward_filter: {
      const ConvArgs tensors = args(task, workspace);
      if (plan->has_prepare()) plan->prepare(tensors, queue);
      plan->run(tensors, queue);
      queue.synchronize();
      return;
    }
    case TaskKind::operation_forward:
    case TaskKind::operation_backward:
      return run_group(layer.groups[group_of_task_[task]], layer, of.kind == TaskKind::operation_forward);
    case TaskKind::loss: {
      Tensor& last = tensors_[layer.groups.empty() ? layer.convolved : layer.groups.back().output];
      layer.loss = softmax_loss(last.shape, last.value.as<float>(), layer.labels, last.gradient.as<float>());
      return;
    }
    case TaskKind::update: {
      const auto [first, count] = parameters_of(of.layer);
      update(rule_, static_cast<int64_t>(count), gradients_.as<float>() + first,
             velocities_.as<float>() + first, parameters_.as<float>() + first);
      return;
    }
  }
}

std::vector<std::span<const std::byte>> TrainingStep::memory_of(size_t task) const {
  const StepTask& of = tasks_[task];
  const LayerState& layer = layers_[of.layer];
  std::vector<std::span<const std::byte>> memory;
  const auto add = [&](const Buffer& buffer) { memory.emplace_back(buffer.as<std::byte>(), buffer.bytes()); };
  const auto add_parameters = [&](const Buffer& all) {
    const auto [first, count] = parameters_of(of.layer);
    memory.emplace_back(reinterpret_cast<const std::byte*>(all.as<float>() + first), count * sizeof(float));
  };
  const auto add_tensor = [&](size_t tensor) {
    add(tensors_[tensor].value);
    add(tensors_[tensor].gradient);
  };
  switch (of.kind) {
    case TaskKind::forward:
    case TaskKind::backward_data:
    case TaskKind::backward_filter: {
      const ConvArgs tensors = args(task, nullptr);
      for (Role role : kRoles)
        memory.emplace_back(static_cast<const std::byte*>(tensors.tensor(role)),
                            static_cast<size_t>(of.problem->bytes(role)));
      break;
    }
    case TaskKind::operation_forward:
    case TaskKind::operation_backward: {
      const OperationGroup& group = layer.groups[group_of_task_[task]];
      add_tensor(group.input);
      add_tensor(group.output);
      add(group.kept);
      break;
    }
    case TaskKind::loss:
      add_tensor(layer.groups.empty() ? layer.convolved : layer.groups.back().output);
      break;
    case TaskKind::update:
      for (const Buffer* all : {&parameters_, &gradients_, &velocities_}) add_parameters(*all);
      break;
  }
  return memory;
}

double TrainingStep::loss() const {
  double sum = 0;
  for (const LayerState& layer : layers_) sum += layer.loss;
  return sum;
}

std::pair<size_t, size_t> TrainingStep::parameters_of(size_t layer) const {
  return {layers_[layer].first_parameter,
          static_cast<size_t>(parameter_values(network_.layers[layer].problem))};
}

}  // namespace convscope

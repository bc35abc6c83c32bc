#include "bench/step/training_step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/core/random.hpp"

namespace convscope {
namespace {

constexpr int64_t kFloat = sizeof(float);
// So small that it changes nothing, and not zero, so that one that is left out shows.
constexpr double kBiasReach = 0.01;
constexpr double kScaleReach = 0.1;

// Uniform in [-reach, reach): those from `first` on of the values that the seed stands for.
void fill_random(float* values, int64_t count, uint64_t seed, double reach, int64_t first = 0) {
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(reach) * random_uniform(seed, static_cast<uint64_t>(first + i));
}

Buffer floats(Device& device, int64_t count) {
  return {device, static_cast<size_t>(kFloat * count)};
}

}  // namespace

TrainingStep::TrainingStep(StepNetwork network, Device& device, uint64_t seed, int64_t first_image)
    : network_(std::move(network)), program_(network_) {
  const auto parameters = static_cast<int64_t>(program_.parameters);
  for (Buffer* buffer : {&parameters_, &gradients_, &velocities_}) {
    *buffer = floats(device, parameters);
    std::fill_n(buffer->as<float>(), parameters, 0.0F);
  }
  for (const StepTensor& one : program_.tensors) {
    const int64_t values = one.shape.elements();
    tensors_.push_back(
        {one.shape, floats(device, values), one.has_gradient ? floats(device, values) : Buffer()});
  }
  if (program_.scratch_values > 0) scratch_ = floats(device, program_.scratch_values);
  for (size_t i = 0; i < program_.layers.size(); ++i) {
    LayerState& state = layers_.emplace_back();
    for (const OperationGroup& group : program_.layers[i].groups)
      state.kept.push_back(group.kept_values > 0 ? floats(device, group.kept_values) : Buffer());
    draw(i, seed, first_image);
  }
}

void TrainingStep::draw(size_t index, uint64_t seed, int64_t first_image) {
  const NetworkLayer& layer = network_.layers[index];
  const LayerProgram& program = program_.layers[index];
  const ConvProblem& problem = layer.problem;
  const uint64_t of_parameters = random_bits(seed, 3 * index + 1);
  const auto parameters = [&](size_t first) { return parameters_.as<float>() + first; };
  if (layer.begins_chain()) {
    const Activations& images = tensors_[program.input].shape;
    fill_random(tensors_[program.input].value.as<float>(), images.elements(), random_bits(seed, 3 * index), 1,
                first_image * (images.elements() / images.n));
  }
  const int64_t terms = problem.in_channels_per_group() * problem.filter.h * problem.filter.w;
  // He et al. 2015: the variance of activations is kept, where ReLU halves it and where nothing does.
  const double variance = (has(layer.after, OperationKind::relu) ? 2.0 : 1.0) / static_cast<double>(terms);
  fill_random(parameters(program.first_parameter), problem.elements(Role::filter), of_parameters,
              std::sqrt(3 * variance));
  if (has(layer.after, OperationKind::bias))
    fill_random(parameters(program.first_bias), problem.out_channels, ~of_parameters, kBiasReach);
  if (has(layer.after, OperationKind::batch_norm)) {
    float* const scale = parameters(program.first_scale);
    fill_random(scale, problem.out_channels, random_bits(of_parameters, 1), kScaleReach);
    for (int64_t i = 0; i < problem.out_channels; ++i) scale[i] += 1;
    fill_random(scale + problem.out_channels, problem.out_channels, random_bits(of_parameters, 2),
                kBiasReach);
  }
  if (!layer.ends_chain) return;
  for (int64_t n = 0; n < problem.batch; ++n)
    layers_[index].labels.push_back(static_cast<int32_t>(random_below(random_bits(seed, 3 * index + 2),
                                                                      static_cast<uint64_t>(first_image + n),
                                                                      tensors_[program.output()].shape.c)));
}

ConvArgs TrainingStep::args(size_t task, void* workspace) const {
  const StepTask& of = program_.tasks[task];
  const LayerProgram& layer = program_.layers[of.layer];
  const Tensor &in = tensors_[layer.input], &out = tensors_[layer.convolved];
  float* const filter = parameters_.as<float>() + layer.first_parameter;
  float* const filter_gradient = gradients_.as<float>() + layer.first_parameter;
  switch (of.problem->pass) {
    case Pass::forward:
      return {in.value.data(), filter, out.value.data(), workspace,
              has_bias(of.problem->epilogue) ? parameters_.as<float>() + layer.first_bias : nullptr};
    case Pass::backward_data:
      return {(of.into_scratch ? scratch_ : in.gradient).data(), filter, out.gradient.data(), workspace};
    case Pass::backward_filter:
      return {in.value.data(), filter_gradient, out.gradient.data(), workspace};
  }
  return {};
}

void TrainingStep::run_group(const OperationGroup& group, size_t index, bool forward) {
  const LayerProgram& layer = program_.layers[index];
  Tensor &in = tensors_[group.input], &out = tensors_[group.output];
  const Buffer& kept = layers_[index].kept[static_cast<size_t>(&group - layer.groups.data())];
  const auto value = [](Tensor& tensor) { return tensor.value.as<float>(); };
  const auto gradient = [](Tensor& tensor) { return tensor.gradient.as<float>(); };
  float* const bias = group.has_bias ? parameters_.as<float>() + layer.first_bias : nullptr;
  float* const bias_gradient = group.has_bias ? gradients_.as<float>() + layer.first_bias : nullptr;
  const float* const scale = parameters_.as<float>() + layer.first_scale;
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
        lrn_forward(in.shape, value(in), value(out), kept.as<float>());
      else
        lrn_backward(in.shape, value(in), value(out), kept.as<float>(), gradient(out), gradient(in));
      return;
    case OperationKind::pool:
      if (forward)
        max_pool_forward(in.shape, group.operation, value(in), value(out), kept.as<int32_t>());
      else
        max_pool_backward(in.shape, group.operation, kept.as<int32_t>(), gradient(out), gradient(in));
      return;
    case OperationKind::batch_norm:
      if (forward)
        batch_norm_forward(in.shape, value(in), scale, group.has_relu, value(out), kept.as<float>());
      else
        batch_norm_backward(in.shape, value(in), scale, kept.as<float>(), group.has_relu, gradient(out),
                            gradient(in), gradients_.as<float>() + layer.first_scale);
      return;
    case OperationKind::add:
      if (forward)
        add_forward(in.shape.elements(), value(in), value(tensors_[group.addend]), group.has_relu,
                    value(out));
      else
        bias_relu_backward(out.shape, value(out), group.has_relu, gradient(out), nullptr);
      return;
  }
}

void TrainingStep::add_gradient(const StepTask& task) {
  const Tensor& tensor = tensors_[task.tensor];
  const float* const addend = (task.addend ? tensors_[*task.addend].gradient : scratch_).as<float>();
  float* const gradient = tensor.gradient.as<float>();
  const int64_t values = tensor.shape.elements();
  if (!task.is_first) return add_forward(values, gradient, addend, false, gradient);
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < values; ++i) gradient[i] = addend[i];
}

void TrainingStep::run(size_t task, Plan* plan, void* workspace, Queue& queue) {
  const StepTask& of = program_.tasks[task];
  const LayerProgram& layer = program_.layers[of.layer];
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
      return run_group(layer.groups[of.group], of.layer, of.kind == TaskKind::operation_forward);
    case TaskKind::add_gradient:
      return add_gradient(of);
    case TaskKind::loss: {
      Tensor& last = tensors_[layer.output()];
      LayerState& state = layers_[of.layer];
      state.loss = softmax_loss(last.shape, last.value.as<float>(), state.labels, last.gradient.as<float>());
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
  const StepTask& of = program_.tasks[task];
  const LayerProgram& layer = program_.layers[of.layer];
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
      const OperationGroup& group = layer.groups[of.group];
      add_tensor(group.input);
      add_tensor(group.output);
      if (group.operation.kind == OperationKind::add) add(tensors_[group.addend].value);
      add(layers_[of.layer].kept[of.group]);
      break;
    }
    case TaskKind::add_gradient:
      add(tensors_[of.tensor].gradient);
      add(of.addend ? tensors_[*of.addend].gradient : scratch_);
      break;
    case TaskKind::loss:
      add_tensor(layer.output());
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
  return {program_.layers[layer].first_parameter, program_.layers[layer].parameters};
}

}  // namespace convscope

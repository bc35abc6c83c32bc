#include "bench/step/training_step.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bench/core/random.hpp"
#include "bench/operation/own_operations.hpp"

namespace convscope {
namespace {

// So small that it changes nothing, and not zero, so that one that is left out shows.
constexpr double kBiasReach = 0.01;
constexpr double kScaleReach = 0.1;

// Uniform around the middle, `reach` to each side: those from `first` on of the values that the seed stands
// for.
struct Draw {
  uint64_t seed;
  double reach;
  double middle = 0;
  int64_t first = 0;
};
void fill(Device& device, float* to, int64_t count, const Draw& draw) {
  std::vector<float> values(static_cast<size_t>(count));
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] =
        static_cast<float>(draw.middle) +
        static_cast<float>(draw.reach) * random_uniform(draw.seed, static_cast<uint64_t>(draw.first + i));
  device.copy_to_device(to, values.data(), values.size() * sizeof(float));
}

Buffer floats(Device& device, int64_t count) {
  return {device, static_cast<size_t>(count) * sizeof(float)};
}

int64_t bytes_with_kept(const StepProgram& program, const PlannedOperations& operations) {
  int64_t bytes = program.bytes();
  for (const std::vector<int64_t>& of_layer : operations.kept_bytes)
    bytes += std::accumulate(of_layer.begin(), of_layer.end(), int64_t{0});
  return bytes;
}

}  // namespace

PlannedOperations::PlannedOperations(const StepProgram& program, Device& device) {
  const std::unique_ptr<OperationAlgorithm> own = own_operations();
  for (const LayerProgram& layer : program.layers) kept_bytes.emplace_back(layer.groups.size());
  for (const StepTask& task : program.tasks) {
    plans.push_back(task.operation ? own->plan(*task.operation, device) : nullptr);
    if (task.kind != TaskKind::operation_forward && task.kind != TaskKind::operation_backward) continue;
    int64_t& kept = kept_bytes[task.layer][task.group];
    kept = std::max(kept, plans.back()->kept_bytes());
  }
}

int64_t TrainingStep::bytes_needed(const StepNetwork& network, Device& device) {
  const StepProgram program(network);
  return bytes_with_kept(program, PlannedOperations(program, device));
}

int64_t TrainingStep::bytes() const {
  return bytes_with_kept(program_, operations_);
}

TrainingStep::TrainingStep(StepNetwork network, Device& device, uint64_t seed, int64_t first_image)
    : device_(device), network_(std::move(network)), program_(network_), operations_(program_, device) {
  for (Buffer* buffer : {&parameters_, &gradients_, &velocities_}) {
    *buffer = floats(device, static_cast<int64_t>(program_.parameters));
    device.fill(buffer->data(), 0, buffer->bytes());
  }
  for (const StepTensor& one : program_.tensors) {
    const int64_t values = one.shape.elements();
    tensors_.push_back(
        {one.shape, floats(device, values), one.has_gradient ? floats(device, values) : Buffer()});
  }
  if (program_.scratch_values > 0) scratch_ = floats(device, program_.scratch_values);
  for (size_t i = 0; i < program_.layers.size(); ++i) {
    LayerState& state = layers_.emplace_back();
    for (int64_t bytes : operations_.kept_bytes[i])
      state.kept.push_back(bytes > 0 ? Buffer(device, static_cast<size_t>(bytes)) : Buffer());
    draw(i, seed, first_image);
  }
}

void TrainingStep::draw(size_t index, uint64_t seed, int64_t first_image) {
  const NetworkLayer& layer = network_.layers[index];
  const LayerProgram& program = program_.layers[index];
  const ConvProblem& problem = layer.problem;
  const uint64_t of_parameters = random_bits(seed, 3 * index + 1);
  const auto fill_parameters = [&](size_t first, int64_t count, const Draw& draw) {
    fill(device_, parameters_.as<float>() + first, count, draw);
  };
  if (layer.begins_chain()) {
    const Activations& images = tensors_[program.input].shape;
    fill(device_, tensors_[program.input].value.as<float>(), images.elements(),
         {random_bits(seed, 3 * index), 1, 0, first_image * (images.elements() / images.n)});
  }
  const int64_t terms = problem.in_channels_per_group() * problem.filter.h * problem.filter.w;
  // He et al. 2015: the variance of activations is kept, where ReLU halves it and where nothing does.
  const double variance = (has(layer.after, OperationKind::relu) ? 2.0 : 1.0) / static_cast<double>(terms);
  fill_parameters(program.first_parameter, problem.elements(Role::filter),
                  {of_parameters, std::sqrt(3 * variance)});
  if (has(layer.after, OperationKind::bias))
    fill_parameters(program.first_bias, problem.out_channels, {~of_parameters, kBiasReach});
  if (has(layer.after, OperationKind::batch_norm)) {
    const auto channels = static_cast<size_t>(problem.out_channels);
    fill_parameters(program.first_scale, problem.out_channels,
                    {random_bits(of_parameters, 1), kScaleReach, 1});
    fill_parameters(program.first_scale + channels, problem.out_channels,
                    {random_bits(of_parameters, 2), kBiasReach});
  }
  if (!layer.ends_chain) return;
  std::vector<int32_t> labels;
  for (int64_t n = 0; n < problem.batch; ++n)
    labels.push_back(static_cast<int32_t>(random_below(random_bits(seed, 3 * index + 2),
                                                       static_cast<uint64_t>(first_image + n),
                                                       tensors_[program.output()].shape.c)));
  LayerState& state = layers_[index];
  state.labels = Buffer(device_, labels.size() * sizeof(int32_t));
  state.labels.upload(labels.data(), state.labels.bytes());
  state.losses = Buffer(device_, labels.size() * sizeof(double));
  device_.fill(state.losses.data(), 0, state.losses.bytes());
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

float* TrainingStep::operand(const StepTask& task, Slot slot) const {
  const LayerProgram& layer = program_.layers[task.layer];
  const auto of_layer = [&](const Buffer& all, size_t first) { return all.as<float>() + first; };
  const auto gradient_of = [&](size_t tensor) { return tensors_[tensor].gradient.as<float>(); };
  if (task.kind == TaskKind::add_gradient)
    return slot == Slot::y ? gradient_of(task.tensor)
           : task.addend   ? gradient_of(*task.addend)
                           : scratch_.as<float>();
  const OperationGroup* const group = task.kind == TaskKind::update ? nullptr : &layer.groups[task.group];
  const bool is_addition = group != nullptr && group->operation.kind == OperationKind::add;
  const bool is_bias = group != nullptr && group->operation.kind == OperationKind::bias;
  const size_t first = group == nullptr ? layer.first_parameter
                       : is_bias        ? layer.first_bias
                                        : layer.first_scale;
  switch (slot) {
    case Slot::parameter:
      return of_layer(parameters_, first);
    case Slot::parameter_gradient:
      return of_layer(gradients_, first);
    case Slot::velocity:
      return of_layer(velocities_, first);
    case Slot::x:
      return tensors_[is_addition ? group->addend : group->input].value.as<float>();
    case Slot::y:
      return tensors_[group->output].value.as<float>();
    case Slot::dx:
      return task.into_scratch ? scratch_.as<float>() : gradient_of(group->input);
    case Slot::dy:
      return gradient_of(group->output);
    case Slot::error:
      break;
  }
  return nullptr;
}

void TrainingStep::run_operation(size_t index, Queue& queue) {
  const StepTask& task = program_.tasks[index];
  OperationTensors tensors;
  for (const SlotUse& use : task.operation->slots()) tensors[use.slot] = operand(task, use.slot);
  void* kept = nullptr;
  if (task.kind == TaskKind::operation_forward || task.kind == TaskKind::operation_backward) {
    const OperationGroup& group = program_.layers[task.layer].groups[task.group];
    kept = layers_[task.layer].kept[task.group].data();
    if (task.operation->is_addition() && group.input != group.output) {
      const Buffer& first = tensors_[group.input].value;
      queue.copy(tensors[Slot::y], first.data(), first.bytes());
    }
  }
  operations_.plans[index]->run(tensors, kept, queue);
}

void TrainingStep::copy_parts(const StepTask& task, Queue& queue) {
  const Concatenation& of = *program_.layers[task.layer].concatenation;
  const Tensor& whole = tensors_[of.whole];
  const auto image_bytes = [](const Tensor& tensor) {
    return static_cast<size_t>(tensor.shape.elements() / tensor.shape.n) * sizeof(float);
  };
  const size_t step = image_bytes(whole), images = static_cast<size_t>(whole.shape.n);
  size_t first = 0;
  for (size_t i = 0; i < of.parts.size(); ++i) {
    const Tensor& part = tensors_[of.parts[i]];
    const size_t bytes = image_bytes(part);
    if (std::ranges::find(task.parts, i) != task.parts.end()) {
      if (task.kind == TaskKind::concat)
        queue.copy_rows(whole.value.as<std::byte>() + first, step, part.value.data(), bytes, bytes, images);
      else
        queue.copy_rows((task.into_scratch ? scratch_ : part.gradient).data(), bytes,
                        whole.gradient.as<std::byte>() + first, step, bytes, images);
    }
    first += bytes;
  }
}

void TrainingStep::run_loss(const StepTask& task, Queue& queue) {
  const Tensor& last = tensors_[program_.layers[task.layer].output()];
  const LayerState& state = layers_[task.layer];
  enqueue_softmax_loss(device_.info().kind, last.shape, last.value.as<float>(), state.labels.as<int32_t>(),
                       state.losses.as<double>(), last.gradient.as<float>(), queue);
}

void TrainingStep::run(size_t index, Plan* plan, void* workspace, Queue& queue) {
  const StepTask& task = program_.tasks[index];
  switch (task.kind) {
    case TaskKind::forward:
    case TaskKind::backward_data:
    case TaskKind::backward_filter: {
      const ConvArgs tensors = args(index, workspace);
      if (plan->has_prepare()) plan->prepare(tensors, queue);
      plan->run(tensors, queue);
      return;
    }
    case TaskKind::operation_forward:
    case TaskKind::operation_backward:
    case TaskKind::add_gradient:
    case TaskKind::update:
      return run_operation(index, queue);
    case TaskKind::concat:
    case TaskKind::split:
      return copy_parts(task, queue);
    case TaskKind::loss:
      return run_loss(task, queue);
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
      if (of.into_scratch) add(scratch_);
      break;
    }
    case TaskKind::concat:
    case TaskKind::split: {
      const Concatenation& parts = *layer.concatenation;
      const bool forward = of.kind == TaskKind::concat;
      const auto add_one = [&](const Tensor& tensor) { add(forward ? tensor.value : tensor.gradient); };
      add_one(tensors_[parts.whole]);
      for (size_t part : of.parts)
        if (!of.into_scratch) add_one(tensors_[parts.parts[part]]);
      if (of.into_scratch) add(scratch_);
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
  for (const LayerState& layer : layers_) {
    const size_t images = layer.losses.bytes() / sizeof(double);
    if (images == 0) continue;
    std::vector<double> losses(images);
    layer.losses.download(losses.data(), layer.losses.bytes());
    double of_layer = 0;
    for (const double loss : losses) of_layer += loss;
    sum += of_layer / static_cast<double>(images);
  }
  return sum;
}

std::vector<float> TrainingStep::values_of(const Buffer& buffer) {
  std::vector<float> values(buffer.bytes() / sizeof(float));
  buffer.download(values.data(), buffer.bytes());
  return values;
}

std::pair<size_t, size_t> TrainingStep::parameters_of(size_t layer) const {
  return {program_.layers[layer].first_parameter, program_.layers[layer].parameters};
}

}  // namespace convscope

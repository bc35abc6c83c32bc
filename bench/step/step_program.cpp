#include "bench/step/step_program.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "bench/core/rounding.hpp"

namespace convscope {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kLine = 16, kAligned = 64;  // values of a cache line; of what a layer's are rounded up to

Activations convolved_shape(const ConvProblem& problem) {
  const Extent2 image = problem.output();
  return {problem.batch, problem.out_channels, image.h, image.w};
}
Activations input_shape(const ConvProblem& problem) {
  return {problem.batch, problem.in_channels, problem.input.h, problem.input.w};
}
double bytes_of(const Activations& shape) {
  return static_cast<double>(kFloat * shape.elements());
}

// Whether backward reads what the group gave, so that nothing may be added to it in place. Batch
// normalisation computes it again, and a ReLU in place of its output leaves what lrn's backward needs.
bool keeps_output(const OperationGroup& group) {
  const OperationKind kind = group.operation.kind;
  return kind == OperationKind::lrn || (group.has_relu && kind != OperationKind::batch_norm);
}
// Whether a ReLU right behind it is part of its pass.
bool takes_relu(const OperationGroup& group) {
  const OperationKind kind = group.operation.kind;
  return kind == OperationKind::bias || kind == OperationKind::batch_norm || kind == OperationKind::add;
}

OperationSort sort_of(const OperationGroup& group) {
  switch (group.operation.kind) {
    case OperationKind::bias:
      return group.has_relu ? OperationSort::bias_relu : OperationSort::bias;
    case OperationKind::relu:
      return OperationSort::relu;
    case OperationKind::lrn:
      return OperationSort::lrn;
    case OperationKind::pool:
      return OperationSort::pool;
    case OperationKind::mean:
      return OperationSort::mean;
    case OperationKind::batch_norm:
      return group.has_relu ? OperationSort::batch_norm_relu : OperationSort::batch_norm;
    case OperationKind::add:
      break;
  }
  return group.has_relu ? OperationSort::add_relu : OperationSort::add;
}

OperationProblem problem_of(const OperationGroup& group, const std::vector<StepTensor>& tensors,
                            bool forward) {
  OperationProblem problem{sort_of(group), !forward, tensors[group.input].shape};
  if (problem.is_pool()) problem.pool = group.operation;
  if (!forward && problem.is_addition()) problem.sort = OperationSort::relu;
  return problem;
}

// Fills in the tensors, groups and parameters of a program.
class Tensors {
 public:
  explicit Tensors(StepProgram& program) : program_(program) {}

  void add(const NetworkLayer& of) {
    LayerProgram layer;
    layer.input =
        of.begins_chain() ? add_tensor(input_shape(of.problem), of.needs_input_gradient) : read(of, layer);
    layer.first_parameter = program_.parameters;
    const int64_t biases = round_up(of.problem.elements(Role::filter), kLine);
    const int64_t scales = biases + round_up(of.problem.out_channels, kLine);
    layer.first_bias = layer.first_parameter + static_cast<size_t>(biases);
    layer.first_scale = layer.first_parameter + static_cast<size_t>(scales);
    const bool has_scales = has(of.after, OperationKind::batch_norm);
    const int64_t values = has_scales ? scales + 2 * of.problem.out_channels : scales;
    layer.parameters = static_cast<size_t>(round_up(values, kAligned));
    program_.parameters += layer.parameters;
    layer.convolved = add_tensor(convolved_shape(of.problem));
    auto added = of.added.begin();
    for (const LayerOperation& operation : of.after) {
      const size_t addend = operation.kind == OperationKind::add ? program_.layers[*added++].output() : 0;
      add_operation(operation, addend, layer);
    }
    program_.layers.push_back(std::move(layer));
  }

 private:
  size_t add_tensor(const Activations& shape, bool has_gradient = true) {
    program_.tensors.push_back({shape, has_gradient});
    return program_.tensors.size() - 1;
  }

  size_t add_tensor_behind(const LayerOperation& operation, size_t input) {
    const Activations in = program_.tensors[input].shape;
    const Extent2 image = operation.output({in.h, in.w});
    return add_tensor({in.n, in.c, image.h, image.w});
  }

  // The tensor that the layer reads; what no layer before it has made stands in front of this one.
  size_t read(const NetworkLayer& of, LayerProgram& layer) {
    std::vector<size_t> parts;
    for (size_t i = 0; i < of.reads.size(); ++i)
      parts.push_back(pooled(of.through[i], program_.layers[of.reads[i]].output(), layer));
    layer.groups_in_parts = layer.groups.size();
    size_t tensor = parts.front();
    if (parts.size() > 1) {
      const auto [known, is_new] = wholes_.try_emplace(parts);
      if (is_new) {
        Activations shape = program_.tensors[tensor].shape;
        shape.c = 0;
        for (size_t part : parts) shape.c += program_.tensors[part].shape.c;
        known->second = add_tensor(shape);
        layer.concatenation = Concatenation{parts, known->second};
      }
      tensor = known->second;
    }
    tensor = pooled(of.before, tensor, layer);
    layer.groups_before = layer.groups.size();
    return tensor;
  }

  // The tensor that pools make of one; those that are new stand in front of the layer.
  size_t pooled(const std::vector<LayerOperation>& pools, size_t tensor, LayerProgram& layer) {
    for (const LayerOperation& pool : pools) {
      const auto [known, is_new] = pooled_.try_emplace({tensor, pool});
      if (is_new) {
        OperationGroup group;
        group.operation = pool;
        group.label = to_text(pool);
        group.input = tensor;
        group.output = known->second = add_tensor_behind(pool, tensor);
        layer.groups.push_back(std::move(group));
      }
      tensor = known->second;
    }
    return tensor;
  }

  void add_operation(const LayerOperation& operation, size_t addend, LayerProgram& layer) {
    std::vector<OperationGroup>& groups = layer.groups;
    if (operation.kind == OperationKind::relu && !groups.empty() && takes_relu(groups.back())) {
      groups.back().has_relu = true;
      groups.back().label += "+" + to_text(operation);
      return;
    }
    OperationGroup group;
    group.operation = operation;
    group.label = to_text(operation);
    group.has_relu = operation.kind == OperationKind::relu;
    group.addend = addend;
    group.input = group.output = layer.output();
    const bool in_place =
        operation.kind == OperationKind::bias || operation.kind == OperationKind::relu ||
        (operation.kind == OperationKind::add && (groups.empty() || !keeps_output(groups.back())));
    if (!in_place) group.output = add_tensor_behind(operation, group.input);
    groups.push_back(std::move(group));
  }

  StepProgram& program_;
  std::map<std::vector<size_t>, size_t> wholes_;                // concatenations by their parts
  std::map<std::pair<size_t, LayerOperation>, size_t> pooled_;  // pools in front of layers
};

// Fills in the tasks. Backward keeps book of every tensor's gradient: the first that reads the tensor, a
// convolution, an operation or a concatenation, writes it; others write theirs into the scratch, from where
// it is added at once; an addition's is the gradient of its sum, which stays as it is until it is added
// before the tensor's own backward.
class Tasks {
 public:
  Tasks(const StepNetwork& network, StepProgram& program)
      : network_(network), program_(program), gradients_(program.tensors.size()) {}

  void add_all() {
    for (size_t i = 0; i < program_.layers.size(); ++i) add_forward(i);
    for (size_t i = 0; i < program_.layers.size(); ++i)
      if (network_.layers[i].ends_chain) {
        const size_t output = program_.layers[i].output();
        add({TaskKind::loss, i, "loss", 2 * bytes_of(program_.tensors[output].shape)});
        gradients_[output].is_there = true;
      }
    for (size_t i = program_.layers.size(); i-- > 0;) add_backward(i);
    for (size_t i = 0; i < program_.layers.size(); ++i) {
      const auto values = static_cast<int64_t>(program_.layers[i].parameters);
      add({TaskKind::update, i, "update"});
      program_.tasks.back().operation = OperationProblem{OperationSort::update, false, {1, 1, 1, values}};
    }
    for (StepTask& task : program_.tasks)
      for (const OperationProblem& operation : program_.operations_of(task))
        task.bytes += static_cast<double>(operation.bytes());
  }

 private:
  struct Gradient {
    bool is_there = false;
    std::vector<size_t> addends;  // tensors
  };

  void add(StepTask task) { program_.tasks.push_back(std::move(task)); }

  void add_convolution(size_t layer, TaskKind kind, Pass pass) {
    ConvProblem problem = network_.layers[layer].problem;
    problem.pass = pass;
    if (pass != Pass::forward) problem.epilogue = Epilogue::none;
    add({kind, layer, std::string(name(kind)), static_cast<double>(problem.total_bytes()), problem});
  }

  void add_group(size_t layer, size_t group, bool forward) {
    const OperationGroup& of = program_.layers[layer].groups[group];
    add({forward ? TaskKind::operation_forward : TaskKind::operation_backward, layer,
         forward ? of.label : of.label + " backward", 0, std::nullopt,
         problem_of(of, program_.tensors, forward), group});
  }

  void add_copies(size_t layer, TaskKind kind, std::vector<size_t> parts) {
    StepTask task{kind, layer, std::string(name(kind))};
    task.parts = std::move(parts);
    add(std::move(task));
  }

  void add_forward(size_t layer) {
    const LayerProgram& of = program_.layers[layer];
    for (size_t g = 0; g < of.groups_in_parts; ++g) add_group(layer, g, true);
    if (of.concatenation) {
      std::vector<size_t> all(of.concatenation->parts.size());
      std::iota(all.begin(), all.end(), size_t{0});
      add_copies(layer, TaskKind::concat, std::move(all));
    }
    for (size_t g = of.groups_in_parts; g < of.groups_before; ++g) add_group(layer, g, true);
    add_convolution(layer, TaskKind::forward, Pass::forward);
    const bool is_fused = network_.layers[layer].problem.epilogue != Epilogue::none;  // with the first group
    for (size_t g = of.groups_before + (is_fused ? 1 : 0); g < of.groups.size(); ++g)
      add_group(layer, g, true);
  }

  void add_addend(size_t layer, size_t tensor, std::optional<size_t> addend) {
    Gradient& gradient = gradients_[tensor];
    StepTask task{TaskKind::add_gradient, layer, gradient.is_there ? "add gradient" : "copy gradient"};
    task.tensor = tensor;
    task.addend = addend;
    task.operation = OperationProblem{gradient.is_there ? OperationSort::add : OperationSort::copy, false,
                                      program_.tensors[tensor].shape};
    add(std::move(task));
    gradient.is_there = true;
  }

  // All that read the tensor are behind it in the program, and so have had their backward.
  void complete_gradient(size_t layer, size_t tensor) {
    for (size_t addend : std::exchange(gradients_[tensor].addends, {})) add_addend(layer, tensor, addend);
  }

  // Of the task that was added last, which gives a gradient of the tensor.
  void book_gradient(size_t layer, size_t tensor) {
    Gradient& gradient = gradients_[tensor];
    program_.tasks.back().into_scratch = gradient.is_there;
    if (gradient.is_there) {
      program_.scratch_values = std::max(program_.scratch_values, program_.tensors[tensor].shape.elements());
      add_addend(layer, tensor, std::nullopt);
    }
    gradient.is_there = true;
  }

  // Parts that have no gradient get theirs at once, each other one by way of the scratch.
  void add_split(size_t layer) {
    const std::vector<size_t>& parts = program_.layers[layer].concatenation->parts;
    std::vector<size_t> written, added;
    for (size_t part = 0; part < parts.size(); ++part)
      (gradients_[parts[part]].is_there ? added : written).push_back(part);
    for (size_t part : written) gradients_[parts[part]].is_there = true;
    if (!written.empty()) add_copies(layer, TaskKind::split, std::move(written));
    for (size_t part : added) {
      add_copies(layer, TaskKind::split, {part});
      book_gradient(layer, parts[part]);
    }
  }

  void add_backward(size_t layer) {
    const LayerProgram& of = program_.layers[layer];
    for (size_t g = of.groups.size(); g-- > of.groups_before;) {
      const OperationGroup& group = of.groups[g];
      complete_gradient(layer, group.output);
      const bool is_addition = group.operation.kind == OperationKind::add;
      if (!is_addition || group.has_relu) add_group(layer, g, false);
      if (is_addition) gradients_[group.addend].addends.push_back(group.output);
      if (group.input == group.output) continue;
      if (is_addition)
        gradients_[group.input].addends.push_back(group.output);
      else
        gradients_[group.input].is_there = true;
    }
    complete_gradient(layer, of.convolved);
    add_convolution(layer, TaskKind::backward_filter, Pass::backward_filter);
    if (!network_.layers[layer].needs_input_gradient) return;
    add_convolution(layer, TaskKind::backward_data, Pass::backward_data);
    book_gradient(layer, of.input);
    // All that read what this layer made are behind it, and so have had their backward.
    for (size_t g = of.groups_before; g-- > of.groups_in_parts;) add_pool_backward(layer, g);
    if (of.concatenation) add_split(layer);
    for (size_t g = of.groups_in_parts; g-- > 0;) add_pool_backward(layer, g);
  }

  // Of a pool of what layers read.
  void add_pool_backward(size_t layer, size_t group) {
    add_group(layer, group, false);
    book_gradient(layer, program_.layers[layer].groups[group].input);
  }

  const StepNetwork& network_;
  StepProgram& program_;
  std::vector<Gradient> gradients_;  // by tensor
};

}  // namespace

std::string_view name(TaskKind kind) {
  constexpr std::string_view names[] = {"forward",
                                        "backward_data",
                                        "backward_filter",
                                        "operation_forward",
                                        "operation_backward",
                                        "concat",
                                        "split",
                                        "add_gradient",
                                        "loss",
                                        "update"};
  return names[static_cast<size_t>(kind)];
}

StepProgram::StepProgram(const StepNetwork& network) {
  Tensors all(*this);
  for (const NetworkLayer& layer : network.layers) all.add(layer);
  Tasks(network, *this).add_all();
}

int64_t StepProgram::bytes() const {
  int64_t values = 3 * static_cast<int64_t>(parameters) + scratch_values;
  for (const StepTensor& tensor : tensors) values += (tensor.has_gradient ? 2 : 1) * tensor.shape.elements();
  return kFloat * values;
}

std::vector<OperationProblem> StepProgram::operations_of(const StepTask& task) const {
  std::vector<OperationProblem> problems;
  const auto add_copy = [&](size_t tensor) {
    problems.push_back({OperationSort::copy, false, tensors[tensor].shape, {}});
  };
  const LayerProgram& layer = layers[task.layer];
  for (const size_t part : task.parts) add_copy(layer.concatenation->parts[part]);
  if (task.kind == TaskKind::operation_forward && task.operation->is_addition() &&
      layer.groups[task.group].input != layer.groups[task.group].output)
    add_copy(layer.groups[task.group].input);
  if (task.operation) problems.push_back(*task.operation);
  return problems;
}

}  // namespace convscope

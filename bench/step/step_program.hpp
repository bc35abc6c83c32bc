// StepProgram: what a training step of a network does, before any memory is there: its tensors, where each
// layer's parameters are, and the tasks in the order in which they run: forward, the losses, backward from
// the last layer, the update. FP32 in nchw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/core/operation_problem.hpp"
#include "bench/step/network.hpp"

namespace convscope {

enum class TaskKind {
  forward,
  backward_data,
  backward_filter,
  operation_forward,
  operation_backward,
  concat,        // outputs are copied behind one another, along channels, into a tensor that layers read
  split,         // its gradient is copied to theirs
  add_gradient,  // of a tensor that several read
  loss,
  update
};
std::string_view name(TaskKind);

struct StepTask {
  TaskKind kind;
  size_t layer;
  std::string label;  // "backward_data", "bias+relu", "pool 3x3/2 backward", "concat", "add gradient", "loss"
  double bytes = 0;   // read and written at least, each tensor once
  std::optional<ConvProblem> problem{};  // of a convolution, with its pass
  // Of an operation, an update, and add_gradient, whose addend is copied where no gradient is there yet.
  std::optional<OperationProblem> operation{};
  size_t group = 0;   // of an operation
  size_t tensor = 0;  // whose gradient gets another addend
  // Of add_gradient: the tensor whose gradient is the addend; none: what backward_data left in the scratch.
  std::optional<size_t> addend{};
  // Of what gives a gradient, backward_data, split and a pool's backward: there is one already.
  bool into_scratch = false;
  std::vector<size_t> parts{};  // of concat and split: which of the concatenation's
};

// Neighbours among the operations that are one pass.
struct OperationGroup {
  LayerOperation operation;  // the first of them
  bool has_relu = false;
  size_t input = 0, output = 0;  // tensors; the same where it is in place
  size_t addend = 0;             // tensor, of an addition; one that is not in place begins with a copy
  std::string label;
};

// Tensors behind one another along channels.
struct Concatenation {
  std::vector<size_t> parts;
  size_t whole = 0;
};

// A layer's parameters are its filter, a bias for each channel, and where it has batch normalisation a scale
// for each and a shift for each; each of them begins on a cache line, and so does the next layer's.
struct LayerProgram {
  size_t input = 0, convolved = 0;  // tensors
  size_t first_parameter = 0, first_bias = 0, first_scale = 0, parameters = 0;
  // What layers read is made in front of the first of them, and shared by all that read the same.
  std::optional<Concatenation> concatenation;
  std::vector<OperationGroup> groups;
  // Of those, how many stand in front of the concatenation, and in front of the convolution.
  size_t groups_in_parts = 0, groups_before = 0;
  size_t output() const { return groups.size() == groups_before ? convolved : groups.back().output; }
};

struct StepTensor {
  Activations shape;
  bool has_gradient = true;
};

struct StepProgram {
  explicit StepProgram(const StepNetwork& network);

  std::vector<StepTensor> tensors;
  std::vector<LayerProgram> layers;
  std::vector<StepTask> tasks;
  size_t parameters = 0;       // of all layers
  int64_t scratch_values = 0;  // for gradients that are added to others

  // Of tensors, gradients, parameters with theirs and velocities, and the scratch. What operations keep is
  // not in it.
  int64_t bytes() const;
  // What the task comes to besides a convolution and the loss: its operation, behind a copy where that is a
  // sum that is not in place; of concat and split a copy of each part.
  std::vector<OperationProblem> operations_of(const StepTask&) const;
};

}  // namespace convscope

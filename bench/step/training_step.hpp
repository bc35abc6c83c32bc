// TrainingStep: a network's tensors and the tasks of one training step on them, in the order of a program:
// forward, the losses, backward from the last layer, the update. A task runs by itself, so that whoever
// measures decides what stands between two of them. Convolutions run by the plan that is given; all else is
// operations.hpp's. CPU, FP32, nchw.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/device/buffer.hpp"
#include "bench/step/network.hpp"

namespace convscope {

enum class TaskKind {
  forward,
  backward_data,
  backward_filter,
  operation_forward,
  operation_backward,
  loss,
  update
};
inline constexpr auto kTaskKinds = enumerators<TaskKind::update>();
std::string_view name(TaskKind);

struct StepTask {
  TaskKind kind;
  size_t layer;
  std::string label;  // "backward_data", "bias+relu", "pool 3x3/2 backward", "loss", "update"
  std::optional<ConvProblem> problem;  // of a convolution, with its pass
  double bytes = 0;                    // read and written at least, each tensor once
};

class TrainingStep {
 public:
  // Allocates everything but workspaces; filters are drawn by He's rule, biases close to zero, images and
  // labels at random. Images and labels are those from `first_image` on of all that the seed stands for, so
  // that ranks have different ones of the same batch. Throws std::bad_alloc.
  TrainingStep(StepNetwork network, Device& device, uint64_t seed, int64_t first_image = 0);

  // Bytes that the constructor allocates.
  static int64_t bytes_needed(const StepNetwork& network);

  const StepNetwork& network() const { return network_; }
  std::span<const StepTask> tasks() const { return tasks_; }
  // Runs one task: a convolution by its plan (prepare, as the filter changes every step, then run) with this
  // workspace; of others both are ignored.
  void run(size_t task, Plan* plan, void* workspace, Queue& queue);
  // The tensors of a convolution's task.
  ConvArgs args(size_t task, void* workspace) const;

  // The tensors that a task reads and writes; a convolution's workspace is not among them.
  std::vector<std::span<const std::byte>> memory_of(size_t task) const;

  // The sum of all chains' losses that the last loss tasks computed.
  double loss() const;
  UpdateRule& rule() { return rule_; }
  // Of all layers, one after the other, filter then bias; spaces between layers are 0.
  std::span<float> parameters() { return {parameters_.as<float>(), parameter_count_}; }
  std::span<float> gradients() { return {gradients_.as<float>(), parameter_count_}; }
  std::span<const float> gradients() const { return {gradients_.as<float>(), parameter_count_}; }
  // Where a layer's parameters begin, and how many they are.
  std::pair<size_t, size_t> parameters_of(size_t layer) const;

 private:
  struct Tensor {
    Activations shape;
    Buffer value, gradient;
  };
  // Neighbours among the operations that are one pass, and what backward needs of them.
  struct OperationGroup {
    LayerOperation operation;  // relu for any of bias and ReLU
    bool has_bias = false, has_relu = false;
    size_t input = 0, output = 0;  // tensors; the same where it is in place
    Buffer kept;                   // a pool's winners, a normalisation's scale
    std::string label;
  };
  struct LayerState {
    size_t input = 0, convolved = 0;  // tensors
    size_t first_parameter = 0, first_bias = 0;
    std::vector<OperationGroup> groups;
    std::vector<int32_t> labels;
    double loss = 0;
  };

  size_t add_tensor(const Activations& shape, bool has_gradient = true);
  void add_layer(const NetworkLayer& layer, size_t input, uint64_t seed);
  void add_tasks();
  void add_convolution(size_t layer, Pass pass);
  void run_group(OperationGroup& group, const LayerState& layer, bool forward);

  StepNetwork network_;
  Device& device_;
  std::vector<Tensor> tensors_;
  std::vector<LayerState> layers_;
  std::vector<StepTask> tasks_;
  std::vector<size_t> group_of_task_;
  size_t parameter_count_ = 0;
  Buffer parameters_, gradients_, velocities_;
  UpdateRule rule_;
};

}  // namespace convscope

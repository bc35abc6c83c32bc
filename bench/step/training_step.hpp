// TrainingStep: the memory of a network's step and its tasks on it (step_program.hpp). A task runs by itself,
// so that whoever measures decides what stands between two of them. Convolutions run by the plan that is
// given; all else is operations.hpp's. CPU, FP32, nchw.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/device/buffer.hpp"
#include "bench/step/step_program.hpp"

namespace convscope {

class TrainingStep {
 public:
  // Allocates everything but workspaces; filters are drawn by He's rule, biases and shifts close to zero,
  // scales close to one, images and labels at random. Images and labels are those from `first_image` on of
  // all that the seed stands for, so that ranks have different ones of the same batch. Throws std::bad_alloc.
  TrainingStep(StepNetwork network, Device& device, uint64_t seed, int64_t first_image = 0);

  // Bytes that the constructor allocates.
  static int64_t bytes_needed(const StepNetwork& network) { return StepProgram(network).bytes(); }

  const StepNetwork& network() const { return network_; }
  std::span<const StepTask> tasks() const { return program_.tasks; }
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
  // Of all layers, one after the other: filter, bias, scales and shifts; spaces between layers are 0.
  std::span<float> parameters() { return {parameters_.as<float>(), program_.parameters}; }
  std::span<float> gradients() { return {gradients_.as<float>(), program_.parameters}; }
  std::span<const float> gradients() const { return {gradients_.as<float>(), program_.parameters}; }
  // Where a layer's parameters begin, and how many they are.
  std::pair<size_t, size_t> parameters_of(size_t layer) const;

 private:
  struct Tensor {
    Activations shape;
    Buffer value, gradient;
  };
  struct LayerState {
    std::vector<Buffer> kept;  // of each group
    std::vector<int32_t> labels;
    double loss = 0;
  };

  void draw(size_t layer, uint64_t seed, int64_t first_image);
  void run_group(const OperationGroup& group, size_t layer, bool forward);
  void add_gradient(const StepTask& task);

  StepNetwork network_;
  StepProgram program_;
  std::vector<Tensor> tensors_;
  std::vector<LayerState> layers_;
  Buffer parameters_, gradients_, velocities_, scratch_;
  UpdateRule rule_;
};

}  // namespace convscope

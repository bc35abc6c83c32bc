// TrainingStep: the memory of a network's step on a device and its tasks on it (step_program.hpp). A task
// runs by itself, so that whoever measures decides what stands between two of them. Convolutions run by the
// plan that is given; all else is our own (bench/operation). FP32, nchw.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/algorithm/operation_algorithm.hpp"
#include "bench/device/buffer.hpp"
#include "bench/step/step_program.hpp"

namespace convscope {

// The plans of a program's operations on a device.
struct PlannedOperations {
  // The device outlives it. Throws std::runtime_error where a shape is too large for our operations.
  PlannedOperations(const StepProgram& program, Device& device);

  std::vector<std::unique_ptr<OperationPlan>> plans;  // by task; null where it is no operation
  std::vector<std::vector<int64_t>> kept_bytes;       // by layer and group: what forward keeps for backward
};

class TrainingStep {
 public:
  // Allocates everything but workspaces; filters are drawn by He's rule, biases and shifts close to zero,
  // scales close to one, images and labels at random. Images and labels are those from `first_image` on of
  // all that the seed stands for, so that ranks have different ones of the same batch. The device outlives
  // it. Throws std::bad_alloc, and std::runtime_error where a shape is too large for our operations.
  TrainingStep(StepNetwork network, Device& device, uint64_t seed, int64_t first_image = 0);

  // Bytes that the constructor allocates, but for images' labels and losses.
  static int64_t bytes_needed(const StepNetwork& network, Device& device);
  int64_t bytes() const;  // those of this one
  // Whether a step of so many bytes leaves a quarter of the memory for workspaces.
  static bool leaves_room(int64_t bytes, int64_t memory) { return bytes <= memory / 4 * 3; }

  const StepNetwork& network() const { return network_; }
  const StepProgram& program() const { return program_; }
  std::span<const StepTask> tasks() const { return program_.tasks; }
  // Enqueues one task: a convolution by its plan (prepare, as the filter changes every step, then run) with
  // this workspace; of others both are ignored. On the CPU it is done when the call returns.
  void run(size_t task, Plan* plan, void* workspace, Queue& queue);
  // The tensors of a convolution's task.
  ConvArgs args(size_t task, void* workspace) const;

  // The tensors that a task reads and writes; a convolution's workspace is not among them.
  std::vector<std::span<const std::byte>> memory_of(size_t task) const;

  // The sum of all chains' losses that the last loss tasks computed. Like all that reads: of a queue that was
  // waited for.
  double loss() const;
  // Of all layers, one after the other: filter, bias, scales and shifts; what lies between them is 0. In the
  // device's memory, so that only a CPU's can be looked at here.
  std::span<float> gradients() { return {gradients_.as<float>(), program_.parameters}; }
  std::span<const float> gradients() const { return {gradients_.as<float>(), program_.parameters}; }
  // The same, and the parameters, as the host sees them, on any device.
  std::vector<float> read_parameters() const { return values_of(parameters_); }
  std::vector<float> read_gradients() const { return values_of(gradients_); }
  void write_parameters(std::span<const float> all) { parameters_.upload(all.data(), all.size_bytes()); }
  void write_gradients(std::span<const float> all) { gradients_.upload(all.data(), all.size_bytes()); }
  // Where a layer's parameters begin, and how many they are.
  std::pair<size_t, size_t> parameters_of(size_t layer) const;

 private:
  struct Tensor {
    Activations shape;
    Buffer value, gradient;
  };
  static std::vector<float> values_of(const Buffer& buffer);
  struct LayerState {
    std::vector<Buffer> kept;  // of each group
    Buffer labels, losses;     // of the images, where it ends a chain
  };

  void draw(size_t layer, uint64_t seed, int64_t first_image);
  // What a tensor of an operation's task is, null where the task has none of the sort.
  float* operand(const StepTask& task, Slot slot) const;
  void run_operation(size_t task, Queue& queue);
  void copy_parts(const StepTask& task, Queue& queue);
  void run_loss(const StepTask& task, Queue& queue);

  Device& device_;
  StepNetwork network_;
  StepProgram program_;
  std::vector<Tensor> tensors_;
  std::vector<LayerState> layers_;
  PlannedOperations operations_;
  Buffer parameters_, gradients_, velocities_, scratch_;
};

}  // namespace convscope

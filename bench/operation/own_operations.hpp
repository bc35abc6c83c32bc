// Our operations behind the contract of bench/algorithm/operation_algorithm.hpp: operations.hpp on the CPU,
// cuda/device_operations.hpp on GPUs and the emulator.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/algorithm/operation_algorithm.hpp"

namespace convscope {

std::unique_ptr<OperationAlgorithm> own_operations();

// softmax_loss() of operations.hpp, enqueued, on tensors of the device of this kind.
void enqueue_softmax_loss(DeviceKind kind, const Activations& shape, const float* x, const int32_t* labels,
                          double* losses, float* dx, Queue& queue);

}  // namespace convscope

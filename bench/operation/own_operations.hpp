// Our operations behind the contract of bench/algorithm/operation_algorithm.hpp: operations.hpp on the CPU,
// cuda/device_operations.hpp on GPUs and the emulator.
#pragma once

#include <memory>

#include "bench/algorithm/operation_algorithm.hpp"

namespace convscope {

std::unique_ptr<OperationAlgorithm> own_operations();

}  // namespace convscope

// operations.hpp behind the contract of bench/algorithm/operation_algorithm.hpp.
#pragma once

#include <memory>

#include "bench/algorithm/operation_algorithm.hpp"

namespace convscope {

std::unique_ptr<OperationAlgorithm> own_operations();

}  // namespace convscope

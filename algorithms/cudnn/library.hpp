// What the variants need from cuDNN. backend/ implements it where the build has cuDNN's headers
// and CUDA, unavailable/ elsewhere; CMake picks one of them, and nothing outside backend/ includes a header
// of cuDNN. The library itself is loaded at run time, when a variant first needs it.
#pragma once

#include <memory>
#include <string>

#include "algorithms/cudnn/variants.hpp"
#include "bench/algorithm/algorithm.hpp"
#include "bench/algorithm/operation_algorithm.hpp"

namespace convscope::cudnn {

// Why cuDNN cannot be used here; empty where it can.
std::string unusable_because();

// "9.19.0"; empty where there is no cuDNN or no GPU to use it on, which saves loading it.
std::string version();

// Asks cuDNN, with its time and its words in the plan's answer(). Throws Refused where it takes the problem
// in no way that the variant allows, std::bad_alloc, or DeviceError with its words.
std::unique_ptr<Plan> make_plan(const Variant& variant, const ConvProblem& problem, Device& device,
                                const PlanOptions& options);

// One of the operations between convolutions but the update, by the legacy API's functions. Throws Refused
// where cuDNN does not take it, std::bad_alloc, or DeviceError with its words.
std::unique_ptr<OperationPlan> make_operation_plan(const OperationProblem& problem);

}  // namespace convscope::cudnn

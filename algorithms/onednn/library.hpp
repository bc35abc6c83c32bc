// What the variants need from oneDNN. backend/ implements it with the library, unavailable/
// without, and CMake picks one of them; nothing outside backend/ includes a header of oneDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/algorithm/algorithm.hpp"

namespace convscope::onednn {

// Which of oneDNN's convolutions a variant asks for.
enum class Method { automatic, direct, winograd, gemm };

// Version and threading runtime, "2.6.3 OpenMP"; empty when oneDNN is missing.
std::string version();

// Asks oneDNN for an implementation, without memory or code generation. FP32, NCHW or NHWC only.
Support supports(Method method, const ConvProblem& problem);

// Throws std::bad_alloc or std::runtime_error with oneDNN's own words. The plan is for the number of OpenMP
// threads that is set when it is made.
std::unique_ptr<Plan> make_plan(Method method, const ConvProblem& problem);

}  // namespace convscope::onednn

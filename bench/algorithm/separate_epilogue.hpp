// An algorithm that stores its sums as they are, and then applies the epilogue in a pass of its own over the
// output: what a program does that calls a convolution and then an activation. The fused form of the same
// algorithm, where it has one, saves reading and writing the output once more.
#pragma once

#include <memory>
#include <string>

#include "bench/algorithm/algorithm.hpp"

namespace convscope {

// "direct.separate.cpu" of "direct.cpu".
std::string separate_id(const std::string& id);

// For tensors of f32, on every device that the algorithm runs on; `algorithm` outlives the result.
std::unique_ptr<Algorithm> with_separate_epilogue(const Algorithm& algorithm);

}  // namespace convscope

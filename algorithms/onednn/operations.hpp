// oneDNN's own kernels of what stands between convolutions. backend/ implements it with the library,
// unavailable/ without.
#pragma once

#include <memory>

#include "bench/algorithm/operation_algorithm.hpp"

namespace convscope::onednn {

// Bias by its binary addition, with ReLU as a post-operation where both are asked for; ReLU, pooling of both
// sorts, local response normalisation; the bias's gradient by its reduction. There is no update. On the
// user's own nchw.
std::unique_ptr<OperationAlgorithm> operations();

}  // namespace convscope::onednn

// cuDNN's own kernels of what stands between convolutions, as its legacy API has them.
#pragma once

#include <memory>

#include "bench/algorithm/operation_algorithm.hpp"

namespace convscope::cudnn {

// Bias by cudnnAddTensor, its gradient by cudnnConvolutionBackwardBias; ReLU, pooling and local response
// normalisation by the functions of those names. Bias and ReLU are a pass each; there is no update. In nchw,
// on CUDA devices.
std::unique_ptr<OperationAlgorithm> operations();

}  // namespace convscope::cudnn

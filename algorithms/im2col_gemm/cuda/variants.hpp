// The CUDA rows of this folder, im2col_gemm.cuda and im2col_gemm.cublas.cuda. Their plan is in
// device_plan.cu.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

void add_im2col_gemm_cuda(Registry& registry);

}  // namespace convscope

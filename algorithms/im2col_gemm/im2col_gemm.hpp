// Registers the variants of this folder: im2col_gemm.cpu and .packed.cpu, im2col_gemm.cuda and .cublas.cuda.
// See README.md.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

void add_im2col_gemm(Registry& registry);

// Those of CUDA alone; the above adds them too.
void add_im2col_gemm_cuda(Registry& registry);

}  // namespace convscope

// The functions that launch the Hopper kernels and those that repack for them: once for the GPU (namespace
// cuda, in builds with CUDA) and once for the emulator. They enqueue and return.
#pragma once

#include "algorithms/implicit_gemm/cuda/boxed_gradient.hpp"
#include "algorithms/implicit_gemm/cuda/boxed_product.hpp"
#include "algorithms/implicit_gemm/cuda/product.hpp"
#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope {
CONVSCOPE_IN_BOTH(void implicit_gemm_hopper(const implicit_gemm::BoxedProduct&, const implicit_gemm::Tensors&,
                                            Queue&);
                  // D, or with more than one split the partial sums.
                  void implicit_gemm_hopper_filter(const implicit_gemm::BoxedGradient&,
                                                   const implicit_gemm::Tensors&, Queue&);
                  void implicit_gemm_repack(const implicit_gemm::Repack&, const void* from, void* to, Queue&);
                  void implicit_gemm_pack_lines(const implicit_gemm::LinePack&, const void* from, void* to,
                                                Queue&);)
}  // namespace convscope

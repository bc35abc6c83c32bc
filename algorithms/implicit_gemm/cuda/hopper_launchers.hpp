// What the Hopper kernels are launched with. The functions exist once for the GPU (namespace cuda, in builds
// with CUDA) and once for the emulator; they enqueue and return.
#pragma once

#include "algorithms/implicit_gemm/cuda/boxed_gradient.hpp"
#include "algorithms/implicit_gemm/cuda/boxed_product.hpp"
#include "algorithms/implicit_gemm/cuda/product.hpp"
#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope::implicit_gemm {

struct HopperLaunchers {
  void (*multiply)(const BoxedProduct&, const Tensors&, Queue&) = nullptr;
  // D, or with more than one split the partial sums.
  void (*multiply_pixels)(const BoxedGradient&, const Tensors&, Queue&) = nullptr;
  void (*add_partials)(const Product&, const Tensors&, Queue&) = nullptr;
  void (*repack)(const Repack&, const void* from, void* to, Queue&) = nullptr;
  void (*pack_lines)(const LinePack&, const void* from, void* to, Queue&) = nullptr;
};
// Of the device that the queue will be of: cuda or the emulator.
HopperLaunchers hopper_launchers(DeviceKind kind);

}  // namespace convscope::implicit_gemm

namespace convscope {
CONVSCOPE_IN_BOTH(void implicit_gemm_hopper(const implicit_gemm::BoxedProduct&, const implicit_gemm::Tensors&,
                                            Queue&);
                  void implicit_gemm_hopper_filter(const implicit_gemm::BoxedGradient&,
                                                   const implicit_gemm::Tensors&, Queue&);
                  void implicit_gemm_repack(const implicit_gemm::Repack&, const void* from, void* to, Queue&);
                  void implicit_gemm_pack_lines(const implicit_gemm::LinePack&, const void* from, void* to,
                                                Queue&);)
}  // namespace convscope

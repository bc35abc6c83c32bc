// Which build of the kernels a device gets: nvcc's or the emulator's.
#include "algorithms/implicit_gemm/cuda/hopper_launchers.hpp"
#include "algorithms/implicit_gemm/cuda/product.hpp"

namespace convscope::implicit_gemm {

Launchers simt_launchers(DeviceKind kind) {
  return {CONVSCOPE_BUILDS(implicit_gemm_simt).of(kind),
          CONVSCOPE_BUILDS(implicit_gemm_add_partials).of(kind)};
}

Launchers tensor_launchers(DeviceKind kind) {
  return {CONVSCOPE_BUILDS(implicit_gemm_tensor).of(kind),
          CONVSCOPE_BUILDS(implicit_gemm_add_partials).of(kind)};
}

HopperLaunchers hopper_launchers(DeviceKind kind) {
  return {
      CONVSCOPE_BUILDS(implicit_gemm_hopper).of(kind), CONVSCOPE_BUILDS(implicit_gemm_hopper_filter).of(kind),
      CONVSCOPE_BUILDS(implicit_gemm_add_partials).of(kind), CONVSCOPE_BUILDS(implicit_gemm_repack).of(kind),
      CONVSCOPE_BUILDS(implicit_gemm_pack_lines).of(kind)};
}

}  // namespace convscope::implicit_gemm

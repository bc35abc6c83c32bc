// Which build of the kernels a device gets: nvcc's or the emulator's.
#include <stdexcept>

#include "algorithms/implicit_gemm/product.hpp"

namespace convscope::implicit_gemm {

Launchers simt_launchers(DeviceKind kind) {
  if (kind == DeviceKind::emulator)
    return {emulated::implicit_gemm_simt, emulated::implicit_gemm_add_partials};
#if defined(CONVSCOPE_HAS_CUDA)
  if (kind == DeviceKind::cuda) return {cuda::implicit_gemm_simt, cuda::implicit_gemm_add_partials};
#endif
  throw std::invalid_argument("implicit GEMM: this build has no kernels for device " +
                              std::string(name(kind)));
}

}  // namespace convscope::implicit_gemm

// Which build of the kernels a device gets: nvcc's or the emulator's.
#include <stdexcept>

#include "algorithms/implicit_gemm/product.hpp"

namespace convscope::implicit_gemm {
namespace {

Launchers choose(DeviceKind kind, const Launchers& emulator, const Launchers& gpu) {
  if (kind == DeviceKind::emulator) return emulator;
  if (kind == DeviceKind::cuda && gpu.multiply) return gpu;
  throw std::invalid_argument("implicit GEMM: this build has no kernels for device " +
                              std::string(name(kind)));
}

}  // namespace

#if defined(CONVSCOPE_HAS_CUDA)
constexpr Launchers kGpuSimt{cuda::implicit_gemm_simt, cuda::implicit_gemm_add_partials};
constexpr Launchers kGpuTensor{cuda::implicit_gemm_tensor, cuda::implicit_gemm_add_partials};
#else
constexpr Launchers kGpuSimt{}, kGpuTensor{};
#endif

Launchers simt_launchers(DeviceKind kind) {
  return choose(kind, {emulated::implicit_gemm_simt, emulated::implicit_gemm_add_partials}, kGpuSimt);
}

Launchers tensor_launchers(DeviceKind kind) {
  return choose(kind, {emulated::implicit_gemm_tensor, emulated::implicit_gemm_add_partials}, kGpuTensor);
}

}  // namespace convscope::implicit_gemm

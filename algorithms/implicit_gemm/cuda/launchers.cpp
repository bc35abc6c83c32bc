// Which build of the kernels a device gets: nvcc's or the emulator's.
#include <stdexcept>

#include "algorithms/implicit_gemm/cuda/hopper_launchers.hpp"
#include "algorithms/implicit_gemm/cuda/product.hpp"

namespace convscope::implicit_gemm {
namespace {

template <typename Kernels>
Kernels choose(DeviceKind kind, const Kernels& emulator, const Kernels& gpu) {
  if (kind == DeviceKind::emulator) return emulator;
  if (kind == DeviceKind::cuda && gpu.multiply) return gpu;
  throw std::invalid_argument("implicit GEMM: this build has no kernels for device " +
                              std::string(name(kind)));
}

}  // namespace

#if defined(CONVSCOPE_HAS_CUDA)
constexpr Launchers kGpuSimt{cuda::implicit_gemm_simt, cuda::implicit_gemm_add_partials};
constexpr Launchers kGpuTensor{cuda::implicit_gemm_tensor, cuda::implicit_gemm_add_partials};
constexpr HopperLaunchers kGpuHopper{cuda::implicit_gemm_hopper, cuda::implicit_gemm_hopper_filter,
                                     cuda::implicit_gemm_add_partials, cuda::implicit_gemm_repack};
#else
constexpr Launchers kGpuSimt{}, kGpuTensor{};
constexpr HopperLaunchers kGpuHopper{};
#endif

Launchers simt_launchers(DeviceKind kind) {
  return choose<Launchers>(kind, {emulated::implicit_gemm_simt, emulated::implicit_gemm_add_partials},
                           kGpuSimt);
}

Launchers tensor_launchers(DeviceKind kind) {
  return choose<Launchers>(kind, {emulated::implicit_gemm_tensor, emulated::implicit_gemm_add_partials},
                           kGpuTensor);
}

HopperLaunchers hopper_launchers(DeviceKind kind) {
  return choose<HopperLaunchers>(kind,
                                 {emulated::implicit_gemm_hopper, emulated::implicit_gemm_hopper_filter,
                                  emulated::implicit_gemm_add_partials, emulated::implicit_gemm_repack},
                                 kGpuHopper);
}

}  // namespace convscope::implicit_gemm

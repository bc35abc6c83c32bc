// Which build of the kernels a device gets: nvcc's or the emulator's. Without nvcc the only CUDA device is
// the stand-in's, which runs the emulator's.
#include "algorithms/implicit_gemm/cuda/hopper_launchers.hpp"
#include "algorithms/implicit_gemm/cuda/product.hpp"

namespace convscope::implicit_gemm {
namespace {

constexpr Launchers kEmulatedSimt{emulated::implicit_gemm_simt, emulated::implicit_gemm_add_partials};
constexpr Launchers kEmulatedTensor{emulated::implicit_gemm_tensor, emulated::implicit_gemm_add_partials};
constexpr HopperLaunchers kEmulatedHopper{
    emulated::implicit_gemm_hopper, emulated::implicit_gemm_hopper_filter,
    emulated::implicit_gemm_add_partials, emulated::implicit_gemm_repack, emulated::implicit_gemm_pack_lines};

#if defined(CONVSCOPE_HAS_CUDA)
constexpr Launchers kGpuSimt{cuda::implicit_gemm_simt, cuda::implicit_gemm_add_partials};
constexpr Launchers kGpuTensor{cuda::implicit_gemm_tensor, cuda::implicit_gemm_add_partials};
constexpr HopperLaunchers kGpuHopper{cuda::implicit_gemm_hopper, cuda::implicit_gemm_hopper_filter,
                                     cuda::implicit_gemm_add_partials, cuda::implicit_gemm_repack,
                                     cuda::implicit_gemm_pack_lines};
#else
constexpr const Launchers &kGpuSimt = kEmulatedSimt, &kGpuTensor = kEmulatedTensor;
constexpr const HopperLaunchers& kGpuHopper = kEmulatedHopper;
#endif

}  // namespace

Launchers simt_launchers(DeviceKind kind) {
  return kind == DeviceKind::cuda ? kGpuSimt : kEmulatedSimt;
}

Launchers tensor_launchers(DeviceKind kind) {
  return kind == DeviceKind::cuda ? kGpuTensor : kEmulatedTensor;
}

HopperLaunchers hopper_launchers(DeviceKind kind) {
  return kind == DeviceKind::cuda ? kGpuHopper : kEmulatedHopper;
}

}  // namespace convscope::implicit_gemm

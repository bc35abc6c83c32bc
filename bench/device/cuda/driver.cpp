#include "bench/device/cuda/driver.hpp"

#include <fmt/format.h>

#include "bench/device/cpu/system_files.hpp"
#include "bench/device/cuda/shared_library.hpp"

namespace convscope::cuda {
namespace {

constexpr const char* kModuleVersion = "/sys/module/nvidia/version";

std::string version_text(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

DriverState look_for_driver() {
  DriverState state;
  state.code = cudaGetDeviceCount(&state.devices);
  if (state.code != cudaSuccess) state.devices = 0;
  cudaGetLastError();  // the runtime keeps an error until it is asked
  if (state.code == cudaSuccess && state.devices > 0) return state;
  if (cudaDriverGetVersion(&state.driver_version) != cudaSuccess) state.driver_version = 0;
  cudaGetLastError();
  state.release = first_line(kModuleVersion);
  if (state.driver_version > 0) return state;
  state.library = SharedLibrary({"libcuda.so.1"}, "").defect();
  if (state.library.empty()) state.library = "libcuda.so.1 does not tell its version";
  return state;
}

std::string driver_defect(const DriverState& state) {
  if (state.code == cudaSuccess && state.devices > 0) return "";
  const cudaError_t code = state.code == cudaSuccess ? cudaErrorNoDevice : state.code;
  const std::string words = fmt::format("{} ({})", cudaGetErrorString(code), cudaGetErrorName(code));
  if (state.driver_version == 0 && state.release.empty())
    return fmt::format("there is no NVIDIA driver: {}, and its kernel module has no {}; the runtime says: {}",
                       state.library, kModuleVersion, words);
  if (state.driver_version == 0)
    return fmt::format(
        "the NVIDIA driver {} is loaded, but {} (a container must be given the driver's libraries); the "
        "runtime says: {}",
        state.release, state.library, words);
  const std::string release = state.release.empty() ? "" : " " + state.release;
  if (state.driver_version < CUDART_VERSION && code == cudaErrorInsufficientDriver)
    return fmt::format(
        "the NVIDIA driver is too old: this program needs {}, the driver{} supports {}; the runtime says: {}",
        version_text(CUDART_VERSION), release, version_text(state.driver_version), words);
  if (code == cudaErrorNoDevice)
    return fmt::format("the NVIDIA driver{} shows no device (CUDA_VISIBLE_DEVICES may hide it): {}", release,
                       words);
  return words;
}

}  // namespace convscope::cuda

#include "bench/device/cuda/check.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "bench/device/cuda/cuda_queue.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cuda {
namespace {

std::string kernel_name(const void* kernel) {
  const char* mangled = nullptr;
  if (cudaFuncGetName(&mangled, kernel) != cudaSuccess || mangled == nullptr) return "a kernel";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  return status == 0 ? readable.get() : mangled;
}

[[noreturn]] void fail(cudaError_t code, const std::string& what, const CallSite& site) {
  const std::string message =
      fmt::format("{}: {}: {} ({})", site.text(), what, cudaGetErrorString(code), cudaGetErrorName(code));
  cudaGetLastError();  // the runtime keeps an error until it is asked
  if (code == cudaErrorMemoryAllocation) throw std::bad_alloc();
  if (ends_the_context(code)) throw DeviceLost(message);
  throw DeviceError(message);
}

}  // namespace

bool ends_the_context(cudaError_t code) {
  switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

void check(cudaError_t code, const char* call, CallSite site) {
  if (code != cudaSuccess) fail(code, call, site);
}

void check_launch(cudaError_t code, const void* kernel, CallSite site) {
  if (code != cudaSuccess) fail(code, "launch of " + kernel_name(kernel), site);
}

cudaLaunchConfig_t launch_config(const void* kernel, const LaunchGrid<dim3>& grid, dim3 block,
                                 size_t smem_bytes, Queue& queue) {
  cudaLaunchConfig_t config{};
  config.stream = cuda_queue(queue).stream_for_kernel(kernel);
  // More than this a kernel must be allowed, once; asking again costs the host under a microsecond.
  constexpr size_t kAlwaysAllowed = 48 << 10;
  if (smem_bytes > kAlwaysAllowed)
    check_launch(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(smem_bytes)),
                 kernel, grid.site);
  config.gridDim = grid.blocks;
  config.blockDim = block;
  config.dynamicSmemBytes = smem_bytes;
  return config;
}

}  // namespace convscope::cuda

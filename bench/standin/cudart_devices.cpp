// Devices of the runtime: how many, which, and what they are.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/standin/configuration.hpp"
#include "bench/standin/devices.hpp"
#include "bench/standin/errors.hpp"
#include "bench/standin/execution.hpp"
#include "bench/standin/memory.hpp"
#include "bench/standin/standin.hpp"
#include "bench/standin/stream.hpp"

namespace convscope::standin {
namespace {

thread_local int current = 0;

// What every call says that needs the driver: none, or one too old for the runtime that the program was built
// with.
cudaError_t driver_error() {
  if (configuration().driver < CUDART_VERSION / 1000 * 1000) return cudaErrorInsufficientDriver;
  return configuration().devices == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t device_error(int device) {
  if (const cudaError_t error = driver_error(); error != cudaSuccess) return error;
  return device >= 0 && device < configuration().devices ? cudaSuccess : cudaErrorInvalidDevice;
}

void describe(cudaDeviceProp& p) {
  std::memset(&p, 0, sizeof p);
  std::snprintf(p.name, sizeof p.name, "%s", kDeviceName);
  p.major = configuration().target == "sm_90a" ? 9 : 8;
  p.multiProcessorCount = 132;
  p.sharedMemPerMultiprocessor = size_t{228} << 10;
  p.sharedMemPerBlock = kSharedAlways;
  p.sharedMemPerBlockOptin = kSharedPerBlock;
  p.l2CacheSize = 60 << 20;
  p.warpSize = 32;
  p.maxThreadsPerBlock = 1024;
  p.totalGlobalMem = configuration().memory_bytes;
}

}  // namespace

int current_device() {
  return current;
}

}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  const cudaError_t error = result(driver_error(), __func__);
  *count = error == cudaSuccess ? configuration().devices : 0;
  return error;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = configuration().driver;
  return result(cudaSuccess, __func__);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return result(cudaSuccess, __func__);
}

cudaError_t cudaSetDevice(int device) {
  const cudaError_t error = device_error(device);
  if (error == cudaSuccess) current = device;
  return result(error, __func__);
}

cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return result(driver_error(), __func__);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  describe(*properties);
  return result(device_error(device), __func__);
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, static_cast<size_t>(length), "0000:%02x:00.0", device);
  return result(device_error(device), __func__);
}

cudaError_t cudaDeviceSynchronize() {
  wait_for_device(current);
  return result(cudaSuccess, __func__);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = configuration().memory_bytes;
  *free = *total - used_bytes(current);
  return result(device_error(current), __func__);
}

}  // extern "C"

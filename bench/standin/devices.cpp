// Devices of the runtime: how many, which, and what they are. Its errors, with names and texts for those that
// the program tells apart.
#include "bench/standin/devices.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "bench/standin/configuration.hpp"
#include "bench/standin/error_list.hpp"
#include "bench/standin/memory.hpp"
#include "bench/standin/standin.hpp"
#include "bench/standin/stream.hpp"

namespace convscope::standin {
namespace {

thread_local int current = 0;

// The error of every call that needs the driver: it is missing, or too old for the program's runtime.
cudaError_t driver_error() {
  if (configuration().driver < CUDART_VERSION / 1000 * 1000) return cudaErrorInsufficientDriver;
  return configuration().devices == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t device_error(int device) {
  if (const cudaError_t error = driver_error(); error != cudaSuccess) return error;
  return device >= 0 && device < configuration().devices ? cudaSuccess : cudaErrorInvalidDevice;
}

// As a driver does: threads of its own, which hold back the signals that their maker held back.
bool start_driver() {
  std::thread([] {
    for (;;) pause();
  }).detach();
  return true;
}

void describe(cudaDeviceProp& p) {
  std::memset(&p, 0, sizeof p);
  std::snprintf(p.name, sizeof p.name, "%s", kDeviceName);
  p.major = configuration().target == "sm_90a" ? 9 : 8;
  p.multiProcessorCount = 132;
  p.sharedMemPerMultiprocessor = size_t{228} << 10;
  p.l2CacheSize = configuration().l2_bytes;
  p.totalGlobalMem = configuration().memory_bytes;
}

std::atomic<cudaError_t> lost{cudaSuccess};
thread_local cudaError_t last = cudaSuccess;

struct Words {
  const char *name, *text;
};

const std::map<int, Words>& known_errors() {
#define CONVSCOPE_ENTRY(name, number, words) {number, {#name, words}},
  static const std::map<int, Words> errors{CONVSCOPE_CUDA_ERRORS(CONVSCOPE_ENTRY)};
#undef CONVSCOPE_ENTRY
  return errors;
}

#define CONVSCOPE_CHECK(name, number, words) static_assert(name == number);
CONVSCOPE_CUDA_ERRORS(CONVSCOPE_CHECK)
#undef CONVSCOPE_CHECK

const char* words_of(cudaError_t error, const char* Words::*which) {
  const auto known = known_errors().find(error);
  if (known != known_errors().end()) return known->second.*which;
  static thread_local std::string text;
  text = (which == &Words::name ? "cudaError" : "error ") + std::to_string(error);
  return text.c_str();
}

}  // namespace

int current_device() {
  return current;
}

cudaError_t result(cudaError_t error, const char* function) {
  if (error == cudaSuccess) error = scripted_call(function);
  if (is_lost()) error = lost;
  if (error != cudaSuccess && error != cudaErrorNotReady) last = error;
  return error;
}

void lose_device(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  lost.compare_exchange_strong(none, error);
}

bool is_lost() {
  return lost != cudaSuccess;
}

}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  const cudaError_t error = result(driver_error(), __func__);
  [[maybe_unused]] static const bool has_threads = error == cudaSuccess && start_driver();
  *count = error == cudaSuccess ? configuration().devices : 0;
  return error;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = configuration().driver;
  return result(cudaSuccess, __func__);
}

cudaError_t cudaSetDevice(int device) {
  const cudaError_t error = device_error(device);
  if (error == cudaSuccess) current = device;
  return result(error, __func__);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  describe(*properties);
  properties->uuid.bytes[15] = static_cast<char>(device + 1);
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

cudaError_t cudaGetLastError() {
  const cudaError_t error = is_lost() ? lost.load() : last;
  last = cudaSuccess;
  return error;
}

const char* cudaGetErrorString(cudaError_t error) {
  return words_of(error, &Words::text);
}

const char* cudaGetErrorName(cudaError_t error) {
  return words_of(error, &Words::name);
}

}  // extern "C"

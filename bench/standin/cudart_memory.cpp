// Memory of the runtime: allocations, copies, fills.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "bench/standin/configuration.hpp"
#include "bench/standin/devices.hpp"
#include "bench/standin/errors.hpp"
#include "bench/standin/memory.hpp"
#include "bench/standin/stream.hpp"

namespace convscope::standin {
namespace {

bool is_live(const void* data, size_t bytes, int device) {
  const auto address = reinterpret_cast<ptx::u64>(data);
  const ptx::Range range = allocation_around(device, address);
  return bytes == 0 || (range.end != 0 && address + bytes <= range.end);
}

// The sides that the kind says are on the device.
bool is_allowed(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind, int device) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return (!to_device || is_live(to, bytes, device)) && (!from_device || is_live(from, bytes, device));
}

// About what HBM and a host's bus take.
constexpr Nanoseconds kOperationCost = 1500;
Nanoseconds copy_cost(size_t bytes, cudaMemcpyKind kind) {
  return kOperationCost + static_cast<Nanoseconds>(bytes / (kind == cudaMemcpyDeviceToDevice ? 2000 : 50));
}

// On the stream's thread: the memory may have been freed since.
bool found_gone(const char* what, const void* data, size_t bytes, int device) {
  if (is_live(data, bytes, device)) return false;
  std::fprintf(stderr, "standin: fault: %s of %zu bytes at %p, %s\n", what, bytes, data,
               describe_address(device, reinterpret_cast<ptx::u64>(data)).c_str());
  lose_device(cudaErrorIllegalAddress);
  return true;
}

cudaError_t free_memory(void* data, int device) {
  if (data == nullptr) return cudaSuccess;
  if (configuration().free_waits) wait_for_device(device);
  return release(data) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t fill_later(void* to, int value, size_t bytes, cudaStream_t stream) {
  const int device = current_device();
  if (!is_live(to, bytes, device)) return cudaErrorInvalidValue;
  stream_or_default(stream, device).push([=](Nanoseconds begin) {
    if (is_lost() || found_gone("cudaMemsetAsync", to, bytes, device)) return begin;
    std::memset(to, value, bytes);
    return begin + copy_cost(bytes, cudaMemcpyDeviceToDevice);
  });
  return cudaSuccess;
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (const cudaError_t error = result(cudaSuccess, __func__); error != cudaSuccess) return error;
  *data = allocate(current_device(), bytes);
  return *data != nullptr ? cudaSuccess : result(cudaErrorMemoryAllocation, __func__);
}

cudaError_t cudaFree(void* data) {
  return result(free_memory(data, current_device()), __func__);
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  *data = allocate(kHost, bytes);
  return result(*data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation, __func__);
}

cudaError_t cudaFreeHost(void* data) {
  return result(free_memory(data, current_device()), __func__);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return result(cudaSuccess, __func__);
}

// In the order of the default stream, which other streams do not wait for.
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  if (error != cudaSuccess) return error;
  stream_or_default(nullptr, current_device()).wait();
  return result(cudaSuccess, __func__);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const int device = current_device();
  if (const cudaError_t error = result(cudaSuccess, __func__); error != cudaSuccess) return error;
  if (!is_allowed(to, from, bytes, kind, device)) return result(cudaErrorInvalidValue, __func__);
  stream_or_default(stream, device).push([=](Nanoseconds begin) {
    if (is_lost()) return begin;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (to_device && found_gone("cudaMemcpyAsync to", to, bytes, device)) return begin;
    if (from_device && found_gone("cudaMemcpyAsync from", from, bytes, device)) return begin;
    std::memmove(to, from, bytes);
    return begin + copy_cost(bytes, kind);
  });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  const cudaError_t error = fill_later(to, value, bytes, nullptr);
  if (error == cudaSuccess) stream_or_default(nullptr, current_device()).wait();
  return result(error, __func__);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return result(fill_later(to, value, bytes, stream), __func__);
}

}  // extern "C"

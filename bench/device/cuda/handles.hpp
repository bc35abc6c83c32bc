// Owners of what the CUDA runtime hands out: events, streams, pinned memory that the device can read.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "bench/device/cuda/check.hpp"

namespace convscope::cuda {

// Move-only owner of a pointer-like handle.
template <typename T, cudaError_t (*destroy)(T)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T value) : value_(value) {}
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Handle() {
    if (value_ != nullptr) destroy(value_);
  }
  T get() const { return value_; }

 private:
  T value_ = nullptr;
};

using Event = Handle<cudaEvent_t, cudaEventDestroy>;
using Stream = Handle<cudaStream_t, cudaStreamDestroy>;
using PinnedMemory = Handle<void*, cudaFreeHost>;

inline Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}

// Work in it does not wait for the default stream, nor that for it.
inline Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return Stream(stream);
}

inline PinnedMemory make_pinned_memory(size_t bytes) {
  void* data = nullptr;
  check(cudaHostAlloc(&data, bytes, cudaHostAllocMapped), "cudaHostAlloc");
  return PinnedMemory(data);
}

}  // namespace convscope::cuda

// Streams and events of the runtime.
#include <cuda_runtime_api.h>

#include "bench/standin/devices.hpp"
#include "bench/standin/errors.hpp"
#include "bench/standin/stream.hpp"

using namespace convscope::standin;

namespace {

// Of the host function that runs on this thread.
thread_local Nanoseconds taken = 0;

}  // namespace

extern "C" {

// For the stand-in libraries: what a host function stands for took so long on the device, or lost it.
void convscope_standin_advance(double seconds) {
  taken += static_cast<Nanoseconds>(1e9 * seconds);
}
void convscope_standin_lose_device(int error) {
  lose_device(static_cast<cudaError_t>(error));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st(current_device());
  return result(cudaSuccess, __func__);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return result(cudaSuccess, __func__);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream_or_default(stream, current_device()).wait();
  return result(cudaSuccess, __func__);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const bool idle = stream_or_default(stream, current_device()).is_idle();
  return result(idle ? cudaSuccess : cudaErrorNotReady, __func__);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  make_wait(stream_or_default(stream, current_device()), *event);
  return result(cudaSuccess, __func__);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  stream_or_default(stream, current_device()).push([=](Nanoseconds begin) {
    constexpr Nanoseconds kCost = 5000;
    taken = 0;
    if (!is_lost()) function(data);
    return begin + kCost + taken;
  });
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  record(*event, stream_or_default(stream, current_device()));
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return result(is_done(*event) ? cudaSuccess : cudaErrorNotReady, __func__);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  wait_for(*event);
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (begin->last == nullptr || end->last == nullptr) return result(cudaErrorInvalidResourceHandle, __func__);
  if (!is_done(*begin) || !is_done(*end)) return result(cudaErrorNotReady, __func__);
  *milliseconds = 1e-6f * static_cast<float>(end->last->time - begin->last->time);
  return result(cudaSuccess, __func__);
}

}  // extern "C"

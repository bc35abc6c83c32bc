// Kernels of the stand-in's own tests, and launches of them as nvcc makes them.
#include "bench/standin/test_kernels.hpp"

namespace convscope::standin {
namespace {

__global__ void fill_kernel(float* to, float value, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = value;
}

__global__ void add_kernel(float* to, const float* from, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] += from[i];
}

__global__ void wait_kernel(volatile const int* released) {
  while (*released == 0) {
  }
}

}  // namespace

void fill(float* to, float value, int count, cudaStream_t stream) {
  fill_kernel<<<(count + 63) / 64, 64, 0, stream>>>(to, value, count);
}

void add(float* to, const float* from, int count, cudaStream_t stream) {
  add_kernel<<<(count + 63) / 64, 64, 0, stream>>>(to, from, count);
}

void wait_for_host(const int* released, cudaStream_t stream) {
  wait_kernel<<<1, 1, 0, stream>>>(released);
}

}  // namespace convscope::standin

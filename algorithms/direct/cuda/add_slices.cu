#include "algorithms/direct/cuda/add_slices.cuh"
#include "bench/core/rounding.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

__global__ void add_slices_kernel(const float* sums, float* dw, int64_t elements, int slices) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  float sum = 0;
  for (int slice = 0; slice < slices; ++slice) sum += sums[slice * elements + i];
  dw[i] = sum;
}

}  // namespace

void add_filter_slices(const float* sums, float* dw, int64_t elements, int slices, Queue& queue) {
  constexpr int kThreads = 256;
  launch(add_slices_kernel, static_cast<unsigned>(ceil_div(elements, kThreads)), kThreads, 0, queue, sums, dw,
         elements, slices);
}

}  // namespace convscope::CONVSCOPE_KERNELS

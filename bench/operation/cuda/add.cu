// y += x, with or without the ReLU behind it in the same pass: the addition of another layer's output, or of
// a gradient where an activation was read twice.
#include "bench/operation/cuda/device_operations.hpp"
#include "bench/operation/cuda/quads.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

template <bool kRelu>
__global__ void __launch_bounds__(kQuadThreads) add(const float* x, float* y, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kQuadThreads;
  for (int64_t quad = static_cast<int64_t>(blockIdx.x) * kQuadThreads + threadIdx.x; 4 * quad < count;
       quad += step) {
    float one[4], other[4];
    load_quad(y, quad, 0, count, one);
    load_quad(x, quad, 0, count, other);
    UNROLL
    for (int lane = 0; lane < 4; ++lane) {
      one[lane] += other[lane];
      if constexpr (kRelu) one[lane] = one[lane] > 0 ? one[lane] : 0.0f;
    }
    store_quad(y, quad, 0, count, one);
  }
}

}  // namespace

void enqueue_addition(const OperationProblem& problem, const OperationTensors& tensors, Queue& queue) {
  const int64_t count = problem.in.elements();
  launch(problem.sort == OperationSort::add_relu ? add<true> : add<false>, quad_blocks(count), kQuadThreads,
         0, queue, static_cast<const float*>(tensors[Slot::x]), tensors[Slot::y], count);
}

}  // namespace convscope::CONVSCOPE_KERNELS

// The update: one pass over weights and velocities, which both change in place.
#include "bench/operation/cuda/device_operations.hpp"
#include "bench/operation/cuda/quads.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

__global__ void __launch_bounds__(kQuadThreads)
    update(UpdateRule rule, const float* gradient, float* velocity, float* weight, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kQuadThreads;
  for (int64_t quad = static_cast<int64_t>(blockIdx.x) * kQuadThreads + threadIdx.x; 4 * quad < count;
       quad += step) {
    float g[4], v[4], w[4];
    load_quad(gradient, quad, 0, count, g);
    load_quad(velocity, quad, 0, count, v);
    load_quad(weight, quad, 0, count, w);
    UNROLL
    for (int lane = 0; lane < 4; ++lane) {
      v[lane] = rule.momentum * v[lane] + g[lane] + rule.decay * w[lane];
      w[lane] -= rule.rate * v[lane];
    }
    store_quad(velocity, quad, 0, count, v);
    store_quad(weight, quad, 0, count, w);
  }
}

}  // namespace

void enqueue_update(const OperationProblem& problem, const OperationTensors& tensors, Queue& queue) {
  const int64_t count = problem.in.elements();
  launch(update, quad_blocks(count), kQuadThreads, 0, queue, UpdateRule(),
         static_cast<const float*>(tensors[Slot::parameter_gradient]), tensors[Slot::velocity],
         tensors[Slot::parameter], count);
}

}  // namespace convscope::CONVSCOPE_KERNELS

// The sum of two pieces of gradients, which a reduction of ours makes between two messages, and the mean of a
// sum. Pieces begin at any value, so that a thread takes single ones, several a block's width apart, all read
// before one is written.
#include <algorithm>

#include "bench/core/rounding.hpp"
#include "bench/device/kernel/kernel.hpp"
#include "bench/parallel/reductions/cuda/add.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 256, kEach = 4;
constexpr int64_t kBlock = kThreads * kEach;  // values that a block takes at once
constexpr int64_t kMaxBlocks = 2048;          // about as many as a GPU has room for at once

__global__ void __launch_bounds__(kThreads) add_values(const float* from, float* to, int64_t count) {
  for (int64_t begin = blockIdx.x * kBlock + threadIdx.x; begin < count; begin += gridDim.x * kBlock) {
    float sum[kEach];
    UNROLL
    for (int i = 0; i < kEach; ++i) {
      const int64_t at = begin + i * kThreads;
      sum[i] = at < count ? to[at] + from[at] : 0.0f;
    }
    UNROLL
    for (int i = 0; i < kEach; ++i)
      if (begin + i * kThreads < count) to[begin + i * kThreads] = sum[i];
  }
}

__global__ void __launch_bounds__(kThreads) scale_values(float* values, float factor, int64_t count) {
  for (int64_t begin = blockIdx.x * kBlock + threadIdx.x; begin < count; begin += gridDim.x * kBlock) {
    float value[kEach];
    UNROLL
    for (int i = 0; i < kEach; ++i) {
      const int64_t at = begin + i * kThreads;
      value[i] = at < count ? values[at] : 0.0f;
    }
    UNROLL
    for (int i = 0; i < kEach; ++i)
      if (begin + i * kThreads < count) values[begin + i * kThreads] = factor * value[i];
  }
}

unsigned blocks_of(int64_t count) {
  return static_cast<unsigned>(std::min(kMaxBlocks, ceil_div(count, kBlock)));
}

}  // namespace

void enqueue_add(std::span<const float> from, std::span<float> to, Queue& queue) {
  const auto count = static_cast<int64_t>(from.size());
  if (count == 0) return;
  launch(add_values, blocks_of(count), kThreads, 0, queue, from.data(), to.data(), count);
}

void enqueue_scale(std::span<float> values, float factor, Queue& queue) {
  const auto count = static_cast<int64_t>(values.size());
  if (count == 0) return;
  launch(scale_values, blocks_of(count), kThreads, 0, queue, values.data(), factor, count);
}

}  // namespace convscope::CONVSCOPE_KERNELS

// Softmax and cross-entropy over the channels of the mean over pixels. A block takes an image and goes over
// its channels three times: means and the largest of them, the sum of the exponentials, the gradients.
// Between them a channel's mean stands where its first gradient goes. A channel is a warp's, or of planes
// smaller than a warp a thread's. Sums and exponentials are f32.
#include "bench/device/kernel/kernel.hpp"
#include "bench/operation/cuda/device_operations.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

struct LossArgs {
  const float* x;
  const int32_t* labels;
  double* losses;
  float* dx;
  int64_t channels, pixels;
  float reciprocal_pixels, scale;  // scale: of a gradient, 1 / (images pixels)
};

template <typename Combine>
__device__ __forceinline__ float over_warp(float value, const Combine& combine) {
  UNROLL
  for (int lanes = 16; lanes > 0; lanes /= 2) value = combine(value, __shfl_xor_sync(~0u, value, lanes));
  return value;
}

// In a fixed order; every thread gets it. `of_warps` has a place for each warp, used by no other call.
template <typename Combine>
__device__ __forceinline__ float over_block(float value, float* of_warps, const Combine& combine) {
  value = over_warp(value, combine);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  float all = of_warps[0];
  UNROLL
  for (int i = 1; i < kWarps; ++i) all = combine(all, of_warps[i]);
  return all;
}

// kLanes: threads of a channel.
template <int kLanes>
__global__ void __launch_bounds__(kThreads) softmax_loss(const __grid_constant__ LossArgs args) {
  const auto sum = [](float a, float b) { return a + b; };
  const auto larger = [](float a, float b) { return a > b ? a : b; };
  __shared__ float largest_of_warps[kWarps], total_of_warps[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t image = static_cast<int64_t>(blockIdx.x) * args.channels * args.pixels;
  const float* const x = args.x + image;
  float* const dx = args.dx + image;
  const int64_t first = static_cast<int64_t>(threadIdx.x) / kLanes, step = kThreads / kLanes;

  float largest = -INFINITY;
  for (int64_t c = first; c < args.channels; c += step) {
    float mean = 0;
    for (int64_t i = lane; i < args.pixels; i += kLanes) mean += x[c * args.pixels + i];
    if constexpr (kLanes == 32) mean = over_warp(mean, sum);
    mean *= args.reciprocal_pixels;
    if (lane == 0) dx[c * args.pixels] = mean;
    largest = larger(largest, mean);
  }
  largest = over_block(largest, largest_of_warps, larger);

  float total = 0;
  if (lane == 0)
    for (int64_t c = first; c < args.channels; c += step) total += __expf(dx[c * args.pixels] - largest);
  total = over_block(total, total_of_warps, sum);

  const int64_t label = args.labels[blockIdx.x];
  const float reciprocal_total = 1 / total;
  for (int64_t c = first; c < args.channels; c += step) {
    const float from_largest = dx[c * args.pixels] - largest;
    if constexpr (kLanes == 32) __syncwarp();  // all have read the mean
    if (c == label && lane == 0)
      args.losses[blockIdx.x] = static_cast<double>(logf(total)) - static_cast<double>(from_largest);
    const float slope = (__expf(from_largest) * reciprocal_total - (c == label ? 1.0f : 0.0f)) * args.scale;
    for (int64_t i = lane; i < args.pixels; i += kLanes) dx[c * args.pixels + i] = slope;
  }
}

}  // namespace

void enqueue_softmax_loss(const Activations& shape, const float* x, const int32_t* labels, double* losses,
                          float* dx, Queue& queue) {
  const int64_t pixels = shape.pixels();
  const LossArgs args{x,
                      labels,
                      losses,
                      dx,
                      shape.c,
                      pixels,
                      1 / static_cast<float>(pixels),
                      1 / static_cast<float>(shape.n * pixels)};
  launch(pixels < 32 ? softmax_loss<1> : softmax_loss<32>, static_cast<unsigned>(shape.n), kThreads, 0, queue,
         args);
}

}  // namespace convscope::CONVSCOPE_KERNELS

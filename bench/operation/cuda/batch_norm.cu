// Batch normalisation with the statistics of the batch. A channel's values, those of its planes in all
// images, are cut into slices, and a block sums one of them; a thread for each channel then adds up its
// slices in f64. The pass that writes has the same blocks, which find in L2 what the sums have read where
// that is small enough. The mathematics is in ../batch_norm.cpp. Here x is read once for both sums: squares
// are summed about the channel's first value, so that a mean far from zero costs no accuracy. A first value
// that is k deviations from the mean does: the variance's relative error grows with k^2.
#include <algorithm>

#include "bench/core/layer_operation.hpp"
#include "bench/device/kernel/kernel.hpp"
#include "bench/operation/cuda/device_operations.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = BatchNormSums::kThreads, kWarps = kThreads / 32;
constexpr int kEach = BatchNormSums::kEach;

struct BatchNormArgs {
  const float *x, *dy, *parameters;  // parameters: scales, behind them shifts
  float* result;                     // y or dx
  float* gradients;                  // of the parameters
  float* statistics;                 // means, behind them reciprocals of the deviations
  float* slopes;                     // of dx: means of the gradient, behind them its slopes over x - mean
  float* partial;                    // two sums for each channel and slice
  int64_t channels, pixels, values;  // values: of a channel
  int64_t slices, slice;             // slice: values of a block
  int64_t images_of_step, pixels_of_step;  // from one value of a thread to the next
  double reciprocal_values;
};

// Calls body(offsets) with kEach of a thread's values of the block's slice at a time, so that all are read
// before one is waited for; an offset is -1 beyond the last.
template <typename Body>
__device__ __forceinline__ void for_own_values(const BatchNormArgs& args, const Body& body) {
  const int64_t begin = static_cast<int64_t>(blockIdx.y) * args.slice;
  const int64_t end = min(begin + args.slice, args.values);
  int64_t value = begin + threadIdx.x;
  int64_t image = value / args.pixels, pixel = value % args.pixels;
  while (value < end) {
    int64_t offsets[kEach];
    UNROLL
    for (int i = 0; i < kEach; ++i) {
      offsets[i] = value < end ? (image * args.channels + blockIdx.x) * args.pixels + pixel : -1;
      value += kThreads;
      image += args.images_of_step;
      pixel += args.pixels_of_step;
      if (pixel >= args.pixels) pixel -= args.pixels, ++image;
    }
    body(offsets);
  }
}

struct TwoSums {
  float a = 0, b = 0;
};

// Writes the sums over the block, in a fixed order.
__device__ __forceinline__ void store_partial(const BatchNormArgs& args, TwoSums own) {
  UNROLL
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    own.a += __shfl_xor_sync(~0u, own.a, lanes);
    own.b += __shfl_xor_sync(~0u, own.b, lanes);
  }
  __shared__ float of_warps[2][kWarps];
  if (threadIdx.x % 32 == 0) {
    of_warps[0][threadIdx.x / 32] = own.a;
    of_warps[1][threadIdx.x / 32] = own.b;
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  float all[2] = {};
  UNROLL
  for (int sum = 0; sum < 2; ++sum) {
    UNROLL
    for (int i = 0; i < kWarps; ++i) all[sum] += of_warps[sum][i];
  }
  float* const to = args.partial + 2 * (blockIdx.x * args.slices + blockIdx.y);
  to[0] = all[0], to[1] = all[1];
}

struct ChannelSums {
  double a = 0, b = 0;
};
__device__ __forceinline__ ChannelSums sums_of(const BatchNormArgs& args, int64_t channel) {
  ChannelSums all;
  for (int64_t slice = 0; slice < args.slices; ++slice) {
    const float* const from = args.partial + 2 * (channel * args.slices + slice);
    all.a += from[0];
    all.b += from[1];
  }
  return all;
}

__global__ void __launch_bounds__(kThreads) sum_moments(const __grid_constant__ BatchNormArgs args) {
  const float about = args.x[blockIdx.x * args.pixels];
  TwoSums own;
  for_own_values(args, [&](const int64_t(&offsets)[kEach]) {
    float distance[kEach];
    UNROLL
    for (int i = 0; i < kEach; ++i) distance[i] = offsets[i] < 0 ? 0.0f : args.x[offsets[i]] - about;
    UNROLL
    for (int i = 0; i < kEach; ++i) {
      own.a += distance[i];
      own.b = fmaf(distance[i], distance[i], own.b);
    }
  });
  store_partial(args, own);
}

__global__ void __launch_bounds__(kThreads) finish_moments(const __grid_constant__ BatchNormArgs args) {
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (channel >= args.channels) return;
  const ChannelSums sums = sums_of(args, channel);
  const double from_about = sums.a * args.reciprocal_values;
  const double variance = sums.b * args.reciprocal_values - from_about * from_about;
  args.statistics[channel] = static_cast<float>(args.x[channel * args.pixels] + from_about);
  args.statistics[args.channels + channel] =
      rsqrtf(static_cast<float>((variance > 0 ? variance : 0.0) + kBatchNormEpsilon));
}

// The numbers of the block's channel.
struct Normalisation {
  float mean, factor, shift;
  __device__ __forceinline__ explicit Normalisation(const BatchNormArgs& args)
      : mean(args.statistics[blockIdx.x]),
        factor(args.parameters[blockIdx.x] * args.statistics[args.channels + blockIdx.x]),
        shift(args.parameters[args.channels + blockIdx.x]) {}
  __device__ __forceinline__ float operator()(float from_mean) const {
    return fmaf(from_mean, factor, shift);
  }
};

template <bool kRelu>
__global__ void __launch_bounds__(kThreads) normalise(const __grid_constant__ BatchNormArgs args) {
  const Normalisation of(args);
  for_own_values(args, [&](const int64_t(&offsets)[kEach]) {
    float x[kEach];
    UNROLL
    for (int i = 0; i < kEach; ++i) x[i] = offsets[i] < 0 ? 0.0f : args.x[offsets[i]];
    UNROLL
    for (int i = 0; i < kEach; ++i) {
      if (offsets[i] < 0) continue;
      const float y = of(x[i] - of.mean);
      args.result[offsets[i]] = kRelu && !(y > 0) ? 0.0f : y;
    }
  });
}

// What ReLU lets pass of the gradients of kEach values, and these values' distances from the mean; 0 beyond
// the last. ReLU's input is computed as forward computed it, to the bit.
template <bool kRelu>
__device__ __forceinline__ void load_passed(const BatchNormArgs& args, const Normalisation& of,
                                            const int64_t (&offsets)[kEach], float (&passed)[kEach],
                                            float (&from_mean)[kEach]) {
  UNROLL
  for (int i = 0; i < kEach; ++i) {
    from_mean[i] = offsets[i] < 0 ? 0.0f : args.x[offsets[i]] - of.mean;
    passed[i] = offsets[i] < 0 ? 0.0f : args.dy[offsets[i]];
  }
  if constexpr (kRelu) {
    UNROLL
    for (int i = 0; i < kEach; ++i)
      if (!(of(from_mean[i]) > 0)) passed[i] = 0;
  }
}

template <bool kRelu>
__global__ void __launch_bounds__(kThreads) sum_gradients(const __grid_constant__ BatchNormArgs args) {
  const Normalisation of(args);
  TwoSums own;
  for_own_values(args, [&](const int64_t(&offsets)[kEach]) {
    float passed[kEach], from_mean[kEach];
    load_passed<kRelu>(args, of, offsets, passed, from_mean);
    UNROLL
    for (int i = 0; i < kEach; ++i) {
      own.a += passed[i];
      own.b = fmaf(passed[i], from_mean[i], own.b);
    }
  });
  store_partial(args, own);
}

__global__ void __launch_bounds__(kThreads) finish_gradients(const __grid_constant__ BatchNormArgs args) {
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (channel >= args.channels) return;
  const ChannelSums sums = sums_of(args, channel);
  const double reciprocal = args.statistics[args.channels + channel];
  args.gradients[channel] = static_cast<float>(sums.b * reciprocal);
  args.gradients[args.channels + channel] = static_cast<float>(sums.a);
  args.slopes[channel] = static_cast<float>(sums.a * args.reciprocal_values);
  args.slopes[args.channels + channel] =
      static_cast<float>(sums.b * reciprocal * reciprocal * args.reciprocal_values);
}

template <bool kRelu>
__global__ void __launch_bounds__(kThreads) write_gradients(const __grid_constant__ BatchNormArgs args) {
  const Normalisation of(args);
  const float mean = args.slopes[blockIdx.x], slope = args.slopes[args.channels + blockIdx.x];
  for_own_values(args, [&](const int64_t(&offsets)[kEach]) {
    float passed[kEach], from_mean[kEach];
    load_passed<kRelu>(args, of, offsets, passed, from_mean);
    UNROLL
    for (int i = 0; i < kEach; ++i)
      if (offsets[i] >= 0) args.result[offsets[i]] = fmaf(-slope, from_mean[i], passed[i] - mean) * of.factor;
  });
}

}  // namespace

void enqueue_batch_norm(const OperationProblem& problem, const OperationTensors& tensors, void* kept,
                        Queue& queue) {
  const Activations& shape = problem.in;
  const BatchNormSums sums(shape);
  float* const statistics = static_cast<float*>(kept);
  const BatchNormArgs args{tensors[Slot::x],
                           tensors[Slot::dy],
                           tensors[Slot::parameter],
                           problem.backward ? tensors[Slot::dx] : tensors[Slot::y],
                           tensors[Slot::parameter_gradient],
                           statistics,
                           statistics + 2 * shape.c,
                           statistics + 4 * shape.c,
                           shape.c,
                           shape.pixels(),
                           sums.values,
                           sums.slices,
                           sums.slice,
                           kThreads / shape.pixels(),
                           kThreads % shape.pixels(),
                           1 / static_cast<double>(sums.values)};
  const bool relu = problem.sort == OperationSort::batch_norm_relu;
  const dim3 slices(static_cast<unsigned>(shape.c), static_cast<unsigned>(sums.slices));
  const auto channels = static_cast<unsigned>(ceil_div(shape.c, int64_t{kThreads}));
  if (problem.backward) {
    launch(relu ? sum_gradients<true> : sum_gradients<false>, slices, kThreads, 0, queue, args);
    launch(finish_gradients, channels, kThreads, 0, queue, args);
    launch(relu ? write_gradients<true> : write_gradients<false>, slices, kThreads, 0, queue, args);
    return;
  }
  launch(sum_moments, slices, kThreads, 0, queue, args);
  launch(finish_moments, channels, kThreads, 0, queue, args);
  launch(relu ? normalise<true> : normalise<false>, slices, kThreads, 0, queue, args);
}

}  // namespace convscope::CONVSCOPE_KERNELS

// Bias and ReLU. Forward is the pass of a separate epilogue. Backward is one pass over the gradient, which
// masks it and sums it channel by channel in two levels (BiasSums).
#include "bench/algorithm/device_epilogue.hpp"
#include "bench/operation/cuda/device_operations.hpp"
#include "bench/operation/cuda/quads.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kWarps = BiasSums::kWarps, kThreads = BiasSums::kThreads;

struct SumArgs {
  const float* y;  // not read without a mask
  float* dy;       // not written without one
  float* partial;  // slices x channels x width
  int64_t images, channels, pixels, pieces, slices;
};

__device__ __forceinline__ float masked(float gradient, float output) {
  return output > 0 ? gradient : 0.0f;
}

__global__ void __launch_bounds__(kQuadThreads) mask(const float* y, float* dy, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kQuadThreads;
  for (int64_t quad = static_cast<int64_t>(blockIdx.x) * kQuadThreads + threadIdx.x; 4 * quad < count;
       quad += step) {
    float output[4], gradient[4];
    load_quad(y, quad, 0, count, output);
    load_quad(dy, quad, 0, count, gradient);
    UNROLL
    for (int lane = 0; lane < 4; ++lane) gradient[lane] = masked(gradient[lane], output[lane]);
    store_quad(dy, quad, 0, count, gradient);
  }
}

// A block for each channel and slice; its warps take the slice's pieces of planes in turn.
template <bool kMasks>
__global__ void __launch_bounds__(kThreads) sum_planes(const __grid_constant__ SumArgs args) {
  const int64_t channel = blockIdx.x % args.channels, slice = blockIdx.x / args.channels;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int64_t unit = slice * kWarps + warp; unit < args.images * args.pieces; unit += args.slices * kWarps) {
    const int64_t plane = (unit / args.pieces * args.channels + channel) * args.pixels;
    const int64_t begin = plane + unit % args.pieces * BiasSums::kPiece;
    const int64_t end = min(begin + BiasSums::kPiece, plane + args.pixels);
    for (int64_t quad = begin / 4 + lane; 4 * quad < end; quad += 32) {
      float gradient[4];
      load_quad(args.dy, quad, begin, end, gradient);
      if constexpr (kMasks) {
        float output[4];
        load_quad(args.y, quad, begin, end, output);
        UNROLL
        for (int i = 0; i < 4; ++i) gradient[i] = masked(gradient[i], output[i]);
        store_quad(args.dy, quad, begin, end, gradient);
      }
      sum += (gradient[0] + gradient[1]) + (gradient[2] + gradient[3]);
    }
  }
  UNROLL
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  __shared__ float of_warps[kWarps];
  if (lane == 0) of_warps[warp] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  float total = 0;
  UNROLL
  for (int i = 0; i < kWarps; ++i) total += of_warps[i];
  args.partial[slice * args.channels + channel] = total;
}

// A thread for each element of an image and slice, which adds up that element of the slice's images.
template <bool kMasks>
__global__ void __launch_bounds__(kThreads) sum_columns(const __grid_constant__ SumArgs args) {
  const int64_t columns = args.channels * args.pixels;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (column >= columns) return;
  float sum = 0;
  for (int64_t image = blockIdx.y; image < args.images; image += args.slices) {
    const int64_t at = image * columns + column;
    float gradient = args.dy[at];
    if constexpr (kMasks) args.dy[at] = gradient = masked(gradient, args.y[at]);
    sum += gradient;
  }
  args.partial[blockIdx.y * columns + column] = sum;
}

// A block for 32 channels: each warp adds up every kWarps-th of their partial sums, a lane a channel.
__global__ void __launch_bounds__(kThreads)
    sum_partials(const float* partial, int64_t slices, int64_t channels, int64_t width, float* gradient) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (channel < channels)
    for (int64_t i = warp; i < slices * width; i += kWarps)
      sum += partial[(i / width * channels + channel) * width + i % width];
  __shared__ float of_warps[kWarps][32];
  of_warps[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || channel >= channels) return;
  float total = 0;
  UNROLL
  for (int i = 0; i < kWarps; ++i) total += of_warps[i][lane];
  gradient[channel] = total;
}

void enqueue_forward(const OperationProblem& problem, const OperationTensors& tensors, Queue& queue) {
  ConvProblem pass;
  pass.batch = problem.in.n;
  pass.out_channels = problem.in.c;
  pass.input = {problem.in.h, problem.in.w};
  pass.filter = {1, 1};
  pass.epilogue = problem.sort == OperationSort::bias   ? Epilogue::bias
                  : problem.sort == OperationSort::relu ? Epilogue::relu
                                                        : Epilogue::bias_relu;
  enqueue_epilogue(pass, tensors[Slot::parameter], tensors[Slot::y], queue);
}

void enqueue_sums(const OperationProblem& problem, const OperationTensors& tensors, float* partial,
                  Queue& queue) {
  const Activations& shape = problem.in;
  const BiasSums sums(shape);
  const SumArgs args{tensors[Slot::y], tensors[Slot::dy], partial,     shape.n,
                     shape.c,          shape.pixels(),    sums.pieces, sums.slices};
  const bool masks = problem.sort == OperationSort::bias_relu;
  if (sums.by_columns) {
    const dim3 grid(static_cast<unsigned>(ceil_div(shape.c * sums.width, int64_t{kThreads})),
                    static_cast<unsigned>(sums.slices));
    launch(masks ? sum_columns<true> : sum_columns<false>, grid, kThreads, 0, queue, args);
  } else {
    launch(masks ? sum_planes<true> : sum_planes<false>, static_cast<unsigned>(shape.c * sums.slices),
           kThreads, 0, queue, args);
  }
  launch(sum_partials, static_cast<unsigned>(ceil_div(shape.c, int64_t{32})), kThreads, 0, queue,
         static_cast<const float*>(partial), sums.slices, shape.c, sums.width,
         tensors[Slot::parameter_gradient]);
}

}  // namespace

void enqueue_bias_relu(const OperationProblem& problem, const OperationTensors& tensors, void* kept,
                       Queue& queue) {
  if (!problem.backward) return enqueue_forward(problem, tensors, queue);
  if (problem.sort != OperationSort::relu)
    return enqueue_sums(problem, tensors, static_cast<float*>(kept), queue);
  const int64_t count = problem.in.elements();
  launch(mask, quad_blocks(count), kQuadThreads, 0, queue, static_cast<const float*>(tensors[Slot::y]),
         tensors[Slot::dy], count);
}

}  // namespace convscope::CONVSCOPE_KERNELS

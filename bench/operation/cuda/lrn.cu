// Local response normalisation of Krizhevsky et al. 2012, section 3.3: y = x s^-3/4 with s = 2 + 1e-4 (sum of
// x^2 over the 5 channels around). A thread goes through the channels of one pixel and carries what
// neighbours share in registers, so each value is read once; neighbouring threads have neighbouring pixels.
// Nothing is kept for backward, which makes s again from the x that it reads anyway: reading s or y would be
// one pass over memory more. Planes of any size begin anywhere, so accesses are of single values.
#include <algorithm>

#include "bench/core/local_response.hpp"
#include "bench/core/rounding.hpp"
#include "bench/device/kernel/kernel.hpp"
#include "bench/operation/cuda/device_operations.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 256;
constexpr int kReach = local_response::kReach, kAround = local_response::kChannels;
constexpr float kBias = local_response::kBias, kAlpha = local_response::kAlpha, kBeta = local_response::kBeta;

// Where there are fewer pixels than threads that a GPU has room for, the channels of a pixel are shared by
// several threads; each then reads a few of its neighbours' too.
constexpr int64_t kFewThreads = 1 << 17;
constexpr int64_t kMinChannels = 16;

struct LrnArgs {
  const float* x;
  const float* dy;  // backward's
  float* result;    // y or dx
  int64_t images, pixels;
  int channels, slice;  // slice: channels of a thread
};

// The values of one pixel in all channels; 0 beyond the first and the last.
struct Pixel {
  const float* values;
  int64_t step;
  int channels;
  __device__ __forceinline__ float operator[](int channel) const {
    return channel >= 0 && channel < channels ? values[channel * step] : 0.0f;
  }
};

// A thread waits once for so many channels, not for each. Unrolled by hand, as what it stores may be what it
// loads next for all that the compiler knows.
constexpr int kAhead = 4;

__device__ __forceinline__ void load(const Pixel& from, int channel, float (&to)[kAhead]) {
  UNROLL
  for (int i = 0; i < kAhead; ++i) to[i] = from[channel + i];
}

// Drops the oldest.
template <int kCount>
__device__ __forceinline__ void push(float (&ring)[kCount], float value) {
  UNROLL
  for (int i = 0; i + 1 < kCount; ++i) ring[i] = ring[i + 1];
  ring[kCount - 1] = value;
}

__device__ __forceinline__ float sum(const float (&ring)[kAround]) {
  return ((ring[0] + ring[1]) + (ring[3] + ring[4])) + ring[2];
}

struct Powers {
  float minus_beta, minus_one;  // s^-3/4, 1 / s
};
__device__ __forceinline__ Powers powers(float squares) {
  const float s = kBias + kAlpha * squares;
  const float root = rsqrtf(s);
  return {root * rsqrtf(s * root), root * root};
}

// The offset of the thread's pixel in the first channel, or -1 where it has none.
__device__ __forceinline__ int64_t own_pixel(const LrnArgs& args) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= args.images * args.pixels) return -1;
  return i / args.pixels * args.channels * args.pixels + i % args.pixels;
}

__global__ void __launch_bounds__(kThreads) lrn_forward(const __grid_constant__ LrnArgs args) {
  const int64_t pixel = own_pixel(args);
  if (pixel < 0) return;
  const Pixel x{args.x + pixel, args.pixels, args.channels};
  const int first = static_cast<int>(blockIdx.y) * args.slice;
  const int last = min(first + args.slice, args.channels);
  float value[kReach + 1] = {}, square[kAround] = {};  // of the channels from c and from c - kReach
  for (int c = first - kReach; c < first + kReach; ++c) {
    push(value, x[c]);
    push(square, value[kReach] * value[kReach]);
  }
  for (int c = first; c < last; c += kAhead) {
    float next[kAhead];
    load(x, c + kReach, next);
    UNROLL
    for (int i = 0; i < kAhead; ++i) {
      push(value, next[i]);
      push(square, next[i] * next[i]);
      if (c + i < last)
        args.result[pixel + (c + i) * args.pixels] = value[0] * powers(sum(square)).minus_beta;
    }
  }
}

// dx = dy s^-3/4 - 2 alpha beta x (sum over the channels around of dy x s^-7/4). The loop is kReach channels
// ahead with s, and so twice that with x.
__global__ void __launch_bounds__(kThreads) lrn_backward(const __grid_constant__ LrnArgs args) {
  const int64_t pixel = own_pixel(args);
  if (pixel < 0) return;
  const Pixel x{args.x + pixel, args.pixels, args.channels};
  const Pixel dy{args.dy + pixel, args.pixels, args.channels};
  const int first = static_cast<int>(blockIdx.y) * args.slice;
  const int last = min(first + args.slice, args.channels);
  float value[kAround] = {}, square[kAround] = {};   // of the channels from c
  float own[kReach + 1] = {}, shared[kAround] = {};  // from c; from c - kReach
  for (int c = first - 2 * kReach; c < first; ++c) {
    push(value, x[c]);
    push(square, value[kAround - 1] * value[kAround - 1]);
  }
  for (int c = first - 2 * kReach; c < last; c += kAhead) {
    float next[kAhead], gradient[kAhead];
    load(x, c + 2 * kReach, next);
    load(dy, c + kReach, gradient);
    UNROLL
    for (int i = 0; i < kAhead; ++i) {
      push(value, next[i]);
      push(square, next[i] * next[i]);
      const Powers of = powers(sum(square));
      push(own, gradient[i] * of.minus_beta);
      push(shared, own[kReach] * value[kReach] * of.minus_one);
      if (c + i >= first && c + i < last)
        args.result[pixel + (c + i) * args.pixels] = own[0] - 2 * kAlpha * kBeta * value[0] * sum(shared);
    }
  }
}

}  // namespace

void enqueue_lrn(const OperationProblem& problem, const OperationTensors& tensors, Queue& queue) {
  const Activations& shape = problem.in;
  const int64_t pixels = shape.n * shape.pixels();
  const int64_t slices =
      std::clamp(ceil_div(kFewThreads, pixels), int64_t{1}, ceil_div(shape.c, kMinChannels));
  const LrnArgs args{tensors[Slot::x],
                     tensors[Slot::dy],
                     problem.backward ? tensors[Slot::dx] : tensors[Slot::y],
                     shape.n,
                     shape.pixels(),
                     static_cast<int>(shape.c),
                     static_cast<int>(round_up(ceil_div(shape.c, slices), int64_t{kAhead}))};
  const dim3 grid(static_cast<unsigned>(ceil_div(pixels, int64_t{kThreads})),
                  static_cast<unsigned>(ceil_div(shape.c, int64_t{args.slice})));
  launch(problem.backward ? lrn_backward : lrn_forward, grid, kThreads, 0, queue, args);
}

}  // namespace convscope::CONVSCOPE_KERNELS

// Max and mean pooling. Forward: a thread for an output. Of a maximum it keeps the place within its window.
// Backward: inputs look at the windows that they are in and add up what they get of their gradients, in a
// fixed order; so nothing is cleared and nothing is atomic. Of usual windows a thread has stride x stride
// inputs, which are in the same windows, of others four neighbours. A block takes several small planes or a
// part of a large one, so that places inside are 32-bit numbers.
#include <algorithm>
#include <type_traits>

#include "bench/operation/cuda/device_operations.hpp"
#include "bench/operation/cuda/quads.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = kQuadThreads;
constexpr int kOfAThread = 4;  // outputs, or tiles or quads of inputs
constexpr int64_t kMaxParts = 65535;

struct PoolArgs {
  const float* from;  // x or dy
  float* to;          // y or dx
  void* winners;      // of a maximum: of each output, the number of the cell of its window
  int64_t planes;
  int group;  // planes of a block
  int in_h, in_w, out_h, out_w;
  int window_h, window_w, stride_h, stride_w, pad_h, pad_w;
};

// What a pool makes of a window, cell by cell, what a cell gets of the window's gradient, and what it makes
// of the sum of those. `cell` is the cell's number in the window, `inside` how many of the window's cells are
// in the image, `output` the number of the window among all.
template <typename Winner>
struct Maximum {
  float best = 0;
  int winner = -1;

  __device__ __forceinline__ void take(float value, int cell) {
    if (winner >= 0 && !(value > best)) return;
    best = value;
    winner = cell;
  }
  __device__ __forceinline__ float result(const PoolArgs& args, int64_t output, int /*inside*/) const {
    static_cast<Winner*>(args.winners)[output] = static_cast<Winner>(winner);
    return best;
  }
  __device__ __forceinline__ static float share(const PoolArgs& args, float gradient, int64_t output,
                                                int cell, int /*inside*/) {
    return static_cast<int>(static_cast<const Winner*>(args.winners)[output]) == cell ? gradient : 0.0f;
  }
  __device__ __forceinline__ static float total(const PoolArgs& /*args*/, float sum) { return sum; }
};

template <bool kCountsPadding>
struct Mean {
  float sum = 0;

  __device__ __forceinline__ void take(float value, int /*cell*/) { sum += value; }
  __device__ __forceinline__ float result(const PoolArgs& args, int64_t /*output*/, int inside) const {
    return sum / static_cast<float>(kCountsPadding ? args.window_h * args.window_w : inside);
  }
  __device__ __forceinline__ static float share(const PoolArgs& /*args*/, float gradient, int64_t /*output*/,
                                                int /*cell*/, int inside) {
    if (kCountsPadding) return gradient;
    const float root = rsqrtf(static_cast<float>(inside));  // a division in every window would be a call
    return gradient * root * root;
  }
  // Of windows that all have as many cells, one division for all.
  __device__ __forceinline__ static float total(const PoolArgs& args, float sum) {
    return kCountsPadding ? sum / static_cast<float>(args.window_h * args.window_w) : sum;
  }
};

// kWindow: the sides of the window, where they are equal and known when this is compiled; 0 elsewhere.
template <typename Pool, int kWindow>
__global__ void __launch_bounds__(kThreads) pool_forward(const __grid_constant__ PoolArgs args) {
  const int window_h = kWindow > 0 ? kWindow : args.window_h;
  const int window_w = kWindow > 0 ? kWindow : args.window_w;
  const int inputs = args.in_h * args.in_w;
  const unsigned outputs = static_cast<unsigned>(args.out_h * args.out_w);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * args.group;
  const unsigned count =
      static_cast<unsigned>(min(args.planes - first, static_cast<int64_t>(args.group))) * outputs;
  const float* const x = args.from + first * inputs;
  for (unsigned i = blockIdx.y * kThreads + threadIdx.x; i < count; i += gridDim.y * kThreads) {
    const unsigned plane = i / outputs, output = i - plane * outputs;
    const int row = static_cast<int>(output / static_cast<unsigned>(args.out_w));
    const int column = static_cast<int>(output) - row * args.out_w;
    const float* const image = x + static_cast<int64_t>(plane) * inputs;
    const int top = row * args.stride_h - args.pad_h, left = column * args.stride_w - args.pad_w;
    Pool window;
    int inside = 0;
    UNROLL
    for (int r = 0; r < window_h; ++r) {
      UNROLL
      for (int s = 0; s < window_w; ++s) {
        const int h = top + r, w = left + s;
        if (h < 0 || h >= args.in_h || w < 0 || w >= args.in_w) continue;
        window.take(image[h * args.in_w + w], r * window_w + s);
        ++inside;
      }
    }
    args.to[first * outputs + i] = window.result(args, first * outputs + i, inside);
  }
}

// How many of a window's rows, or columns, are in the image.
__device__ __forceinline__ int in_image(int window, int stride, int pad, int taps, int size) {
  const int begin = window * stride - pad;
  return min(begin + taps, size) - max(begin, 0);
}

// What the windows around an input send back to it.
template <typename Pool>
__device__ __forceinline__ float gathered(const PoolArgs& args, int64_t plane, int h, int w) {
  const int below = h + args.pad_h, right = w + args.pad_w;
  const int top = below < args.window_h ? 0 : (below - args.window_h) / args.stride_h + 1;
  const int left = right < args.window_w ? 0 : (right - args.window_w) / args.stride_w + 1;
  const int bottom = min(below / args.stride_h, args.out_h - 1);
  const int end = min(right / args.stride_w, args.out_w - 1);
  const int64_t first = plane * (args.out_h * args.out_w);
  const float* const dy = args.from + first;
  float sum = 0;
  for (int p = top; p <= bottom; ++p) {
    const int rows = in_image(p, args.stride_h, args.pad_h, args.window_h, args.in_h);
    for (int q = left; q <= end; ++q) {
      const int at = p * args.out_w + q;
      const int cell = (below - p * args.stride_h) * args.window_w + right - q * args.stride_w;
      const int inside = rows * in_image(q, args.stride_w, args.pad_w, args.window_w, args.in_w);
      sum += Pool::share(args, dy[at], first + at, cell, inside);
    }
  }
  return Pool::total(args, sum);
}

template <typename Pool>
__global__ void __launch_bounds__(kThreads) pool_backward(const __grid_constant__ PoolArgs args) {
  const int inputs = args.in_h * args.in_w;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * args.group;
  const int64_t begin = first * inputs;
  const int64_t end = min(first + args.group, args.planes) * inputs;
  const int64_t step = static_cast<int64_t>(gridDim.y) * kThreads;
  for (int64_t quad = begin / 4 + blockIdx.y * kThreads + threadIdx.x; 4 * quad < end; quad += step) {
    const int inside = static_cast<int>(max(4 * quad, begin) - begin);
    int64_t plane = first + inside / inputs;
    int h = inside % inputs / args.in_w, w = inside % args.in_w;
    float gradient[4] = {};
    UNROLL
    for (int lane = 0; lane < 4; ++lane) {
      if (4 * quad + lane < begin || 4 * quad + lane >= end) continue;
      gradient[lane] = gathered<Pool>(args, plane, h, w);
      if (++w == args.in_w) w = 0, ++h;
      if (h == args.in_h) h = 0, ++plane;
    }
    store_quad(args.to, quad, begin, end, gradient);
  }
}

// A tile is kStride x kStride inputs, counted from the corner of the padding: those that windows begin at or
// reach into together. Its thread reads each of them once.
template <typename Pool, int kWindow, int kStride>
__device__ __forceinline__ void gather_tile(const PoolArgs& args, int64_t plane, int row, int column,
                                            float (&sum)[kStride][kStride]) {
  constexpr int reach = (kWindow + kStride - 1) / kStride;  // windows along an axis
  UNROLL
  for (int i = reach - 1; i >= 0; --i) {
    const int p = row - i;
    if (p < 0 || p >= args.out_h) continue;
    const int rows = in_image(p, kStride, args.pad_h, kWindow, args.in_h);
    UNROLL
    for (int j = reach - 1; j >= 0; --j) {
      const int q = column - j;
      if (q < 0 || q >= args.out_w) continue;
      const int inside = rows * in_image(q, kStride, args.pad_w, kWindow, args.in_w);
      const int64_t window = plane * (args.out_h * args.out_w) + p * args.out_w + q;
      const float gradient = args.from[window];
      UNROLL
      for (int r = 0; r < kStride; ++r) {
        UNROLL
        for (int s = 0; s < kStride; ++s) {
          const int cell_row = i * kStride + r, cell_column = j * kStride + s;
          if (cell_row < kWindow && cell_column < kWindow)
            sum[r][s] += Pool::share(args, gradient, window, cell_row * kWindow + cell_column, inside);
        }
      }
    }
  }
}

// kWindow, kStride: both sides of the window, and both strides.
template <typename Pool, int kWindow, int kStride>
__global__ void __launch_bounds__(kThreads) pool_backward_tiles(const __grid_constant__ PoolArgs args) {
  const int inputs = args.in_h * args.in_w;
  const unsigned columns = static_cast<unsigned>(args.in_w + args.pad_w + kStride - 1) / kStride;
  const unsigned tiles = static_cast<unsigned>(args.in_h + args.pad_h + kStride - 1) / kStride * columns;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * args.group;
  const unsigned count =
      static_cast<unsigned>(min(args.planes - first, static_cast<int64_t>(args.group))) * tiles;
  for (unsigned i = blockIdx.y * kThreads + threadIdx.x; i < count; i += gridDim.y * kThreads) {
    const unsigned in_block = i / tiles, tile = i - in_block * tiles;
    const int64_t plane = first + in_block;
    const int row = static_cast<int>(tile / columns);
    const int column = static_cast<int>(tile) - row * static_cast<int>(columns);
    float sum[kStride][kStride] = {};
    gather_tile<Pool, kWindow, kStride>(args, plane, row, column, sum);
    UNROLL
    for (int r = 0; r < kStride; ++r) {
      const int h = row * kStride + r - args.pad_h;
      if (h < 0 || h >= args.in_h) continue;
      UNROLL
      for (int s = 0; s < kStride; ++s) {
        const int w = column * kStride + s - args.pad_w;
        if (w >= 0 && w < args.in_w)
          args.to[plane * inputs + h * args.in_w + w] = Pool::total(args, sum[r][s]);
      }
    }
  }
}

// Whether pool_backward_tiles is compiled for it.
bool has_tiles(const LayerOperation& pool) {
  const int64_t window = pool.window.h, stride = pool.stride.h;
  return pool.window.w == window && pool.stride.w == stride &&
         ((window == 3 && stride <= 2) || (window == 2 && stride == 2));
}

// Of one plane: tiles or quads of inputs, or outputs.
int64_t work_of_plane(const OperationProblem& problem) {
  const Activations& in = problem.in;
  const LayerOperation& pool = problem.pool;
  if (!problem.backward) return problem.out().pixels();
  if (!has_tiles(pool)) return ceil_div(in.pixels(), int64_t{4});
  return ceil_div(in.h + pool.pad.h, pool.stride.h) * ceil_div(in.w + pool.pad.w, pool.stride.w);
}

template <typename Pool>
void enqueue_usual(const OperationProblem& problem, const PoolArgs& args, dim3 grid, Queue& queue) {
  const LayerOperation& pool = problem.pool;
  if (problem.backward) {
    const auto kernel = !has_tiles(pool)     ? pool_backward<Pool>
                        : pool.stride.h == 1 ? pool_backward_tiles<Pool, 3, 1>
                        : pool.window.h == 3 ? pool_backward_tiles<Pool, 3, 2>
                                             : pool_backward_tiles<Pool, 2, 2>;
    return launch(kernel, grid, kThreads, 0, queue, args);
  }
  const int64_t window = pool.window.h == pool.window.w ? pool.window.h : 0;
  const auto kernel = window == 2   ? pool_forward<Pool, 2>
                      : window == 3 ? pool_forward<Pool, 3>
                                    : pool_forward<Pool, 0>;
  launch(kernel, grid, kThreads, 0, queue, args);
}

template <typename Pool>
void enqueue(const OperationProblem& problem, const PoolArgs& args, dim3 grid, Queue& queue) {
  if constexpr (std::is_same_v<Pool, Maximum<int>>) {  // of windows of more than 256 cells
    const auto kernel = problem.backward ? pool_backward<Pool> : pool_forward<Pool, 0>;
    return launch(kernel, grid, kThreads, 0, queue, args);
  } else {
    enqueue_usual<Pool>(problem, args, grid, queue);
  }
}

}  // namespace

void enqueue_pool(const OperationProblem& problem, const OperationTensors& tensors, void* kept,
                  Queue& queue) {
  const Activations in = problem.in, out = problem.out();
  const LayerOperation& pool = problem.pool;
  const int64_t work = work_of_plane(problem);
  constexpr int64_t of_a_block = int64_t{kThreads} * kOfAThread;
  const int64_t group = std::clamp(of_a_block / work, int64_t{1}, in.n * in.c);
  const PoolArgs args{problem.backward ? tensors[Slot::dy] : tensors[Slot::x],
                      problem.backward ? tensors[Slot::dx] : tensors[Slot::y],
                      kept,
                      in.n * in.c,
                      narrow(group),
                      narrow(in.h),
                      narrow(in.w),
                      narrow(out.h),
                      narrow(out.w),
                      narrow(pool.window.h),
                      narrow(pool.window.w),
                      narrow(pool.stride.h),
                      narrow(pool.stride.w),
                      narrow(pool.pad.h),
                      narrow(pool.pad.w)};
  const dim3 grid(static_cast<unsigned>(ceil_div(args.planes, group)),
                  static_cast<unsigned>(std::min(kMaxParts, ceil_div(group * work, of_a_block))));
  if (problem.sort == OperationSort::mean)
    return pool.counts_padding ? enqueue<Mean<true>>(problem, args, grid, queue)
                               : enqueue<Mean<false>>(problem, args, grid, queue);
  if (winner_bytes(pool) == 1)
    enqueue<Maximum<unsigned char>>(problem, args, grid, queue);
  else
    enqueue<Maximum<int>>(problem, args, grid, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS

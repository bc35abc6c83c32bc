// operations.hpp in device memory, on a GPU or the emulator: each enqueues one problem of its sorts, forward
// or backward, by kernels of ours. Activations are dense f32 in nchw, tensors begin on 16 bytes. All sums
// have a fixed order, so that results repeat to the last bit. The kernels are in the .cu files beside this.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/algorithm/operation_algorithm.hpp"
#include "bench/core/rounding.hpp"
#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope {

// How a bias's gradient is summed: a first kernel leaves `slices` sums of `width` values for each channel, a
// second one adds those up. Planes of a warp's width and more are summed each by a warp, in pieces (width is
// 1); smaller ones column by column over the images, so that neighbouring threads read neighbours.
struct BiasSums {
  static constexpr int64_t kWarps = 8, kThreads = 32 * kWarps;  // of a block
  static constexpr int64_t kPiece = 4096;                       // pixels of a plane that a warp takes at once
  static constexpr int64_t kBlocks = 2048;                      // about as many as keep a GPU busy

  explicit BiasSums(const Activations& shape) : by_columns(shape.pixels() < 32) {
    if (by_columns) {
      width = shape.pixels();
      slices = std::clamp(kBlocks / ceil_div(shape.c * width, kThreads), int64_t{1}, shape.n);
      return;
    }
    pieces = ceil_div(shape.pixels(), kPiece);
    slices = std::clamp(kBlocks / shape.c, int64_t{1}, ceil_div(shape.n * pieces, kWarps));
  }

  bool by_columns;
  int64_t width = 1, slices = 1, pieces = 1;
};

// How the sums of batch normalisation over a channel are cut: `slices` of `slice` values each, a block for
// each.
struct BatchNormSums {
  static constexpr int64_t kThreads = 256;  // of a block
  static constexpr int64_t kEach = 4;       // values that a thread reads at once
  static constexpr int64_t kBlocks = 2048;  // about as many as keep a GPU busy

  explicit BatchNormSums(const Activations& shape) : values(shape.n * shape.pixels()) {
    constexpr int64_t step = kThreads * kEach;
    const int64_t most = std::clamp(kBlocks / shape.c, int64_t{1}, ceil_div(values, step));
    slice = ceil_div(ceil_div(values, most), step) * step;
    slices = ceil_div(values, slice);
  }
  // Of statistics, slopes and partial sums together, in floats.
  int64_t kept(const Activations& shape) const { return (4 + 2 * slices) * shape.c; }

  int64_t values, slices, slice;
};

// A max pool keeps the place of each maximum within its window, in a byte where that is enough.
inline int64_t winner_bytes(const LayerOperation& pool) {
  return pool.window.h * pool.window.w <= 256 ? 1 : 4;
}

// `kept` of bias and bias+relu backward is scratch: slices x channels x width floats of BiasSums. Of a max
// pool it has winner_bytes() for each output. Batch normalisation keeps the batch's statistics, and behind
// them scratch, BatchNormSums::kept() floats in all. The others need none. The codec's are
// bench/parallel/reductions/cuda/one_bit.hpp.
CONVSCOPE_IN_BOTH(void enqueue_bias_relu(const OperationProblem&, const OperationTensors&, void* kept,
                                         Queue&);
                  void enqueue_pool(const OperationProblem&, const OperationTensors&, void* kept, Queue&);
                  void enqueue_lrn(const OperationProblem&, const OperationTensors&, Queue&);
                  void enqueue_update(const OperationProblem&, const OperationTensors&, Queue&);
                  void enqueue_batch_norm(const OperationProblem&, const OperationTensors&, void* kept,
                                          Queue&);
                  void enqueue_addition(const OperationProblem&, const OperationTensors&, Queue&);
                  void enqueue_softmax_loss(const Activations&, const float* x, const int32_t* labels,
                                            double* losses, float* dx, Queue&);)

}  // namespace convscope

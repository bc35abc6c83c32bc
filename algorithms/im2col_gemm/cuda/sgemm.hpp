// Our SGEMM of row-major matrices in device memory, either one transposed, of any sizes and strides, in
// batches: how a product is tiled and, along the depth, split (sgemm.cpp), and its launches (sgemm.cu). The
// kernel is that of algorithms/common/batched_sgemm.cuh.
#pragma once

#include <array>
#include <cstdint>

#include "bench/core/problem.hpp"
#include "bench/device/blas.hpp"
#include "bench/device/builds.hpp"

namespace convscope::im2col_gemm {

using SgemmProduct = Product<float>;  // alpha is 1, beta 0 or 1

// What is applied to the elements of C once their sums are whole. Its rows, or its columns, are output
// channels.
struct SgemmFinish {
  Epilogue epilogue = Epilogue::none;
  const float* bias = nullptr;  // from the first channel of the first matrix of the batch on
  bool columns_are_channels = false;
  int channels_apart = 0;  // of one matrix and the next of the batch
};

// A block computes kSgemmRows x columns of C, or of the transpose of C where C has more columns than rows,
// kSgemmDepth of the depth at a time.
inline constexpr int kSgemmRows = 128, kSgemmDepth = 8;
inline constexpr std::array kSgemmColumns{128, 64, 32};
// The largest depth of a sum in registers: the error of a running sum grows with its length.
inline constexpr int kMaxSgemmSum = 16384;

// The width of the tiles, and the parts of the depth.
struct SgemmSplit {
  int columns = kSgemmColumns[0];
  int splits = 1;
  int split_depth = 0;  // of each but the last
};

// The largest stride between rows or columns: a tile's offsets are 32 bits.
inline constexpr int64_t kMaxSgemmStride = int64_t{1} << 24;

// Of the tiles and splits whose partial sums take at most `bytes`, the fastest by an estimate for the H200;
// on every device, so that a problem is always computed in the same way.
SgemmSplit choose_split(const SgemmProduct& product, int64_t bytes);

// Of the sums of all splits, which are stored and then added; none for one split.
int64_t partial_bytes(const SgemmProduct& product, const SgemmSplit& split);

// With the padding to whole tiles: operations, and bytes that blocks bring to shared memory.
double executed_flops(const SgemmProduct& product, const SgemmSplit& split);
double staged_bytes(const SgemmProduct& product, const SgemmSplit& split);

}  // namespace convscope::im2col_gemm

namespace convscope {
CONVSCOPE_IN_BOTH(
    // `partials` has partial_bytes(). Two launches where there are splits, which are added in order.
    void sgemm(const im2col_gemm::SgemmProduct&, const im2col_gemm::SgemmSplit&, float* partials, Queue&,
               const im2col_gemm::SgemmFinish& = {});
    // C (with beta 1, C +) the sum of `count` matrices of rows x columns of each of the batch, which lie one
    // after another in `partials`.
    void add_partials(const im2col_gemm::SgemmProduct&, const float* partials, int count, Queue&,
                      const im2col_gemm::SgemmFinish& = {});)
}  // namespace convscope

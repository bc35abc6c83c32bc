// Our SGEMM of row-major matrices in device memory, either one transposed, of any sizes and strides, with a
// batch: how a product is cut into block tiles and, along the depth, into splits (sgemm.cpp), and the kernels
// (sgemm.cu). A second SGEMM beside winograd's because that one needs sizes and strides that are multiples of
// 4, which a user's tensors are not.
#pragma once

#include <array>
#include <cstdint>

#include "bench/device/blas.hpp"

namespace convscope::im2col_gemm {

using SgemmProduct = Product<float>;  // alpha is 1, beta 0 or 1

// A block computes kSgemmRows x columns of C, or of the transpose of C where C has more columns than rows,
// kSgemmDepth of the depth at a time.
inline constexpr int kSgemmRows = 128, kSgemmDepth = 8;
inline constexpr std::array kSgemmColumns{128, 64, 32};
// Depth that a sum in registers may run over: the error of a running sum grows with its length.
inline constexpr int kLongestSgemmSum = 16384;

struct SgemmCut {
  int columns = kSgemmColumns[0];
  int splits = 1;
  int split_depth = 0;  // of each but the last
};

// No stride between rows or columns may be longer: a tile's offsets are 32 bits.
inline constexpr int64_t kLongestSgemmStride = int64_t{1} << 24;

// The cheapest by an estimate for the H200 (on other devices too, so that the same problem is always computed
// in the same way) of those whose partial sums take at most `bytes`.
SgemmCut choose_cut(const SgemmProduct& product, int64_t bytes);

// Sums of all splits, stored before they are added; none for one split.
int64_t partial_bytes(const SgemmProduct& product, const SgemmCut& cut);

// Padding to whole tiles included.
double executed_flops(const SgemmProduct& product, const SgemmCut& cut);

}  // namespace convscope::im2col_gemm

namespace convscope::cuda {
// `partials` has partial_bytes(). Two launches where there are splits, which are added in order.
void sgemm(const im2col_gemm::SgemmProduct&, const im2col_gemm::SgemmCut&, float* partials, Queue&);
// C (with beta 1, C +) the sum of `count` matrices of rows x columns of each of the batch, which lie one
// after another in `partials`.
void add_partials(const im2col_gemm::SgemmProduct&, const float* partials, int count, Queue&);
}  // namespace convscope::cuda
namespace convscope::emulated {
void sgemm(const im2col_gemm::SgemmProduct&, const im2col_gemm::SgemmCut&, float* partials, Queue&);
void add_partials(const im2col_gemm::SgemmProduct&, const float* partials, int count, Queue&);
}  // namespace convscope::emulated

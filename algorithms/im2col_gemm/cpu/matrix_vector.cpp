// See matrix_vector.hpp. A row-major matrix makes scalar products, several rows at a time; a column-major one
// adds multiples of its lines to y. Start at multiply.
#include "algorithms/im2col_gemm/cpu/matrix_vector.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/im2col_gemm/cpu/matrix_vector.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "algorithms/common/partial_vectors-inl.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/common/tally.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
using im2col_gemm::VectorProduct;

constexpr int kLanes = HWY_LANES(float);
constexpr int kRegisters = kLanes == 16 || HWY_ARCH_ARM_A64 ? 32 : 16;
// Vectors that each element of a row is multiplied with while it is in a register.
constexpr int kTogether = 8;
// Rows of this many elements together stay in L2, where further vectors read them again.
constexpr int64_t kBlockElements = 1 << 16;

// Rows that are multiplied with N vectors together: as many sums as registers hold.
template <int N>
constexpr int kRows = HWY_MAX(1, HWY_MIN(4, (kRegisters - 8) / N));

// Elements [row, row + Rows) of vectors [first, first + N).
template <int Rows, int N>
HWY_INLINE void scalar_products(const VectorProduct& p, int64_t row, int64_t first) {
  tally_product(int64_t{2} * Rows * N * round_up(p.depth, kLanes));
  const Tag tag;
  Vector sum[Rows][N];
  for (auto& of_row : sum)
    for (Vector& one : of_row) one = hn::Zero(tag);
  const float* const matrix = p.matrix + row * p.stride;
  const float* const x = p.x + first * p.x_step;
  const auto step = [&](int64_t k, const auto& load) HWY_ATTR {
    Vector of_x[N];
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) of_x[n] = load(x + n * p.x_step + k);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
      const Vector line = load(matrix + i * p.stride + k);
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n) sum[i][n] = hn::MulAdd(line, of_x[n], sum[i][n]);
    }
  };
  int64_t k = 0;
  for (; k + kLanes <= p.depth; k += kLanes)
    step(k, [&](const float* from) HWY_ATTR { return hn::LoadU(tag, from); });
  if (const auto left = static_cast<size_t>(p.depth - k); left > 0)
    step(k, [&](const float* from) HWY_ATTR { return load_partial(tag, from, left); });
  for (int i = 0; i < Rows; ++i)
    for (int n = 0; n < N; ++n) {
      float& y = p.y[(first + n) * p.y_step + row + i];
      y = hn::GetLane(hn::SumOfLanes(tag, sum[i][n])) + (p.accumulate ? y : 0);
    }
}

template <int N>
void by_rows(const VectorProduct& p, int64_t begin, int64_t end, int64_t first) {
  int64_t row = begin;
  for (; row + kRows<N> <= end; row += kRows<N>) scalar_products<kRows<N>, N>(p, row, first);
  for (; row < end; ++row) scalar_products<1, N>(p, row, first);
}

// Lines of a column-major matrix that are added together: y is read and written once for them.
template <int N>
constexpr int kLines = HWY_MAX(2, HWY_MIN(8, kRegisters / 2 / N));

// Elements [begin, end) of N vectors, what lines [k, k + Lines) add.
template <int Lines, int N>
HWY_INLINE void add_lines(const VectorProduct& p, int64_t k, int64_t begin, int64_t end) {
  tally_product(int64_t{2} * Lines * N * round_up(end - begin, kLanes));
  const Tag tag;
  Vector x[Lines][N];
  for (int i = 0; i < Lines; ++i)
    for (int n = 0; n < N; ++n) x[i][n] = hn::Set(tag, p.x[n * p.x_step + k + i]);
  const bool fresh = k == 0 && !p.accumulate;
  const float* const matrix = p.matrix + k * p.stride;
  const auto step = [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
    Vector sum[N];
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) sum[n] = fresh ? hn::Zero(tag) : load(p.y + n * p.y_step + j);
#pragma GCC unroll 8
    for (int i = 0; i < Lines; ++i) {
      const Vector line = load(matrix + i * p.stride + j);
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n) sum[n] = hn::MulAdd(line, x[i][n], sum[n]);
    }
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) store(sum[n], p.y + n * p.y_step + j);
  };
  int64_t j = begin;
  for (; j + kLanes <= end; j += kLanes)
    step(
        j, [&](const float* from) HWY_ATTR { return hn::LoadU(tag, from); },
        [&](Vector value, float* to) HWY_ATTR { hn::StoreU(value, tag, to); });
  if (const auto left = static_cast<size_t>(end - j); left > 0)
    step(
        j, [&](const float* from) HWY_ATTR { return load_partial(tag, from, left); },
        [&](Vector value, float* to) HWY_ATTR { store_partial(value, tag, to, left); });
}

template <int N>
void by_lines(const VectorProduct& p, int64_t begin, int64_t end) {
  int64_t k = 0;
  for (; k + kLines<N> <= p.depth; k += kLines<N>) add_lines<kLines<N>, N>(p, k, begin, end);
  for (; k < p.depth; ++k) add_lines<1, N>(p, k, begin, end);
}

template <size_t... I>
constexpr auto each_by_rows(std::index_sequence<I...>) {
  return std::array{by_rows<static_cast<int>(I) + 1>...};
}
template <size_t... I>
constexpr auto each_by_lines(std::index_sequence<I...>) {
  return std::array{by_lines<static_cast<int>(I) + 1>...};
}

void multiply(const VectorProduct& p, int64_t begin, int64_t end) {
  // [n - 1] is for n vectors.
  constexpr auto kByRows = each_by_rows(std::make_index_sequence<kTogether>{});
  constexpr auto kByLines = each_by_lines(std::make_index_sequence<im2col_gemm::kMaxVectorsByLines>{});
  if (p.transposed) return kByLines[static_cast<size_t>(p.vectors - 1)](p, begin, end);
  const int64_t block = std::max<int64_t>(1, kBlockElements / p.depth / kRows<kTogether>) * kRows<kTogether>;
  for (int64_t row = begin; row < end; row += block)
    for (int64_t n = 0; n < p.vectors; n += kTogether) {
      const int64_t count = std::min<int64_t>(kTogether, p.vectors - n);
      kByRows[static_cast<size_t>(count - 1)](p, row, std::min(row + block, end), n);
    }
}

}  // namespace
}  // namespace convscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope::im2col_gemm {

HWY_EXPORT(multiply);

void multiply_vectors(const VectorProduct& product, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(multiply)(product, begin, end);
}

}  // namespace convscope::im2col_gemm
#endif  // HWY_ONCE

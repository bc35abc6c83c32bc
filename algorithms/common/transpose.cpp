// Blocks of 4x4 matrices in registers, compiled once for each instruction set. Start at transpose_matrix().
#include "algorithms/common/transpose.hpp"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/common/transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convscope::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void transpose_any(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
                   int64_t columns) {
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t r = 0; r < rows; ++r) out[column * out_step + r] = in[r * in_step + column];
}

#if HWY_TARGET == HWY_SCALAR
void transpose_matrix(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
                      int64_t columns) {
  transpose_any(in, in_step, out, out_step, rows, columns);
}
#else
// Two or three rows to pairs or triples without a gap, as the channels of a first layer.
void interleave(const float* in, int64_t in_step, float* out, int64_t rows, int64_t columns) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = HWY_LANES(float);
  int64_t column = 0;
  for (; column + lanes <= columns; column += lanes) {
    const float* const at = in + column;
    const auto first = hn::LoadU(d, at), second = hn::LoadU(d, at + in_step);
    if (rows == 2)
      hn::StoreInterleaved2(first, second, d, out + 2 * column);
    else
      hn::StoreInterleaved3(first, second, hn::LoadU(d, at + 2 * in_step), d, out + 3 * column);
  }
  transpose_any(in + column, in_step, out + rows * column, rows, rows, columns - column);
}

// The way back: pairs or triples without a gap to two or three columns, as the taps of a 3x1 filter.
void deinterleave(const float* in, float* out, int64_t out_step, int64_t rows, int64_t columns) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = HWY_LANES(float);
  int64_t row = 0;
  for (; row + lanes <= rows; row += lanes) {
    hn::Vec<decltype(d)> first, second, third;
    float* const to = out + row;
    if (columns == 2) {
      hn::LoadInterleaved2(d, in + 2 * row, first, second);
    } else {
      hn::LoadInterleaved3(d, in + 3 * row, first, second, third);
      hn::StoreU(third, d, to + 2 * out_step);
    }
    hn::StoreU(first, d, to);
    hn::StoreU(second, d, to + out_step);
  }
  transpose_any(in + columns * row, columns, out + row, out_step, rows - row, columns);
}

using TransposeBlock = void (*)(const float* in, int64_t in_step, float* out, int64_t out_step);

// 4x4 matrices are transposed as many at once as a register has blocks of 4 floats: matrix i is in block i
// of four registers.
constexpr int64_t kBlockedLanes = HWY_TARGET <= HWY_AVX3 ? 16 : HWY_TARGET == HWY_AVX2 ? 8 : 4;

template <class D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D> (&v)[4]) {
  const hn::RepartitionToWide<D> wide;
  const auto ab_low = hn::BitCast(wide, hn::InterleaveLower(d, v[0], v[1]));
  const auto ab_high = hn::BitCast(wide, hn::InterleaveUpper(d, v[0], v[1]));
  const auto ce_low = hn::BitCast(wide, hn::InterleaveLower(d, v[2], v[3]));
  const auto ce_high = hn::BitCast(wide, hn::InterleaveUpper(d, v[2], v[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(wide, ab_low, ce_low));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(wide, ab_low, ce_low));
  v[2] = hn::BitCast(d, hn::InterleaveLower(wide, ab_high, ce_high));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(wide, ab_high, ce_high));
}

// Block i at i * step.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, int64_t step) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr int64_t blocks = hn::MaxLanes(hn::Half<D>()) / 4;
    return hn::Combine(d, load_blocks(half, from + blocks * step, step), load_blocks(half, from, step));
  }
}

template <class D>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, float* to, int64_t step) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    constexpr int64_t blocks = hn::MaxLanes(hn::Half<D>()) / 4;
    store_blocks(half, hn::LowerHalf(half, v), to, step);
    store_blocks(half, hn::UpperHalf(half, v), to + blocks * step, step);
  }
}

// kRows rows of 4 columns: rows i, i + 4, i + 8, ... share a register, and whole registers are stored.
template <int64_t kRows>
HWY_INLINE void transpose_tall(const float* in, int64_t in_step, float* out, int64_t out_step) {
  const hn::FixedTag<float, size_t{kRows}> d;
  hn::Vec<decltype(d)> v[4] = {load_blocks(d, in, 4 * in_step), load_blocks(d, in + in_step, 4 * in_step),
                               load_blocks(d, in + 2 * in_step, 4 * in_step),
                               load_blocks(d, in + 3 * in_step, 4 * in_step)};
  transpose_blocks(d, v);
  for (int i = 0; i < 4; ++i) hn::StoreU(v[i], d, out + i * out_step);
}

// 4 rows of kColumns columns.
template <int64_t kColumns>
HWY_INLINE void transpose_flat(const float* in, int64_t in_step, float* out, int64_t out_step) {
  const hn::FixedTag<float, size_t{kColumns}> d;
  hn::Vec<decltype(d)> v[4] = {hn::LoadU(d, in), hn::LoadU(d, in + in_step), hn::LoadU(d, in + 2 * in_step),
                               hn::LoadU(d, in + 3 * in_step)};
  transpose_blocks(d, v);
  for (int i = 0; i < 4; ++i) store_blocks(d, v[i], out + i * out_step, 4 * out_step);
}

#if HWY_TARGET <= HWY_AVX3
constexpr int64_t kSquare = 16;

// The 4x4 matrix of the registers' blocks.
template <class D>
HWY_INLINE void transpose_whole_blocks(D d, hn::Vec<D> (&v)[4]) {
  const auto pair = [&](hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D>& even, hn::Vec<D>& odd) HWY_ATTR {
    even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    odd = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  };
  hn::Vec<D> low_even, low_odd, high_even, high_odd;
  pair(v[0], v[1], low_even, low_odd);
  pair(v[2], v[3], high_even, high_odd);
  v[0] = hn::ConcatLowerLower(d, high_even, low_even);
  v[1] = hn::ConcatLowerLower(d, high_odd, low_odd);
  v[2] = hn::ConcatUpperUpper(d, high_even, low_even);
  v[3] = hn::ConcatUpperUpper(d, high_odd, low_odd);
}

// 16 columns of 16 rows, or of `rows` where those are fewer: each line of memory is read once. Rows a power
// of two apart share few sets of L1, which does not hold them from one block of 4 columns to the next.
template <bool kWhole>
HWY_INLINE void transpose_columns(const float* in, int64_t in_step, float* out, int64_t out_step,
                                  int64_t rows) {
  const hn::FixedTag<float, size_t{kSquare}> d;
  using V = hn::Vec<decltype(d)>;
  V columns[4][4];  // [i][g]: in block b, of the rows 4 g to 4 g + 3, column 4 b + i
  const auto load = [&](int64_t row) HWY_ATTR {
    return hn::LoadU(d, in + (kWhole ? row : HWY_MIN(row, rows - 1)) * in_step);
  };
  for (int g = 0; g < 4; ++g) {
    V four[4] = {load(4 * g), load(4 * g + 1), load(4 * g + 2), load(4 * g + 3)};
    transpose_blocks(d, four);
    for (int i = 0; i < 4; ++i) columns[i][g] = four[i];
  }
  const auto used = hn::FirstN(d, static_cast<size_t>(rows));
  for (int i = 0; i < 4; ++i) {
    transpose_whole_blocks(d, columns[i]);
    for (int b = 0; b < 4; ++b) {
      float* const to = out + (4 * b + i) * out_step;
      if (kWhole)
        hn::StoreU(columns[i][b], d, to);
      else
        hn::BlendedStore(columns[i][b], used, d, to);
    }
  }
}

HWY_INLINE void transpose_square(const float* in, int64_t in_step, float* out, int64_t out_step) {
  transpose_columns<true>(in, in_step, out, out_step, kSquare);
}
#endif

// In blocks of kRows x kColumns; a side that is no multiple ends with a block that overlaps the one before.
// Along the long side of a block only once: its rows may be pages apart, and few such lines fit into a cache
// at a time. Square blocks go along the side whose lines lie farther apart, in memory rather than in a cache:
// the hardware follows 16 of them, not all.
template <TransposeBlock kBlock, int64_t kRows, int64_t kColumns>
HWY_INLINE void transpose_by(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
                             int64_t columns) {
  const auto block = [&](int64_t next_row, int64_t next_column) HWY_ATTR {
    const int64_t row = HWY_MIN(next_row, rows - kRows), column = HWY_MIN(next_column, columns - kColumns);
    kBlock(in + row * in_step + column, in_step, out + column * out_step + row, out_step);
  };
  if (kRows > kColumns || (kRows == kColumns && in_step > out_step)) {
    for (int64_t row = 0; row < rows; row += kRows)
      for (int64_t column = 0; column < columns; column += kColumns) block(row, column);
  } else {
    for (int64_t column = 0; column < columns; column += kColumns)
      for (int64_t row = 0; row < rows; row += kRows) block(row, column);
  }
}

void transpose_matrix(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
                      int64_t columns) {
  constexpr int64_t lanes = kBlockedLanes;
#if HWY_TARGET <= HWY_AVX3
  if (rows >= kSquare && columns >= kSquare) {
    const int64_t squares = columns / kSquare * kSquare, rest = columns - squares;
    transpose_by<transpose_square, kSquare, kSquare>(in, in_step, out, out_step, rows, squares);
    if (rest == 0) return;
    // At least a block of 4, some of whose columns are done.
    const int64_t done = squares - HWY_MAX(4 - rest, int64_t{0});
    in += done;
    out += done * out_step;
    columns -= done;
  } else if (2 * rows > kSquare && columns >= kSquare) {
    for (int64_t next = 0; next < columns; next += kSquare) {
      const int64_t column = HWY_MIN(next, columns - kSquare);
      transpose_columns<false>(in + column, in_step, out + column * out_step, out_step, rows);
    }
    return;
  }
#endif
  if ((rows == 2 || rows == 3) && out_step == rows)
    interleave(in, in_step, out, rows, columns);
  else if ((columns == 2 || columns == 3) && in_step == columns)
    deinterleave(in, out, out_step, rows, columns);
  else if (rows < 4 || columns < 4)
    transpose_any(in, in_step, out, out_step, rows, columns);
  else if (rows >= lanes)
    transpose_by<transpose_tall<lanes>, lanes, 4>(in, in_step, out, out_step, rows, columns);
  else if (columns >= lanes)
    transpose_by<transpose_flat<lanes>, 4, lanes>(in, in_step, out, out_step, rows, columns);
  else
    transpose_by<transpose_tall<4>, 4, 4>(in, in_step, out, out_step, rows, columns);
}
#endif

}  // namespace
}  // namespace convscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {

HWY_EXPORT(transpose_matrix);

void transpose(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
               int64_t columns) {
  HWY_DYNAMIC_DISPATCH(transpose_matrix)(in, in_step, out, out_step, rows, columns);
}

}  // namespace convscope
#endif  // HWY_ONCE

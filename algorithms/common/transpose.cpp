// Blocks of 4x4 matrices in registers, compiled once for each instruction set. Start at transpose_matrix().
#include "algorithms/common/transpose.hpp"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/common/transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "algorithms/common/partial_vectors-inl.hpp"

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

// 4x4 matrices are transposed as many at once as a register has blocks of 4 floats: matrix i lies in block i
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
// of two apart share few sets of the first cache, which does not hold them from one block of 4 columns to the
// next.
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

void copy_matrix(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
                 int64_t columns) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = HWY_LANES(float);
  constexpr int64_t kRowsAhead = 4;  // the hardware does not guess where the next row is
  for (int64_t row = 0; row < rows; ++row, in += in_step, out += out_step) {
    int64_t column = 0;
    for (; column + lanes <= columns; column += lanes) {
      __builtin_prefetch(in + kRowsAhead * in_step + column);
      hn::StoreU(hn::LoadU(d, in + column), d, out + column);
    }
    for (; column < columns; ++column) out[column] = in[column];
  }
}

#if HWY_TARGET != HWY_SCALAR
// The lanes [begin, end).
template <class D>
HWY_INLINE hn::Mask<D> lanes_between(D d, int64_t begin, int64_t end) {
  return hn::AndNot(hn::FirstN(d, static_cast<size_t>(begin)), hn::FirstN(d, static_cast<size_t>(end)));
}

// The lanes are in[lane * kEvery]. Reads up to the place of the next one.
template <int kEvery, class D>
HWY_INLINE hn::Vec<D> load_every(D d, const float* in) {
  if constexpr (kEvery == 1)
    return hn::LoadU(d, in);
  else
    return hn::ConcatEven(d, hn::LoadU(d, in + HWY_LANES(float)), hn::LoadU(d, in));
}

// Lanes [begin, end) of a vector are in[lane * kEvery], the others zero.
template <int kEvery, class D>
HWY_INLINE hn::Vec<D> load_strided(D d, const float* in, int64_t begin, int64_t end) {
  if constexpr (kEvery == 1) {
    return hn::MaskedLoad(lanes_between(d, begin, end), d, in);
  } else {
    constexpr int64_t lanes = HWY_LANES(float), half = lanes / 2;
    const auto part = [&](int64_t first) HWY_ATTR {
      const int64_t from = HWY_MIN(HWY_MAX(begin - first, int64_t{0}), half);
      const int64_t to = HWY_MIN(HWY_MAX(end - first, int64_t{0}), half);
      const auto mask = lanes_between(d, 2 * from, HWY_MAX(2 * to - 1, int64_t{0}));
      return hn::MaskedLoad(mask, d, in + 2 * first);
    };
    return hn::ConcatEven(d, part(half), part(0));
  }
}

template <int kEvery>
void copy_strided_by_vectors(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
                             const PaddedRow& shape) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = HWY_LANES(float);
  constexpr int64_t kNarrow = 2 * lanes;
  const int64_t end = shape.before + shape.columns, width = end + shape.after;
  // Narrow rows a vector of columns at a time, whose masks are made once; wide ones as they lie.
  const int64_t together = width <= kNarrow ? rows : 1;
  for (int64_t row = 0; row < rows; row += together)
    for (int64_t column = 0; column < width; column += lanes) {
      const int64_t first = HWY_MIN(HWY_MAX(shape.before - column, int64_t{0}), lanes);
      const int64_t last = HWY_MIN(HWY_MAX(end - column, first), lanes);
      const auto used = static_cast<size_t>(HWY_MIN(width - column, lanes));
      const float* from = in + row * in_step + (column - shape.before) * kEvery;
      float* to = out + row * out_step + column;
      if (together == 1 && first == 0 && column + lanes < end)
        hn::StoreU(load_every<kEvery>(d, from), d, to);
      else
        for (int64_t i = 0; i < together; ++i, from += in_step, to += out_step)
          store_partial(load_strided<kEvery>(d, from, first, last), d, to, used);
    }
}

// The first `count` lanes to out[lane * kEvery].
template <int kEvery, bool kAdd, class D>
HWY_INLINE void store_spread(hn::Vec<D> value, D d, float* out, int64_t count) {
  const auto store = [&](hn::Vec<D> part, float* to, hn::Mask<D> mask) HWY_ATTR {
    if constexpr (kAdd) part = hn::Add(part, hn::MaskedLoad(mask, d, to));
    hn::BlendedStore(part, mask, d, to);
  };
  if constexpr (kEvery == 1) {
    store(value, out, hn::FirstN(d, static_cast<size_t>(count)));
  } else {
    constexpr int64_t lanes = HWY_LANES(float), half = lanes / 2;
    const hn::RebindToSigned<D> d_int;
    const auto twice = hn::ShiftRight<1>(hn::Iota(d_int, 0));
    const auto even =
        hn::RebindMask(d, hn::Eq(hn::And(hn::Iota(d_int, 0), hn::Set(d_int, 1)), hn::Zero(d_int)));
    const auto part = [&](int64_t first) HWY_ATTR {
      const int64_t used = HWY_MIN(count - first, half);
      if (used <= 0) return;
      const auto lane = hn::Add(twice, hn::Set(d_int, static_cast<int32_t>(first)));
      const auto spread = hn::TableLookupLanes(value, hn::IndicesFromVec(d, lane));
      store(spread, out + 2 * first, hn::And(even, hn::FirstN(d, static_cast<size_t>(2 * used - 1))));
    };
    part(0);
    part(half);
  }
}

template <int kEvery, bool kAdd>
void spread_by_vectors(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
                       int64_t columns) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = HWY_LANES(float);
  for (int64_t row = 0; row < rows; ++row, in += in_step, out += out_step)
    for (int64_t column = 0; column < columns; column += lanes) {
      const int64_t count = HWY_MIN(columns - column, lanes);
      const auto value = load_partial(d, in + column, static_cast<size_t>(count));
      store_spread<kEvery, kAdd>(value, d, out + column * kEvery, count);
    }
}
#endif

void copy_strided(const float* in, int64_t in_step, int64_t every, float* out, int64_t out_step, int64_t rows,
                  const PaddedRow& shape) {
#if HWY_TARGET != HWY_SCALAR
  if (kMasks && every == 1) return copy_strided_by_vectors<1>(in, in_step, out, out_step, rows, shape);
  if (kMasks && every == 2) return copy_strided_by_vectors<2>(in, in_step, out, out_step, rows, shape);
#endif
  for (int64_t row = 0; row < rows; ++row, in += in_step, out += out_step) {
    float* to = out;
    for (int64_t i = 0; i < shape.before; ++i) *to++ = 0;
    for (int64_t i = 0; i < shape.columns; ++i) *to++ = in[i * every];
    for (int64_t i = 0; i < shape.after; ++i) *to++ = 0;
  }
}

template <bool kAdd>
void spread(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t every, int64_t rows,
            int64_t columns) {
#if HWY_TARGET != HWY_SCALAR
  if (kMasks && every == 1) return spread_by_vectors<1, kAdd>(in, in_step, out, out_step, rows, columns);
  if (kMasks && every == 2) return spread_by_vectors<2, kAdd>(in, in_step, out, out_step, rows, columns);
#endif
  for (int64_t row = 0; row < rows; ++row, in += in_step, out += out_step)
    for (int64_t column = 0; column < columns; ++column)
      out[column * every] = kAdd ? out[column * every] + in[column] : in[column];
}

void spread_set(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t every, int64_t rows,
                int64_t columns) {
  spread<false>(in, in_step, out, out_step, every, rows, columns);
}

void spread_add(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t every, int64_t rows,
                int64_t columns) {
  spread<true>(in, in_step, out, out_step, every, rows, columns);
}

}  // namespace
}  // namespace convscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {

HWY_EXPORT(transpose_matrix);
HWY_EXPORT(copy_matrix);
HWY_EXPORT(copy_strided);
HWY_EXPORT(spread_set);
HWY_EXPORT(spread_add);

void transpose(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
               int64_t columns) {
  HWY_DYNAMIC_DISPATCH(transpose_matrix)(in, in_step, out, out_step, rows, columns);
}

void copy_rows(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
               int64_t columns) {
  HWY_DYNAMIC_DISPATCH(copy_matrix)(in, in_step, out, out_step, rows, columns);
}

void copy_strided_rows(const float* in, int64_t in_step, int64_t every, float* out, int64_t out_step,
                       int64_t rows, const PaddedRow& row_shape) {
  HWY_DYNAMIC_DISPATCH(copy_strided)(in, in_step, every, out, out_step, rows, row_shape);
}

void spread_rows(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t every, int64_t rows,
                 int64_t columns) {
  HWY_DYNAMIC_DISPATCH(spread_set)(in, in_step, out, out_step, every, rows, columns);
}

void add_spread_rows(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t every,
                     int64_t rows, int64_t columns) {
  HWY_DYNAMIC_DISPATCH(spread_add)(in, in_step, out, out_step, every, rows, columns);
}

}  // namespace convscope
#endif  // HWY_ONCE

// Rows copied, strided and spread (transpose.hpp), compiled once for each instruction set.
#include <cstddef>

#include "algorithms/common/transpose.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/common/strided_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "algorithms/common/partial_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void copy_matrix(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows,
                 int64_t columns) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = HWY_LANES(float);
  constexpr int64_t kPrefetchedRows = 4;  // the hardware does not guess where the next row begins
  for (int64_t row = 0; row < rows; ++row, in += in_step, out += out_step) {
    int64_t column = 0;
    for (; column + lanes <= columns; column += lanes) {
      __builtin_prefetch(in + kPrefetchedRows * in_step + column);
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

// The lanes are in[lane * kEvery]; kEvery is a power of two. Reads up to the place of the next one.
template <int kEvery, class D>
HWY_INLINE hn::Vec<D> load_every(D d, const float* in) {
  if constexpr (kEvery == 1)
    return hn::LoadU(d, in);
  else
    return hn::ConcatEven(d, load_every<kEvery / 2>(d, in + kEvery / 2 * HWY_LANES(float)),
                          load_every<kEvery / 2>(d, in));
}

// Lanes [begin, end) of a vector are in[lane * kEvery], the others zero.
template <int kEvery, class D>
HWY_INLINE hn::Vec<D> load_strided(D d, const float* in, int64_t begin, int64_t end) {
  if constexpr (kEvery == 1) {
    return hn::MaskedLoad(lanes_between(d, begin, end), d, in);
  } else {
    constexpr int64_t half = HWY_LANES(float) / 2;
    // The even lanes of a vector of every (kEvery / 2)th are lanes [first, first + half).
    const auto part = [&](int64_t first) HWY_ATTR {
      const int64_t from = HWY_MIN(HWY_MAX(begin - first, int64_t{0}), half);
      const int64_t to = HWY_MIN(HWY_MAX(end - first, int64_t{0}), half);
      return load_strided<kEvery / 2>(d, in + kEvery * first, 2 * from, HWY_MAX(2 * to - 1, int64_t{0}));
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
  // Narrow rows a vector of columns at a time, whose masks are made once; wide ones row by row.
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

// Stores the first `count` lanes to out[lane * kEvery].
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
  if (kMasks && every == 4) return copy_strided_by_vectors<4>(in, in_step, out, out_step, rows, shape);
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

HWY_EXPORT(copy_matrix);
HWY_EXPORT(copy_strided);
HWY_EXPORT(spread_set);
HWY_EXPORT(spread_add);

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

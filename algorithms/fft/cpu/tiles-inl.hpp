// Moves one row of samples of up to kLanes tiles between a tensor of any layout and [column][lane] order.
// Included once per instruction set (Highway). Three ways: lanes adjacent in memory (NHWC), columns adjacent
// (NCHW: small transposes in registers), and anything else element by element.
#if defined(CONVSCOPE_FFT_TILES) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVSCOPE_FFT_TILES
#undef CONVSCOPE_FFT_TILES
#else
#define CONVSCOPE_FFT_TILES
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "algorithms/common/partial_vectors-inl.hpp"
#include "algorithms/fft/cpu/codelets-inl.hpp"
#include "algorithms/fft/cpu/transforms.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope::fft::HWY_NAMESPACE {

// Where the samples of each lane are: sample (i, j) at offset + i * row_step + j * column_step for i in h and
// j in w.
struct TileBatch {
  int count = 0;
  bool uniform = true;  // all lanes have the same ranges and lie lane_step apart
  int64_t row_step = 0, column_step = 0, lane_step = 0;
  int64_t offset[kLanes] = {};  // of unused lanes: lane 0's
  Range h[kLanes], w[kLanes];
  Range rows;  // the union of h
};

inline TileBatch locate(const LanePlanes& planes) {
  const Axis &h = planes.operand->h, &w = planes.operand->w;
  TileBatch batch;
  batch.count = planes.count;
  batch.row_step = h.step * h.stride;
  batch.column_step = w.step * w.stride;
  if (planes.count == 0) return batch;
  batch.lane_step = planes.count > 1 ? planes.lanes[1].offset - planes.lanes[0].offset : 1;
  const Item& other = *planes.other;
  for (int l = 0; l < kLanes; ++l) {
    const Item& lane = planes.lanes[l < planes.count ? l : 0];
    const Extent2 first = origin(h, w, lane, other);
    batch.offset[l] = lane.offset + other.offset + first.h * h.stride + first.w * w.stride;
    batch.h[l] = inside(h, first.h);
    batch.w[l] = inside(w, first.w);
    if (l >= planes.count) continue;
    batch.uniform = batch.uniform && lane.residue == planes.lanes[0].residue &&
                    batch.offset[l] == batch.offset[0] + l * batch.lane_step;
  }
  batch.rows = batch.h[0];
  for (const Range& range : batch.h) {
    batch.rows.first = std::min(batch.rows.first, range.first);
    batch.rows.last = std::max(batch.rows.last, range.last);
  }
  return batch;
}

HWY_INLINE Vector load_first(const float* from, int64_t count) {
  const Tag tag;
  if (count == kLanes) return hn::LoadU(tag, from);
  return convscope::HWY_NAMESPACE::load_partial(tag, from, static_cast<size_t>(count));
}

HWY_INLINE void store_first(Vector value, float* to, int64_t count) {
  const Tag tag;
  if (count == kLanes) return hn::StoreU(value, tag, to);
  convscope::HWY_NAMESPACE::store_partial(value, tag, to, static_cast<size_t>(count));
}

// Transposes a kLanes x kLanes matrix: first 4x4 inside blocks of 128 bits, then the blocks.
HWY_INLINE void transpose([[maybe_unused]] Vector (&v)[kLanes]) {
#if HWY_TARGET != HWY_SCALAR
  static_assert(kLanes == 4 || kLanes == 8 || kLanes == 16);
  const Tag tag;
  const hn::Repartition<double, Tag> wide;
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    const auto low01 = hn::BitCast(wide, hn::InterleaveLower(tag, v[i], v[i + 1]));
    const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(tag, v[i], v[i + 1]));
    const auto low23 = hn::BitCast(wide, hn::InterleaveLower(tag, v[i + 2], v[i + 3]));
    const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(tag, v[i + 2], v[i + 3]));
    v[i] = hn::BitCast(tag, hn::InterleaveLower(wide, low01, low23));
    v[i + 1] = hn::BitCast(tag, hn::InterleaveUpper(wide, low01, low23));
    v[i + 2] = hn::BitCast(tag, hn::InterleaveLower(wide, high01, high23));
    v[i + 3] = hn::BitCast(tag, hn::InterleaveUpper(wide, high01, high23));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    if constexpr (kLanes == 8) {
      const Vector a = v[i], b = v[i + 4];
      v[i] = hn::ConcatLowerLower(tag, b, a);
      v[i + 4] = hn::ConcatUpperUpper(tag, b, a);
    } else if constexpr (kLanes == 16) {
      const Vector low02 = hn::ConcatLowerLower(tag, v[i + 8], v[i]);
      const Vector high02 = hn::ConcatUpperUpper(tag, v[i + 8], v[i]);
      const Vector low13 = hn::ConcatLowerLower(tag, v[i + 12], v[i + 4]);
      const Vector high13 = hn::ConcatUpperUpper(tag, v[i + 12], v[i + 4]);
      v[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low13), low02);
      v[i + 4] = hn::OddEvenBlocks(low13, hn::SwapAdjacentBlocks(low02));
      v[i + 8] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high13), high02);
      v[i + 12] = hn::OddEvenBlocks(high13, hn::SwapAdjacentBlocks(high02));
    }
  }
#endif
}

// The start and length of the block of columns at j; the last block overlaps the one before when it can.
struct ColumnBlock {
  int64_t first, count;
};
HWY_INLINE ColumnBlock column_block(Range columns, int64_t j) {
  if (columns.last - j >= kLanes) return {j, kLanes};
  if (columns.last - columns.first >= kLanes) return {columns.last - kLanes, kLanes};
  return {j, columns.last - j};
}

HWY_INLINE void gather_transposed(const float* tensor, const TileBatch& batch, int64_t i, float* row) {
  const Tag tag;
  for (int64_t j = batch.w[0].first; j < batch.w[0].last; j += kLanes) {
    const auto [first, count] = column_block(batch.w[0], j);
    const float* from = tensor + i * batch.row_step + first;
    Vector v[kLanes];
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l) v[l] = load_first(from + batch.offset[l], count);
    transpose(v);
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l)
      if (l < count) hn::Store(v[l], tag, row + (first + l) * kLanes);
  }
}

// row[j * kLanes + lane] for the samples inside the tensor. Other samples keep what they held, which must be
// zero; for batches that are not uniform they are set to zero here.
HWY_INLINE void gather_row(const float* tensor, const TileBatch& batch, int64_t i, int size, float* row) {
  const Tag tag;
  if (batch.uniform && batch.lane_step == 1) {
    const float* from = tensor + batch.offset[0] + i * batch.row_step;
    for (int64_t j = batch.w[0].first; j < batch.w[0].last; ++j)
      hn::Store(load_first(from + j * batch.column_step, batch.count), tag, row + j * kLanes);
    return;
  }
  if (batch.uniform && batch.column_step == 1) return gather_transposed(tensor, batch, i, row);
  if (!batch.uniform) std::fill_n(row, size * kLanes, 0.0f);
  for (int l = 0; l < batch.count; ++l) {
    if (!batch.h[l].contains(i)) continue;
    const float* from = tensor + batch.offset[l] + i * batch.row_step;
    for (int64_t j = batch.w[l].first; j < batch.w[l].last; ++j)
      row[j * kLanes + l] = from[j * batch.column_step];
  }
}

HWY_INLINE void scatter_transposed(const float* row, const TileBatch& batch, int64_t i, float* tensor) {
  const Tag tag;
  for (int64_t j = batch.w[0].first; j < batch.w[0].last; j += kLanes) {
    const auto [first, count] = column_block(batch.w[0], j);
    float* to = tensor + i * batch.row_step + first;
    Vector v[kLanes];
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l) v[l] = hn::Load(tag, row + (l < count ? first + l : first) * kLanes);
    transpose(v);
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l)
      if (l < batch.count) store_first(v[l], to + batch.offset[l], count);
  }
}

// The reverse: writes the samples of `row` that lie inside the tensor.
HWY_INLINE void scatter_row(const float* row, const TileBatch& batch, int64_t i, float* tensor) {
  const Tag tag;
  if (batch.uniform && batch.lane_step == 1) {
    float* to = tensor + batch.offset[0] + i * batch.row_step;
    for (int64_t j = batch.w[0].first; j < batch.w[0].last; ++j)
      store_first(hn::Load(tag, row + j * kLanes), to + j * batch.column_step, batch.count);
    return;
  }
  if (batch.uniform && batch.column_step == 1) return scatter_transposed(row, batch, i, tensor);
  for (int l = 0; l < batch.count; ++l) {
    if (!batch.h[l].contains(i)) continue;
    float* to = tensor + batch.offset[l] + i * batch.row_step;
    for (int64_t j = batch.w[l].first; j < batch.w[l].last; ++j)
      to[j * batch.column_step] = row[j * kLanes + l];
  }
}

}  // namespace convscope::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CONVSCOPE_FFT_TILES

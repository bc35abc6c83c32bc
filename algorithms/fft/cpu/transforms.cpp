// Rows first, real to complex, then columns; back in reverse. Between the two the tile lies in scratch as
// [row][slot][re, im][lane], slot 0 holding the two real columns. Start at forward() and inverse().
#include "algorithms/fft/cpu/transforms.hpp"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/fft/cpu/transforms.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "algorithms/common/tally.hpp"
#include "algorithms/fft/cpu/codelets-inl.hpp"
#include "algorithms/fft/cpu/tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope::fft::HWY_NAMESPACE {

// Floats from one row of the intermediate tile to the next: one vector more than it holds, so that a column
// is not all in the same cache set.
constexpr int64_t pitch(int size) {
  return int64_t{size + 1} * kLanes;
}

// Bins of the two real columns come first, then those of complex column `slot`.
constexpr int64_t real_column(int size, int part) {
  return part * (size / 2 + 1);
}
constexpr int64_t complex_column(int size, int slot) {
  return size + 2 + int64_t{slot - 1} * size;
}

// Streaming is only fast when a vector is a whole line.
constexpr bool kWholeLines = kLanes * sizeof(float) == 64;

HWY_INLINE void store_bin(const SplitSpectra& to, int64_t bin, Complex value) {
  const Tag tag;
  float* const real = to.real + bin * to.bin_stride;
  float* const imaginary = to.imaginary + bin * to.bin_stride;
  if (kWholeLines && to.stream) {
    hn::Stream(value.re, tag, real);
    hn::Stream(value.im, tag, imaginary);
  } else {
    hn::Store(value.re, tag, real);
    hn::Store(value.im, tag, imaginary);
  }
}
HWY_INLINE Complex load_bin(const SplitSpectra& from, int64_t bin) {
  const Tag tag;
  return {hn::Load(tag, from.real + bin * from.bin_stride),
          hn::Load(tag, from.imaginary + bin * from.bin_stride)};
}

// Only the first Nonzero rows and columns of the tile hold samples.
template <int Size, int Nonzero>
HWY_NOINLINE void forward_rows(const TileBatch& batch, const float* tensor, float* tile) {
  const Tag tag;
  HWY_ALIGN float row[Size * kLanes] = {};
  for (int64_t i = 0; i < Nonzero; ++i) {
    float* to = tile + i * pitch(Size);
    if (!batch.rows.contains(i)) {
      std::fill_n(to, Size * kLanes, 0.0f);
      continue;
    }
    gather_row(tensor, batch, i, Size, row);
    tally_transform(kLanes * real_flops(Size));
    Complex out[Size / 2 + 1];
    real_transform<Size, 0, 1, Nonzero>([&](auto j) HWY_ATTR { return hn::Load(tag, row + j * kLanes); },
                                        out);
    hn::Store(out[0].re, tag, to);
    hn::Store(out[Size / 2].re, tag, to + kLanes);
    unroll<1, Size / 2>([&](auto slot) HWY_ATTR {
      hn::Store(out[slot].re, tag, to + 2 * slot * kLanes);
      hn::Store(out[slot].im, tag, to + (2 * slot + 1) * kLanes);
    });
  }
}

template <int Size, int Nonzero>
HWY_NOINLINE void forward_real_column(const float* tile, int part, const SplitSpectra& spectra) {
  const Tag tag;
  const float* from = tile + part * kLanes;
  tally_transform(kLanes * real_flops(Size));
  Complex out[Size / 2 + 1];
  real_transform<Size, 0, 1, Nonzero>([&](auto i) HWY_ATTR { return hn::Load(tag, from + i * pitch(Size)); },
                                      out);
  unroll<0, Size / 2 + 1>([&](auto bin)
                              HWY_ATTR { store_bin(spectra, real_column(Size, part) + bin, out[bin]); });
}

template <int Size, int Nonzero>
HWY_NOINLINE void forward_column(const float* tile, int slot, const SplitSpectra& spectra) {
  const Tag tag;
  const float* from = tile + 2 * slot * kLanes;
  tally_transform(kLanes * complex_flops(Size));
  Complex out[Size];
  transform<Size, 0, 1, Nonzero>(
      [&](auto i) HWY_ATTR {
        const float* at = from + i * pitch(Size);
        return Complex{hn::Load(tag, at), hn::Load(tag, at + kLanes)};
      },
      out);
  unroll<0, Size>([&](auto bin) HWY_ATTR { store_bin(spectra, complex_column(Size, slot) + bin, out[bin]); });
}

// Only the first Needed rows and columns of the tile are wanted.
template <int Size, int Needed>
HWY_NOINLINE void inverse_real_column(const SplitSpectra& spectra, int part, float* tile) {
  const Tag tag;
  float* to = tile + part * kLanes;
  tally_transform(kLanes * real_flops(Size));
  Complex in[Size / 2 + 1];
  unroll<0, Size / 2 + 1>([&](auto bin)
                              HWY_ATTR { in[bin] = load_bin(spectra, real_column(Size, part) + bin); });
  real_inverse<Size, 0, 1>(in, [&](auto i, Vector value) HWY_ATTR {
    if constexpr (i < Needed) hn::Store(value, tag, to + i * pitch(Size));
  });
}

template <int Size, int Needed>
HWY_NOINLINE void inverse_column(const SplitSpectra& spectra, int slot, float* tile) {
  const Tag tag;
  float* to = tile + 2 * slot * kLanes;
  tally_transform(kLanes * complex_flops(Size));
  // The inverse is the transform with real and imaginary parts exchanged on both sides.
  Complex out[Size];
  transform<Size, 0, 1, Size>(
      [&](auto bin) HWY_ATTR {
        const Complex value = load_bin(spectra, complex_column(Size, slot) + bin);
        return Complex{value.im, value.re};
      },
      out);
  unroll<0, Needed>([&](auto i) HWY_ATTR {
    hn::Store(out[i].im, tag, to + i * pitch(Size));
    hn::Store(out[i].re, tag, to + i * pitch(Size) + kLanes);
  });
}

template <int Size, int Needed>
HWY_NOINLINE void inverse_rows(const float* tile, const TileBatch& batch, float* tensor) {
  const Tag tag;
  HWY_ALIGN float row[Size * kLanes];
  for (int64_t i = batch.rows.first; i < batch.rows.last; ++i) {
    const float* from = tile + i * pitch(Size);
    tally_transform(kLanes * real_flops(Size));
    const Vector scale = hn::Set(tag, 1.0f / (Size * Size));
    Complex in[Size / 2 + 1];
    in[0] = {hn::Load(tag, from), hn::Zero(tag)};
    in[Size / 2] = {hn::Load(tag, from + kLanes), hn::Zero(tag)};
    unroll<1, Size / 2>([&](auto slot) HWY_ATTR {
      in[slot] = {hn::Load(tag, from + 2 * slot * kLanes), hn::Load(tag, from + (2 * slot + 1) * kLanes)};
    });
    real_inverse<Size, 0, 1>(in, [&](auto j, Vector value) HWY_ATTR {
      if constexpr (j < Needed) hn::Store(hn::Mul(scale, value), tag, row + j * kLanes);
    });
    scatter_row(row, batch, i, tensor);
  }
}

// Prefetches what the column of the next batch loads: its bins lie too far apart for the hardware prefetcher.
HWY_INLINE void prefetch_bins(const SplitSpectra& from, int64_t first, int64_t count) {
  for (int64_t bin = first; bin < first + count; ++bin) {
    hwy::Prefetch(from.real + bin * from.bin_stride);
    hwy::Prefetch(from.imaginary + bin * from.bin_stride);
  }
}

// Calls column(slot, batch) for all slots, one slot of all batches after the other.
template <class Step>
HWY_INLINE void for_columns(int first, int last, size_t batches, const Step& column) {
  for (int slot = first; slot < last; ++slot)
    for (size_t i = 0; i < batches; ++i) column(slot, i);
}

template <int Size, int Nonzero>
void forward(std::span<const Batch> batches, const float* tensor, float* scratch) {
  constexpr int64_t tile = Nonzero * pitch(Size);
  for (size_t i = 0; i < batches.size(); ++i)
    forward_rows<Size, Nonzero>(locate(batches[i].planes), tensor, scratch + i * tile);
  for_columns(0, 2, batches.size(), [&](int part, size_t i) {
    forward_real_column<Size, Nonzero>(scratch + i * tile, part, batches[i].spectra);
  });
  for_columns(1, Size / 2, batches.size(), [&](int slot, size_t i) {
    forward_column<Size, Nonzero>(scratch + i * tile, slot, batches[i].spectra);
  });
}

template <int Size, int Needed>
void inverse(std::span<const Batch> batches, float* tensor, float* scratch) {
  constexpr int64_t tile = Needed * pitch(Size);
  for_columns(0, 2, batches.size(), [&](int part, size_t i) {
    inverse_real_column<Size, Needed>(batches[i].spectra, part, scratch + i * tile);
  });
  for_columns(1, Size / 2, batches.size(), [&](int slot, size_t i) {
    if (i + 1 < batches.size()) prefetch_bins(batches[i + 1].spectra, complex_column(Size, slot), Size);
    inverse_column<Size, Needed>(batches[i].spectra, slot, scratch + i * tile);
  });
  for (size_t i = 0; i < batches.size(); ++i)
    inverse_rows<Size, Needed>(scratch + i * tile, locate(batches[i].planes), tensor);
}

void transform_any(int size, std::span<const Batch> batches, const float* tensor, float* scratch) {
  const bool small = has_small_window(size, *batches.front().planes.operand);
  if (size == 16)
    return small ? forward<16, 4>(batches, tensor, scratch) : forward<16, 16>(batches, tensor, scratch);
  return small ? forward<32, 8>(batches, tensor, scratch) : forward<32, 32>(batches, tensor, scratch);
}
void invert_any(int size, std::span<const Batch> batches, float* tensor, float* scratch) {
  const bool small = has_small_window(size, *batches.front().planes.operand);
  if (size == 16)
    return small ? inverse<16, 4>(batches, tensor, scratch) : inverse<16, 16>(batches, tensor, scratch);
  return small ? inverse<32, 8>(batches, tensor, scratch) : inverse<32, 32>(batches, tensor, scratch);
}
int lanes_of_target() {
  return kLanes;
}

}  // namespace convscope::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope::fft {
namespace {

HWY_EXPORT(transform_any);
HWY_EXPORT(invert_any);
HWY_EXPORT(lanes_of_target);

}  // namespace

int vector_lanes() {
  return HWY_DYNAMIC_DISPATCH(lanes_of_target)();
}

// Eight whole tiles of 32x32, or as many smaller ones.
int whole_tiles(int size) {
  return size == 16 ? 32 : 8;
}

int64_t scratch_bytes(int size) {
  return whole_tiles(size) * int64_t{size} * (size + 1) * vector_lanes() * int64_t{sizeof(float)};
}

int max_batches(int size, const Operand& operand) {
  return whole_tiles(size) * (has_small_window(size, operand) ? 4 : 1);
}

void transform_tiles(int size, std::span<const Batch> batches, const float* tensor, float* scratch) {
  HWY_DYNAMIC_DISPATCH(transform_any)(size, batches, tensor, scratch);
  hwy::FlushStream();
}

void invert_tiles(int size, std::span<const Batch> batches, float* tensor, float* scratch) {
  HWY_DYNAMIC_DISPATCH(invert_any)(size, batches, tensor, scratch);
}

int64_t transform_flops(int size, const LanePlanes& planes) {
  Range rows;
  for (int l = 0; l < planes.count; ++l) {
    const Extent2 first = origin(planes.operand->h, planes.operand->w, planes.lanes[l], *planes.other);
    const Range range = inside(planes.operand->h, first.h);
    rows = l == 0 ? range : Range{std::min(rows.first, range.first), std::max(rows.last, range.last)};
  }
  const int64_t lines = rows.last - rows.first + 2;
  return vector_lanes() * (lines * real_flops(size) + (size / 2 - 1) * complex_flops(size));
}

}  // namespace convscope::fft
#endif  // HWY_ONCE

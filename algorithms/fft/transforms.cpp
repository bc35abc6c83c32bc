// Rows first, real to complex, then columns; back in reverse. Between the two the tile lies in scratch as
// [row][slot][re, im][lane], slot 0 holding the two real columns. Start at forward() and inverse().
#include "algorithms/fft/transforms.hpp"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/fft/transforms.cpp"
#include <hwy/foreach_target.h>

#include "algorithms/fft/codelets-inl.hpp"
#include "algorithms/fft/tiles-inl.hpp"

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

HWY_INLINE void store_bin(const Spectra& to, int64_t bin, Complex value) {
  const Tag tag;
  hn::Store(value.re, tag, to.real + bin * to.bin_stride);
  hn::Store(value.im, tag, to.imaginary + bin * to.bin_stride);
}
HWY_INLINE Complex load_bin(const Spectra& from, int64_t bin) {
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
HWY_NOINLINE void forward_columns(const float* tile, const Spectra& spectra) {
  const Tag tag;
  for (int part = 0; part < 2; ++part) {
    const float* from = tile + part * kLanes;
    Complex out[Size / 2 + 1];
    real_transform<Size, 0, 1, Nonzero>(
        [&](auto i) HWY_ATTR { return hn::Load(tag, from + i * pitch(Size)); }, out);
    unroll<0, Size / 2 + 1>([&](auto bin)
                                HWY_ATTR { store_bin(spectra, real_column(Size, part) + bin, out[bin]); });
  }
  for (int slot = 1; slot < Size / 2; ++slot) {
    const float* from = tile + 2 * slot * kLanes;
    Complex out[Size];
    transform<Size, 0, 1, Nonzero>(
        [&](auto i) HWY_ATTR {
          const float* at = from + i * pitch(Size);
          return Complex{hn::Load(tag, at), hn::Load(tag, at + kLanes)};
        },
        out);
    unroll<0, Size>([&](auto bin)
                        HWY_ATTR { store_bin(spectra, complex_column(Size, slot) + bin, out[bin]); });
  }
}

// Only the first Needed rows and columns of the tile are wanted.
template <int Size, int Needed>
HWY_NOINLINE void inverse_columns(const Spectra& spectra, float* tile) {
  const Tag tag;
  for (int part = 0; part < 2; ++part) {
    float* to = tile + part * kLanes;
    Complex in[Size / 2 + 1];
    unroll<0, Size / 2 + 1>([&](auto bin)
                                HWY_ATTR { in[bin] = load_bin(spectra, real_column(Size, part) + bin); });
    real_inverse<Size, 0, 1>(in, [&](auto i, Vector value) HWY_ATTR {
      if constexpr (i < Needed) hn::Store(value, tag, to + i * pitch(Size));
    });
  }
  for (int slot = 1; slot < Size / 2; ++slot) {
    float* to = tile + 2 * slot * kLanes;
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
}

template <int Size, int Needed>
HWY_NOINLINE void inverse_rows(const float* tile, const TileBatch& batch, float* tensor) {
  const Tag tag;
  HWY_ALIGN float row[Size * kLanes];
  for (int64_t i = batch.rows.first; i < batch.rows.last; ++i) {
    const float* from = tile + i * pitch(Size);
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

// Small windows (filters) have variants that leave out the work on zeros or on unwanted results.
template <int Size>
bool is_small(const Operand& operand) {
  return operand.h.window <= Size / 4 && operand.w.window <= Size / 4;
}

template <int Size>
void forward(const Planes& planes, const float* tensor, const Spectra& spectra, float* scratch) {
  const TileBatch batch = locate(planes);
  if (is_small<Size>(*planes.operand)) {
    forward_rows<Size, Size / 4>(batch, tensor, scratch);
    forward_columns<Size, Size / 4>(scratch, spectra);
  } else {
    forward_rows<Size, Size>(batch, tensor, scratch);
    forward_columns<Size, Size>(scratch, spectra);
  }
}

template <int Size>
void inverse(const Planes& planes, const Spectra& spectra, float* tensor, float* scratch) {
  const TileBatch batch = locate(planes);
  if (is_small<Size>(*planes.operand)) {
    inverse_columns<Size, Size / 4>(spectra, scratch);
    inverse_rows<Size, Size / 4>(scratch, batch, tensor);
  } else {
    inverse_columns<Size, Size>(spectra, scratch);
    inverse_rows<Size, Size>(scratch, batch, tensor);
  }
}

void transform_any(int size, const Planes& planes, const float* tensor, const Spectra& spectra,
                   float* scratch) {
  return size == 16 ? forward<16>(planes, tensor, spectra, scratch)
                    : forward<32>(planes, tensor, spectra, scratch);
}
void invert_any(int size, const Planes& planes, const Spectra& spectra, float* tensor, float* scratch) {
  return size == 16 ? inverse<16>(planes, spectra, tensor, scratch)
                    : inverse<32>(planes, spectra, tensor, scratch);
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

int64_t scratch_bytes(int size) {
  return int64_t{size} * (size + 1) * vector_lanes() * static_cast<int64_t>(sizeof(float));
}

void transform_tiles(int size, const Planes& planes, const float* tensor, const Spectra& spectra,
                     float* scratch) {
  HWY_DYNAMIC_DISPATCH(transform_any)(size, planes, tensor, spectra, scratch);
}

void invert_tiles(int size, const Planes& planes, const Spectra& spectra, float* tensor, float* scratch) {
  HWY_DYNAMIC_DISPATCH(invert_any)(size, planes, spectra, tensor, scratch);
}

double transform_flops(int size, int64_t window_h) {
  const double log2 = size == 16 ? 4 : 5;
  const double real = 2 * size * log2 - 4 * size + 6, complex = 4 * size * log2 - 6 * size + 8;
  const double rows = static_cast<double>(std::min<int64_t>(window_h, size));
  return (rows + 2) * real + (size / 2 - 1) * complex;
}

}  // namespace convscope::fft
#endif  // HWY_ONCE

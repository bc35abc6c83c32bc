// The transforms as straight-line vector code, unrolled at compile time from the generated matrices: terms of
// zero are left out, factors of one are additions, opposite points share their even and odd parts. Start at
// apply().
#include "algorithms/winograd/cpu/vector_kernels.hpp"

#include <algorithm>

#include "algorithms/common/tally.hpp"
#include "algorithms/common/transpose.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/winograd/cpu/vector_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convscope::winograd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr int kLanes = HWY_LANES(float);
// Streaming stores are only fast where a vector is a whole cache line.
constexpr bool kWholeLines = kLanes * sizeof(float) == 64;

// The matrices as types. Transposed ones have their butterflies before the product, the others after it.
template <int Alpha>
struct Data {
  static constexpr int kIn = Alpha, kOut = Alpha;
  static constexpr bool kTransposed = false;
  static constexpr auto kFactored = factor(data_matrix<Alpha>());
};
template <int Alpha, int Taps>
struct Evaluate {
  static constexpr int kIn = Taps, kOut = Alpha;
  static constexpr bool kTransposed = false;
  static constexpr auto kFactored = factor(evaluation_matrix<Alpha, Taps>());
};
template <int Alpha, int Outputs>
struct Interpolate {
  static constexpr int kIn = Alpha, kOut = Outputs;
  static constexpr bool kTransposed = true;
  static constexpr auto kFactored = factor(evaluation_matrix<Alpha, Outputs>());
};

template <class M>
constexpr Rational entry(int row, int column) {
  return M::kTransposed ? M::kFactored.core.at[column][row] : M::kFactored.core.at[row][column];
}

// Row `Row` of the core times x, from column `Column` on.
template <class M, int Row, int Column = 0, bool Started = false>
HWY_INLINE Vector dot(const Vector* x, Vector sum) {
  if constexpr (Column == M::kIn) {
    return sum;
  } else {
    constexpr Rational coefficient = entry<M>(Row, Column);
    if constexpr (coefficient == 0) {
      return dot<M, Row, Column + 1, Started>(x, sum);
    } else if constexpr (coefficient == 1) {
      return dot<M, Row, Column + 1, true>(x, Started ? hn::Add(sum, x[Column]) : x[Column]);
    } else if constexpr (Started && coefficient == -1) {
      return dot<M, Row, Column + 1, true>(x, hn::Sub(sum, x[Column]));
    } else {
      const Vector factor = hn::Set(Tag(), static_cast<float>(coefficient.value()));
      return dot<M, Row, Column + 1, true>(
          x, Started ? hn::MulAdd(factor, x[Column], sum) : hn::Mul(factor, x[Column]));
    }
  }
}

template <int Size, class M, int I = 0>
HWY_INLINE void butterflies(Vector* x) {
  if constexpr (I < Size) {
    constexpr int partner = M::kFactored.partner[I];
    if constexpr (partner > I) {
      const Vector even = x[I], odd = x[partner];
      x[I] = hn::Add(even, odd);
      x[partner] = hn::Sub(even, odd);
    }
    butterflies<Size, M, I + 1>(x);
  }
}

template <class M, int I = 0>
HWY_INLINE void load_all(const float* in, int64_t stride, Vector* x) {
  if constexpr (I < M::kIn) {
    x[I] = hn::Load(Tag(), in + I * stride);
    load_all<M, I + 1>(in, stride, x);
  }
}

template <class M, int Row = 0>
HWY_INLINE void products(const Vector* x, Vector* y) {
  if constexpr (Row < M::kOut) {
    y[Row] = dot<M, Row>(x, hn::Zero(Tag()));
    products<M, Row + 1>(x, y);
  }
}

template <class M, bool Stream, int I = 0>
HWY_INLINE void store_all(const Vector* y, float* out, int64_t stride) {
  if constexpr (I < M::kOut) {
    if constexpr (Stream && kWholeLines)
      hn::Stream(y[I], Tag(), out + I * stride);
    else
      hn::Store(y[I], Tag(), out + I * stride);
    store_all<M, Stream, I + 1>(y, out, stride);
  }
}

template <class M, bool Stream = false>
HWY_NOINLINE void apply(const float* in, int64_t in_stride, int64_t in_next, float* out, int64_t out_stride,
                        int64_t out_next, int64_t count) {
  tally_transform(count * kLanes * M::kFactored.flops(M::kTransposed));
  for (int64_t line = 0; line < count; ++line) {
    Vector x[M::kIn], y[M::kOut];
    load_all<M>(in, in_stride, x);
    if constexpr (M::kTransposed) butterflies<M::kIn, M>(x);
    products<M>(x, y);
    if constexpr (!M::kTransposed) butterflies<M::kOut, M>(y);
    store_all<M, Stream>(y, out, out_stride);
    in += in_next;
    out += out_next;
  }
}

void pack_planes(const float* in, int64_t lane_stride, int64_t count, int64_t used, float* staged) {
  transpose(in, lane_stride, staged, kLanes, used, count);
  if (used == kLanes) return;
  for (int64_t x = 0; x < count; ++x) std::fill(staged + x * kLanes + used, staged + (x + 1) * kLanes, 0.0f);
}

void unpack_planes(const float* staged, float* out, int64_t lane_stride, int64_t count, int64_t used) {
  transpose(staged, kLanes, out, lane_stride, count, used);
}

void pack_pixels(const float* in, int64_t position_stride, int64_t count, int64_t used, float* staged) {
  const Tag tag;
  for (int64_t x = 0; x < count; ++x, in += position_stride, staged += kLanes) {
    if (used == kLanes)
      hn::Store(hn::LoadU(tag, in), tag, staged);
    else
      for (int64_t l = 0; l < kLanes; ++l) staged[l] = l < used ? in[l] : 0.0f;
  }
}

void unpack_pixels(const float* staged, float* out, int64_t position_stride, int64_t count, int64_t used) {
  const Tag tag;
  for (int64_t x = 0; x < count; ++x, out += position_stride, staged += kLanes) {
    if (used == kLanes)
      hn::StoreU(hn::Load(tag, staged), tag, out);
    else
      for (int64_t l = 0; l < used; ++l) out[l] = staged[l];
  }
}

constexpr VectorKernels make_table() {
  VectorKernels table{};
  table.lanes = kLanes;
  table.pack_planes = pack_planes;
  table.pack_pixels = pack_pixels;
  table.unpack_planes = unpack_planes;
  table.unpack_pixels = unpack_pixels;
  for_each_size([&]<int Alpha, int N>() {
    table.data[Alpha] = apply<Data<Alpha>>;
    table.evaluate[Alpha][N] = apply<Evaluate<Alpha, N>>;
    table.stream_evaluate[Alpha][N] = apply<Evaluate<Alpha, N>, true>;
    table.interpolate[Alpha][N] = apply<Interpolate<Alpha, N>>;
  });
  return table;
}
constexpr VectorKernels kTable = make_table();

const VectorKernels& table() {
  return kTable;
}

}  // namespace
}  // namespace convscope::winograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope::winograd {

HWY_EXPORT(table);

const VectorKernels& vector_kernels() {
  return HWY_DYNAMIC_DISPATCH(table)();
}

}  // namespace convscope::winograd
#endif  // HWY_ONCE

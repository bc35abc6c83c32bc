// Compiled once for each instruction set by Highway's foreach_target. See plane_kernels.hpp.
#include "algorithms/direct/cpu/plane_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "algorithms/common/tally.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/direct/cpu/plane_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "algorithms/common/partial_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope::direct {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;

// How far ahead the output gradient is prefetched, in elements: its columns are read seven rows at a time,
// which the hardware's prefetcher does not follow.
constexpr int64_t kPrefetchFloats = 1024;

constexpr size_t kMaxLanes = hn::MaxLanes(Tag());

// A vector that several operations use. GCC would load it again for each of them, across cache lines.
HWY_INLINE Vector load_once(const float* from) {
  Vector value = hn::LoadU(Tag(), from);
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
  asm("" : "+v"(value.raw));
#elif HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2
  asm("" : "+x"(value.raw));
#endif
  return value;
}

// The first `left` elements and zeros; no other element is touched.
HWY_INLINE Vector load_first(const float* from, int64_t left) {
  const Tag d;
  if (left >= static_cast<int64_t>(hn::Lanes(d))) return hn::LoadU(d, from);
  if (left <= 0) return hn::Zero(d);
  return convscope::HWY_NAMESPACE::load_partial(d, from, static_cast<size_t>(left));
}

HWY_INLINE void store_first(Vector value, float* to, int64_t left) {
  const Tag d;
  if (left >= static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(value, d, to);
  else if (left > 0)
    convscope::HWY_NAMESPACE::store_partial(value, d, to, static_cast<size_t>(left));
}

// The first `columns` lie on the plane, the others are zeros.
HWY_INLINE void stage_row(const PlaneStageJob& job, const float* from, int64_t columns, float* to) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (job.step == 1) {
    for (int64_t c = 0; c < job.columns; c += lanes) hn::StoreU(load_first(from + c, columns - c), d, to + c);
    return;
  }
  for (int64_t c = 0; c < job.columns; c += 2 * lanes, to += lanes) {
    HWY_ALIGN float rest[2 * kMaxLanes];
    const float* pairs = from + c;
    if (columns - c < 2 * lanes) {
      hn::Store(load_first(pairs, columns - c), d, rest);
      hn::Store(load_first(pairs + lanes, columns - c - lanes), d, rest + lanes);
      pairs = rest;
    }
    Vector even, odd;
    hn::LoadInterleaved2(d, pairs, even, odd);
    hn::StoreU(even, d, to);
    hn::StoreU(odd, d, to + job.residue_step);
  }
}

void stage(const PlaneStageJob& all) {
  const PlaneStageJob job = all;  // a copy that no store can change
  float* to = job.to;
  for (int64_t row = job.first_row; row < job.end_row; ++row, to += job.row_step)
    stage_row(job, job.from + row * job.columns, row >= 0 && row < job.extent ? job.columns : 0, to);
}

template <size_t kRow, size_t kTap, size_t kRows>
HWY_INLINE void add_tap(Vector value, Vector weight, Vector (&sum)[kRows]) {
  if constexpr (kRow >= kTap && kRow - kTap < kRows)
    sum[kRow - kTap] = hn::MulAdd(value, weight, sum[kRow - kTap]);
}

// Adds a run's taps for kRows rows; kRow counts the rows of `in`, which are kTaps - 1 more.
template <size_t kTaps, size_t kRows, size_t... kRow>
HWY_INLINE void add_run(const PlaneJob& job, const TapRun& run, const float* HWY_RESTRICT in,
                        Vector (&sum)[kRows], std::index_sequence<kRow...>) {
  const Tag d;
  const Vector first = hn::Set(d, job.filter[run.weight[0]]);
  const Vector second = kTaps > 1 ? hn::Set(d, job.filter[run.weight[1]]) : first;
  const Vector third = kTaps > 2 ? hn::Set(d, job.filter[run.weight[2]]) : first;
  in += run.offset;
  const auto add_row = [&](auto row) HWY_ATTR {
    const Vector value = kTaps > 1 ? load_once(in) : hn::LoadU(d, in);
    add_tap<row, 0>(value, first, sum);
    if constexpr (kTaps > 1) add_tap<row, 1>(value, second, sum);
    if constexpr (kTaps > 2) add_tap<row, 2>(value, third, sum);
    in += job.in_row_step;
  };
  (add_row(std::integral_constant<size_t, kRow>()), ...);
}

template <size_t kRows>
HWY_INLINE void add_taps(const PlaneJob& job, const TapRuns& taps, const float* in, Vector (&sum)[kRows]) {
  const TapRun* run = taps.runs;
  for (int64_t i = 0; i < taps.threes; ++i)
    add_run<3>(job, *run++, in, sum, std::make_index_sequence<kRows + 2>());
  for (int64_t i = 0; i < taps.twos; ++i)
    add_run<2>(job, *run++, in, sum, std::make_index_sequence<kRows + 1>());
  for (int64_t i = 0; i < taps.ones; ++i) add_run<1>(job, *run++, in, sum, std::make_index_sequence<kRows>());
  tally_product(2 * int64_t{kRows} * taps.taps() * static_cast<int64_t>(hn::Lanes(Tag())));
}

template <size_t... kRow>
HWY_INLINE void correlate_rows(const PlaneJob& job, const float* in, float* out,
                               std::index_sequence<kRow...>) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t row_step = job.out_row_step;
  for (int64_t left = job.columns; left > 0; left -= lanes, in += lanes, out += lanes) {
    Vector sum[] = {((void)kRow, hn::Zero(d))...};
    add_taps(job, job.taps[0], in, sum);
    (store_first(sum[kRow], out + int64_t{kRow} * row_step, left), ...);
  }
}

template <size_t... kRow>
HWY_INLINE void correlate_rows_interleaved(const PlaneJob& job, const float* in, float* out,
                                           std::index_sequence<kRow...>) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t left = job.columns; left > 0; left -= 2 * lanes, in += lanes, out += 2 * lanes) {
    Vector even[] = {((void)kRow, hn::Zero(d))...}, odd[] = {((void)kRow, hn::Zero(d))...};
    add_taps(job, job.taps[0], in, even);
    add_taps(job, job.taps[1], in, odd);
    const auto store = [&](Vector a, Vector b, float* to) HWY_ATTR {
      if (left >= 2 * lanes) {
        hn::StoreInterleaved2(a, b, d, to);
        return;
      }
      HWY_ALIGN float rest[2 * kMaxLanes];
      hn::StoreInterleaved2(a, b, d, rest);
      store_first(hn::Load(d, rest), to, left);
      store_first(hn::Load(d, rest + lanes), to + lanes, left - lanes);
    };
    (store(even[kRow], odd[kRow], out + int64_t{kRow} * job.out_row_step), ...);
  }
}

// Calls `body` with the first row and the number of rows, as a type, of one block of rows after the other.
// Images' heights are often multiples of 7.
template <class Body>
HWY_INLINE void for_row_blocks(int64_t rows, const Body& body) {
  int64_t row = 0;
  const auto blocks_of = [&](auto size) HWY_ATTR {
    for (; row + static_cast<int64_t>(size.size()) <= rows; row += static_cast<int64_t>(size.size()))
      body(row, size);
  };
  blocks_of(std::make_index_sequence<7>());
  blocks_of(std::make_index_sequence<4>());
  blocks_of(std::make_index_sequence<1>());
}

void correlate(const PlaneJob& all) {
  const PlaneJob job = all;
  for_row_blocks(job.rows, [&](int64_t row, auto rows) HWY_ATTR {
    const float* in = job.in + row * job.in_row_step;
    float* out = job.out + row * job.out_row_step;
    if (job.residues == 1)
      correlate_rows(job, in, out, rows);
    else
      correlate_rows_interleaved(job, in, out, rows);
  });
}

template <size_t kRow, size_t kTap, size_t kRows>
HWY_INLINE void add_product(Vector value, const Vector (&gradient)[kRows], Vector& sum) {
  if constexpr (kRow >= kTap && kRow - kTap < kRows) sum = hn::MulAdd(value, gradient[kRow - kTap], sum);
}

// The same for backward-filter: `out` holds kRows rows of the output gradient.
template <size_t kTaps, size_t kRows, size_t... kRow>
HWY_INLINE void add_run_gradient(const PlaneGradientJob& job, const TapRun& run, const float* HWY_RESTRICT in,
                                 const Vector (&out)[kRows], std::index_sequence<kRow...>) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  float* to[3] = {job.sums + run.weight[0] * lanes, job.sums + run.weight[1] * lanes,
                  job.sums + run.weight[2] * lanes};
  Vector first = hn::LoadU(d, to[0]);
  Vector second = kTaps > 1 ? hn::LoadU(d, to[1]) : first;
  Vector third = kTaps > 2 ? hn::LoadU(d, to[2]) : first;
  in += run.offset;
  const auto add_row = [&](auto row) HWY_ATTR {
    const Vector value = kTaps > 1 ? load_once(in) : hn::LoadU(d, in);
    add_product<row, 0>(value, out, first);
    if constexpr (kTaps > 1) add_product<row, 1>(value, out, second);
    if constexpr (kTaps > 2) add_product<row, 2>(value, out, third);
    in += job.in_row_step;
  };
  (add_row(std::integral_constant<size_t, kRow>()), ...);
  hn::StoreU(first, d, to[0]);
  if constexpr (kTaps > 1) hn::StoreU(second, d, to[1]);
  if constexpr (kTaps > 2) hn::StoreU(third, d, to[2]);
}

template <size_t... kRow>
HWY_INLINE void gradient_of_rows(const PlaneGradientJob& job, const float* in, const float* out,
                                 std::index_sequence<kRow...>) {
  constexpr size_t kRows = sizeof...(kRow);
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag()));
  for (int64_t left = job.columns; left > 0; left -= lanes, in += lanes, out += lanes) {
    (__builtin_prefetch(out + int64_t{kRow} * job.out_row_step + kPrefetchFloats), ...);
    const Vector row[] = {load_first(out + int64_t{kRow} * job.out_row_step, left)...};
    const TapRun* run = job.taps.runs;
    for (int64_t i = 0; i < job.taps.threes; ++i)
      add_run_gradient<3>(job, *run++, in, row, std::make_index_sequence<kRows + 2>());
    for (int64_t i = 0; i < job.taps.twos; ++i)
      add_run_gradient<2>(job, *run++, in, row, std::make_index_sequence<kRows + 1>());
    for (int64_t i = 0; i < job.taps.ones; ++i)
      add_run_gradient<1>(job, *run++, in, row, std::make_index_sequence<kRows>());
    tally_product(2 * int64_t{kRows} * job.taps.taps() * lanes);
  }
}

void gradient(const PlaneGradientJob& all) {
  const PlaneGradientJob job = all;
  for_row_blocks(job.rows, [&](int64_t row, auto rows) HWY_ATTR {
    gradient_of_rows(job, job.in + row * job.in_row_step, job.out + row * job.out_row_step, rows);
  });
}

void add_lanes(const float* vectors, int64_t count, float* sums) {
  const Tag d;
  for (int64_t i = 0; i < count; ++i, vectors += hn::Lanes(d))
    sums[i] = hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, vectors)));
}

}  // namespace

PlaneKernels make_plane_kernels() {
  return {stage, correlate, gradient, add_lanes};
}

}  // namespace HWY_NAMESPACE
}  // namespace convscope::direct
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope::direct {

HWY_EXPORT(make_plane_kernels);

PlaneKernels best_plane_kernels() {
  return HWY_DYNAMIC_DISPATCH(make_plane_kernels)();
}

}  // namespace convscope::direct
#endif

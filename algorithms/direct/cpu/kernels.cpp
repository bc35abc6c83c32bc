// The inner loops, compiled once for each instruction set by Highway's foreach_target. Sums live in
// registers: the loops over them are unrolled through index sequences, so that no compiler has to guess. See
// kernels.hpp.
#include "algorithms/direct/cpu/kernels.hpp"

#include <cstddef>
#include <utility>

#include "algorithms/common/tally.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/direct/cpu/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace convscope::direct {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;

// 32 vector registers from AVX-512 on, 16 before.
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3;
constexpr int kTilePixels = kManyRegisters ? kMaxPixels : 6;
constexpr int kRowVectors = kManyRegisters ? kMaxRowVectors : 2;

// One input channel at one tap: the value of each pixel, broadcast, times the filter vectors.
template <int kStep, size_t kPixels, size_t kVectors, size_t... kPixel>
HWY_INLINE void multiply_add(Vector (&sum)[kPixels][kVectors], const Vector (&filter)[kVectors],
                             const float* HWY_RESTRICT x, std::index_sequence<kPixel...>) {
  const Tag d;
  const auto one = [&](Vector(&to)[kVectors], Vector value) HWY_ATTR {
    to[0] = hn::MulAdd(value, filter[0], to[0]);
    if constexpr (kVectors == 2) to[1] = hn::MulAdd(value, filter[1], to[1]);
  };
  (one(sum[kPixel], hn::Set(d, x[kPixel * kStep])), ...);
}

// Pixels [kFirst, kFirst + their number).
template <size_t kFirst, size_t... kPixel>
constexpr std::index_sequence<(kFirst + kPixel)...> pixels_from(std::index_sequence<kPixel...>) {
  return {};
}

// Calls body(pixels that are not skipped): see TileJob. Small tiles skip none.
template <size_t kPixels, typename Body>
HWY_INLINE void for_pixels_inside(int skipped, const Body& body) {
  if constexpr (kPixels > 2 * kMaxSkipped) {
    switch (skipped) {
      case 1:
        return body(pixels_from<1>(std::make_index_sequence<kPixels - 1>()));
      case 2:
        return body(pixels_from<2>(std::make_index_sequence<kPixels - 2>()));
      case 3:
        return body(pixels_from<3>(std::make_index_sequence<kPixels - 3>()));
      case -1:
        return body(std::make_index_sequence<kPixels - 1>());
      case -2:
        return body(std::make_index_sequence<kPixels - 2>());
      case -3:
        return body(std::make_index_sequence<kPixels - 3>());
    }
  }
  body(std::make_index_sequence<kPixels>());
}

template <size_t kVectors, size_t... kPixel>
HWY_INLINE void clear_sums(Vector (&sum)[sizeof...(kPixel)][kVectors], std::index_sequence<kPixel...>) {
  const Tag d;
  const auto clear = [&](Vector(&one)[kVectors]) HWY_ATTR {
    one[0] = hn::Zero(d);
    if constexpr (kVectors == 2) one[1] = hn::Zero(d);
  };
  (clear(sum[kPixel]), ...);
}

template <size_t kVectors, size_t... kPixel>
HWY_INLINE void store_tile(const Vector (&sum)[sizeof...(kPixel)][kVectors], float* tile, bool accumulate,
                           std::index_sequence<kPixel...>) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const auto store = [&](const Vector(&from)[kVectors], float* to) HWY_ATTR {
    hn::StoreU(from[0], d, to);
    if constexpr (kVectors == 2) hn::StoreU(from[1], d, to + lanes);
  };
  const auto add = [&](const Vector(&from)[kVectors], float* to) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, to), from[0]), d, to);
    if constexpr (kVectors == 2) hn::StoreU(hn::Add(hn::LoadU(d, to + lanes), from[1]), d, to + lanes);
  };
  if (accumulate)
    (add(sum[kPixel], tile + kPixel * kVectors * lanes), ...);
  else
    (store(sum[kPixel], tile + kPixel * kVectors * lanes), ...);
}

// `count` input channels at any taps: x at from_x(i), the filter vectors one after the other.
template <int kStep, size_t kPixels, size_t kVectors, typename FromX, typename Inside>
HWY_INLINE void sum_products(Vector (&sum)[kPixels][kVectors], const float* HWY_RESTRICT filter,
                             int64_t count, const FromX& from_x, Inside inside) {
  const Tag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; ++i) {
    Vector vectors[kVectors];
    vectors[0] = hn::LoadU(d, filter);
    if constexpr (kVectors == 2) vectors[1] = hn::LoadU(d, filter + lanes);
    multiply_add<kStep>(sum, vectors, from_x(i), inside);
    filter += static_cast<int64_t>(kVectors) * lanes;
  }
  tally_product(2 * count * int64_t{inside.size() * kVectors} * lanes);
}

template <int kStep, size_t kVectors, size_t kPixels>
HWY_INLINE void sum_pairs(const TileJob& job, Vector (&sum)[kPixels][kVectors]) {
  const int64_t pairs = job.columns * job.last_channels;
  for (int64_t r = 0; r < job.rows; ++r) {
    const float* HWY_RESTRICT x = job.in + (job.in_offset + job.row_offset[r]);
    sum_products<kStep>(
        sum, job.filter + r * job.filter_row_step, pairs,
        [&](int64_t pair) HWY_ATTR { return x + job.pair_offset[pair]; },
        std::make_index_sequence<kPixels>());
  }
}

template <int kStep, size_t kVectors, size_t kPixels>
void tile(const TileJob& job) {
  constexpr auto pixels = std::make_index_sequence<kPixels>();
  Vector sum[kPixels][kVectors];
  clear_sums<kVectors>(sum, pixels);
  if (job.pair_offset != nullptr) {
    sum_pairs<kStep>(job, sum);
    return store_tile<kVectors>(sum, job.tile, job.accumulate, pixels);
  }
  for (int64_t b = 0; b < job.blocks; ++b) {
    const int64_t channels = b + 1 < job.blocks ? job.channels : job.last_channels;
    for (int64_t r = 0; r < job.rows; ++r)
      for (int64_t s = 0; s < job.columns; ++s) {
        const float* HWY_RESTRICT x =
            job.in + (job.in_offset + b * job.in_block_step + job.row_offset[r] + job.column_offset[s]);
        const float* HWY_RESTRICT f =
            job.filter + b * job.filter_block_step + r * job.filter_row_step + s * job.filter_column_step;
        const auto sum_channels = [&](auto inside) HWY_ATTR {
          sum_products<kStep>(
              sum, f, channels, [&](int64_t c) HWY_ATTR { return x + c * job.in_channel_step; }, inside);
        };
        for_pixels_inside<kPixels>(job.skipped == nullptr ? 0 : job.skipped[s], sum_channels);
      }
  }
  store_tile<kVectors>(sum, job.tile, job.accumulate, pixels);
}

// One tap of one input channel for kChannels output channels of a row.
template <size_t kChannels, size_t... kVector>
HWY_INLINE void multiply_add_row(Vector (&sum)[kChannels][sizeof...(kVector)],
                                 const float* HWY_RESTRICT filter, const float* HWY_RESTRICT x,
                                 std::index_sequence<kVector...>) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  Vector value[sizeof...(kVector)] = {hn::LoadU(d, x + kVector * lanes)...};
  const auto channel = [&](size_t m, auto& self_sum) HWY_ATTR {
    const Vector weight = hn::Set(d, filter[m]);
    ((self_sum[kVector] = hn::MulAdd(value[kVector], weight, self_sum[kVector])), ...);
  };
  channel(0, sum[0]);
  if constexpr (kChannels > 1) channel(1, sum[1]);
  if constexpr (kChannels > 2) channel(2, sum[2]);
  if constexpr (kChannels > 3) channel(3, sum[3]);
}

template <size_t kChannels, size_t... kVector>
HWY_INLINE void row_of(const RowJob& job, std::index_sequence<kVector...> vectors) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  Vector sum[kChannels][sizeof...(kVector)];
  for (auto& of_channel : sum) ((of_channel[kVector] = hn::Zero(d)), ...);
  for (int64_t c = 0; c < job.channels; ++c)
    for (int64_t r = 0; r < job.rows; ++r) {
      const float* x = job.in + (job.in_offset + c * job.in_channel_step + job.row_offset[r]);
      const float* f = job.filter + c * job.filter_channel_step + r * job.filter_row_step;
      for (int64_t s = 0; s < job.columns; ++s)
        multiply_add_row<kChannels>(sum, f + s * static_cast<int64_t>(kChannels), x + job.column_offset[s],
                                    vectors);
    }
  for (size_t m = 0; m < kChannels; ++m) {
    float* to = job.out + static_cast<int64_t>(m) * job.out_step;
    (hn::StoreU(sum[m][kVector], d, to + kVector * lanes), ...);
  }
  tally_product(2 * job.channels * job.rows * job.columns * int64_t{kChannels * sizeof...(kVector)} *
                static_cast<int64_t>(lanes));
}

template <size_t kChannels, size_t kVectors>
void row(const RowJob& job) {
  row_of<kChannels>(job, std::make_index_sequence<kVectors>());
}

template <size_t... kPixel>
HWY_INLINE void depthwise_of(const TileJob& job, int64_t lane, std::index_sequence<kPixel...>) {
  const Tag d;
  Vector sum[sizeof...(kPixel)];
  ((sum[kPixel] = hn::Zero(d)), ...);
  for (int64_t r = 0; r < job.rows; ++r)
    for (int64_t s = 0; s < job.columns; ++s) {
      const float* x = job.in + (job.in_offset + job.row_offset[r] + job.column_offset[s] + lane);
      const Vector filter =
          hn::LoadU(d, job.filter + r * job.filter_row_step + s * job.filter_column_step + lane);
      ((sum[kPixel] = hn::MulAdd(hn::LoadU(d, x + kPixel * kChannelBlock), filter, sum[kPixel])), ...);
    }
  (hn::StoreU(sum[kPixel], d, job.tile + kPixel * kChannelBlock + lane), ...);
}

template <size_t kPixels>
void depthwise_tile(const TileJob& job) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag()));
  for (int64_t lane = 0; lane < kChannelBlock; lane += lanes)
    depthwise_of(job, lane, std::make_index_sequence<kPixels>());
  tally_product(2 * job.rows * job.columns * int64_t{kPixels} * kChannelBlock);
}

template <size_t... kTap>
HWY_INLINE void dot_of(const DotJob& job, std::index_sequence<kTap...>) {
  const Tag d;
  Vector sum[sizeof...(kTap)];
  ((sum[kTap] = hn::Zero(d)), ...);
  const int64_t offset[sizeof...(kTap)] = {job.tap_offset[kTap]...};
  for (int64_t r = 0; r < job.rows; ++r) {
    const float* x = job.x + r * job.x_row_step;
    const float* y = job.y + r * job.y_row_step;
    for (int64_t i = 0; i < job.steps; ++i, x += job.step, y += job.step) {
      const Vector gradient = hn::LoadU(d, y);
      ((sum[kTap] = hn::MulAdd(hn::LoadU(d, x + offset[kTap]), gradient, sum[kTap])), ...);
    }
  }
  const auto add = [&](Vector value, float* to)
                       HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, to), value), d, to); };
  (add(sum[kTap], job.sum + int64_t{kTap} * job.sum_step), ...);
  tally_product(2 * job.rows * job.steps * int64_t{sizeof...(kTap)} * static_cast<int64_t>(hn::Lanes(d)));
}

template <size_t kTaps>
void dot(const DotJob& job) {
  dot_of(job, std::make_index_sequence<kTaps>());
}

template <size_t... kPixel>
void fill_tiles(Kernels& table, std::index_sequence<kPixel...>) {
  ((table.planar_tile[0][kPixel] = tile<1, 1, kPixel + 1>), ...);
  ((table.planar_tile[1][kPixel] = tile<1, 2, kPixel + 1>), ...);
  ((table.depthwise_tile[kPixel] = depthwise_tile<kPixel + 1>), ...);
  ((table.blocked_tile[0][kPixel] = tile<int{kChannelBlock}, 1, kPixel + 1>), ...);
  ((table.blocked_tile[1][kPixel] = tile<int{kChannelBlock}, 2, kPixel + 1>), ...);
}

template <size_t... kVector>
void fill_rows(Kernels& table, std::index_sequence<kVector...>) {
  ((table.row[0][kVector] = row<1, kVector + 1>), ...);
  ((table.row[1][kVector] = row<2, kVector + 1>), ...);
  ((table.row[2][kVector] = row<3, kVector + 1>), ...);
  ((table.row[3][kVector] = row<4, kVector + 1>), ...);
}

template <size_t... kTap>
void fill_dots(Kernels& table, std::index_sequence<kTap...>) {
  ((table.dot[kTap] = dot<kTap + 1>), ...);
}

Kernels make_kernels() {
  Kernels table;
  table.instructions = hwy::TargetName(HWY_TARGET);
  table.lanes = static_cast<int>(hn::Lanes(Tag()));
  table.max_pixels = kTilePixels;
  table.max_row_vectors = kRowVectors;
  fill_tiles(table, std::make_index_sequence<kTilePixels>());
  fill_rows(table, std::make_index_sequence<kRowVectors>());
  fill_dots(table, std::make_index_sequence<kMaxDotTaps>());
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace convscope::direct
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope::direct {

HWY_EXPORT(make_kernels);

Kernels best_kernels() {
  return HWY_DYNAMIC_DISPATCH(make_kernels)();
}

}  // namespace convscope::direct
#endif

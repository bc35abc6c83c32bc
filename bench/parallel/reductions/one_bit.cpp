// Compiled once for each instruction set; a word of 32 bits is made from 32 values at a time. Start at
// encode_column().
#include "bench/parallel/reductions/one_bit.hpp"

#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/parallel/reductions/one_bit.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convscope::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;  // a number of lanes that divides 32
using FloatMask = hn::Mask<Floats>;

HWY_INLINE uint32_t word_of(Floats d, FloatMask mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  uint32_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits & ((uint32_t{1} << hn::Lanes(d)) - 1);
}

HWY_INLINE FloatMask mask_of(Floats d, uint32_t bits) {
  uint8_t bytes[8] = {};
  std::memcpy(bytes, &bits, sizeof(bits));
  return hn::LoadMaskBits(d, bytes);
}

// error becomes gradient + error, whose signs are the words; the means of its two sides are the levels. Then
// the level of each value is taken from it.
HWY_INLINE void encode_column(const float* gradient, float* error, int64_t values, uint32_t* encoded) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  uint32_t* word = encoded + 2;
  auto positive = zero, negative = zero;
  int64_t set = 0, i = 0;
  for (; i + 32 <= values; i += 32) {
    uint32_t bits = 0;
    for (int64_t lane = 0; lane < 32; lane += lanes) {
      const auto v = hn::Add(hn::LoadU(d, gradient + i + lane), hn::LoadU(d, error + i + lane));
      const auto is_set = hn::Ge(v, zero);
      hn::StoreU(v, d, error + i + lane);
      bits |= word_of(d, is_set) << lane;
      positive = hn::Add(positive, hn::IfThenElseZero(is_set, v));
      negative = hn::Add(negative, hn::IfThenZeroElse(is_set, v));
    }
    set += std::popcount(bits);
    *word++ = bits;
  }
  float sums[2] = {hn::GetLane(hn::SumOfLanes(d, positive)), hn::GetLane(hn::SumOfLanes(d, negative))};
  if (i < values) {
    uint32_t bits = 0;
    for (int64_t lane = 0; i + lane < values; ++lane) {
      const float v = error[i + lane] += gradient[i + lane];
      const bool is_set = v >= 0;
      bits |= uint32_t{is_set} << lane;
      sums[is_set ? 0 : 1] += v;
    }
    set += std::popcount(bits);
    *word = bits;
  }
  const int64_t clear = values - set;
  const float high = set == 0 ? 0 : sums[0] / static_cast<float>(set);
  const float low = clear == 0 ? 0 : sums[1] / static_cast<float>(clear);
  encoded[0] = std::bit_cast<uint32_t>(high);
  encoded[1] = std::bit_cast<uint32_t>(low);
  const auto highs = hn::Set(d, high), lows = hn::Set(d, low);
  for (i = 0; i + lanes <= values; i += lanes) {
    const auto v = hn::LoadU(d, error + i);
    hn::StoreU(hn::Sub(v, hn::IfThenElse(hn::Ge(v, zero), highs, lows)), d, error + i);
  }
  for (; i < values; ++i) error[i] -= error[i] >= 0 ? high : low;
}

template <bool adds>
HWY_INLINE void decode_column(const uint32_t* encoded, float* out, int64_t values) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float high = std::bit_cast<float>(encoded[0]), low = std::bit_cast<float>(encoded[1]);
  const auto highs = hn::Set(d, high), lows = hn::Set(d, low);
  const uint32_t* word = encoded + 2;
  int64_t i = 0;
  for (; i + 32 <= values; i += 32, ++word)
    for (int64_t lane = 0; lane < 32; lane += lanes) {
      auto level = hn::IfThenElse(mask_of(d, *word >> lane), highs, lows);
      if (adds) level = hn::Add(level, hn::LoadU(d, out + i + lane));
      hn::StoreU(level, d, out + i + lane);
    }
  for (int64_t lane = 0; i + lane < values; ++lane) {
    const float level = (*word >> lane & 1) != 0 ? high : low;
    out[i + lane] = adds ? out[i + lane] + level : level;
  }
}

void encode_columns(int64_t count, int64_t values, const float* gradient, float* error, uint32_t* encoded) {
  const size_t words = Columns{count, values}.words_of_column();
  for (int64_t column = 0; column < count; ++column)
    encode_column(gradient + column * values, error + column * values, values,
                  encoded + static_cast<size_t>(column) * words);
}

void decode_columns(int64_t count, int64_t values, const uint32_t* encoded, float* out, bool adds) {
  const size_t words = Columns{count, values}.words_of_column();
  for (int64_t column = 0; column < count; ++column) {
    const uint32_t* const code = encoded + static_cast<size_t>(column) * words;
    if (adds)
      decode_column<true>(code, out + column * values, values);
    else
      decode_column<false>(code, out + column * values, values);
  }
}

}  // namespace
}  // namespace convscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {
namespace {
HWY_EXPORT(encode_columns);
HWY_EXPORT(decode_columns);
}  // namespace

int64_t encoded_bytes(const Columns& columns) {
  return static_cast<int64_t>(columns.encoded_words() * sizeof(uint32_t));
}

void encode(const Columns& columns, std::span<const float> gradient, std::span<float> error,
            std::span<uint32_t> encoded) {
  HWY_DYNAMIC_DISPATCH(encode_columns)
  (columns.count, columns.values, gradient.data(), error.data(), encoded.data());
}

void decode(const Columns& columns, std::span<const uint32_t> encoded, std::span<float> values, bool adds) {
  HWY_DYNAMIC_DISPATCH(decode_columns)(columns.count, columns.values, encoded.data(), values.data(), adds);
}

}  // namespace convscope
#endif

// The 1-bit codec's kernels. Encoding goes over a column twice: its values with the old errors are summed by
// sign, and when the two levels are known the error of each is left in its place. Warps take 32 neighbours at
// a time, whose signs are a word of the code. All sums have one order, so that codes repeat to the last bit.
#include <algorithm>

#include "bench/core/rounding.hpp"
#include "bench/device/kernel/kernel.hpp"
#include "bench/parallel/reductions/cuda/one_bit.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps;
// A column of so many values and more has all warps of a block, a shorter one has a warp.
constexpr int64_t kLongColumn = 1024;
constexpr int64_t kMaxBlocks = int64_t{1} << 16;

struct EncodeArgs {
  const float* gradient;
  float* error;
  unsigned* codes;
  int64_t columns, values, words;  // words: of a column's code, its two levels in front
};

struct DecodeArgs {
  const unsigned* codes;
  float* decoded;
  int64_t columns, values, words;  // as above
};

__device__ __forceinline__ float sum_of_warp(float value) {
  UNROLL
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  return value;
}

// kOfColumn: warps of a column.
template <int kOfColumn>
__global__ void __launch_bounds__(kThreads) encode(const __grid_constant__ EncodeArgs args) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int part = warp % kOfColumn;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * (kWarps / kOfColumn) + warp / kOfColumn;
  if (column >= args.columns) return;  // a whole block where its warps wait for each other
  const float* const gradient = args.gradient + column * args.values;
  float* const error = args.error + column * args.values;
  unsigned* const code = args.codes + column * args.words;
  float positive = 0, negative = 0;
  int set = 0;
  for (int64_t word = part; 32 * word < args.values; word += kOfColumn) {
    const int64_t i = 32 * word + lane;
    const bool is_inside = i < args.values;
    float value = 0;
    if (is_inside) error[i] = value = gradient[i] + error[i];
    const bool is_set = is_inside && value >= 0;
    const unsigned bits = __ballot_sync(~0u, is_set);
    if (lane == 0) code[2 + word] = bits;
    positive += is_set ? value : 0;
    negative += is_set ? 0 : value;
    set += __popc(bits);
  }
  positive = sum_of_warp(positive);
  negative = sum_of_warp(negative);
  if constexpr (kOfColumn > 1) {
    __shared__ float positives[kOfColumn], negatives[kOfColumn];
    __shared__ int sets[kOfColumn];
    if (lane == 0) {
      positives[part] = positive;
      negatives[part] = negative;
      sets[part] = set;
    }
    __syncthreads();
    positive = negative = 0;
    set = 0;
    UNROLL
    for (int i = 0; i < kOfColumn; ++i) {
      positive += positives[i];
      negative += negatives[i];
      set += sets[i];
    }
  }
  const int64_t clear = args.values - set;
  const float high = set == 0 ? 0 : positive / static_cast<float>(set);
  const float low = clear == 0 ? 0 : negative / static_cast<float>(clear);
  if (part == 0 && lane == 0) {
    code[0] = __float_as_uint(high);
    code[1] = __float_as_uint(low);
  }
  for (int64_t i = 32 * part + lane; i < args.values; i += 32 * kOfColumn)
    error[i] -= error[i] >= 0 ? high : low;
}

// A warp for a word of bits.
template <bool kAdds>
__global__ void __launch_bounds__(kThreads) decode(const __grid_constant__ DecodeArgs args) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t words = args.words - 2, all = args.columns * words;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kWarps;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32; at < all; at += step) {
    const int64_t column = at / words, i = 32 * (at % words) + lane;
    const unsigned* const code = args.codes + column * args.words;
    const unsigned level = code[code[2 + at % words] >> lane & 1 ? 0 : 1];
    if (i >= args.values) continue;
    float& value = args.decoded[column * args.values + i];
    value = kAdds ? value + __uint_as_float(level) : __uint_as_float(level);
  }
}

}  // namespace

void enqueue_encode(const Columns& columns, std::span<const float> gradient, std::span<float> error,
                    std::span<uint32_t> encoded, Queue& queue) {
  if (columns.elements() == 0) return;
  const EncodeArgs args{gradient.data(), error.data(),   encoded.data(),
                        columns.count,   columns.values, static_cast<int64_t>(columns.words_of_column())};
  const bool is_long = columns.values >= kLongColumn;
  const int64_t of_a_block = is_long ? 1 : kWarps;
  launch(is_long ? encode<kWarps> : encode<1>, static_cast<unsigned>(ceil_div(columns.count, of_a_block)),
         kThreads, 0, queue, args);
}

void enqueue_decode(const Columns& columns, std::span<const uint32_t> encoded, std::span<float> values,
                    bool adds, Queue& queue) {
  if (columns.elements() == 0) return;
  const DecodeArgs args{encoded.data(), values.data(), columns.count, columns.values,
                        static_cast<int64_t>(columns.words_of_column())};
  const int64_t words = columns.count * (args.words - 2);
  launch(adds ? decode<true> : decode<false>,
         static_cast<unsigned>(std::min(kMaxBlocks, ceil_div(words, int64_t{kWarps}))), kThreads, 0, queue,
         args);
}

}  // namespace convscope::CONVSCOPE_KERNELS

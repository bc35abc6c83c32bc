// The 1-bit codec with error feedback (Seide, Fu, Droppo, Li, Yu 2014, as CNTK has it): of a gradient one bit
// a value is sent, and what that loses is added to the next gradient. Start at encode(); the reduction over
// it is one_bit_reduction.hpp.
//
// A gradient is `count` columns of `values` numbers each, one column after the other: of a convolution the
// output channels with C R S / groups values, of a fully-connected layer the outputs. A column v = g + e
// becomes a bit v >= 0 for each value and two levels, the means of the values with and without the bit (0 of
// none); the receiver puts a value's level in its place, and the sender keeps e = v - level.
// A value that is not finite makes the level of its side one that is not, and its error stays one for good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace convscope {

struct Columns {
  int64_t count = 0;
  int64_t values = 0;  // of each

  size_t elements() const { return static_cast<size_t>(count * values); }
  // An encoded column: the levels of set and of clear bits, as f32, then the bits, the first value's lowest.
  size_t words_of_column() const { return 2 + static_cast<size_t>((values + 31) / 32); }
  size_t encoded_words() const { return static_cast<size_t>(count) * words_of_column(); }
  // Columns [first, end) of them.
  Columns range(int64_t first, int64_t end) const { return {end - first, values}; }
};

// count (4 ceil(values / 32) + 8)
int64_t encoded_bytes(const Columns& columns);

// Encodes `gradient` + `error`, and leaves in `error` what the code loses. Sizes are columns.elements() and
// columns.encoded_words(). Over many steps the sum of the decoded gradients is that of the gradients less the
// last error, but for rounding in f32.
void encode(const Columns& columns, std::span<const float> gradient, std::span<float> error,
            std::span<uint32_t> encoded);

// Replaces `values` by the levels, or adds these to them.
void decode(const Columns& columns, std::span<const uint32_t> encoded, std::span<float> values,
            bool adds = false);

}  // namespace convscope

// Tensors as TMA reads them: channels innermost and padded to 16 bytes. What lies otherwise is repacked into
// the workspace by the kernels of repack.cu, to which these are the descriptions. Plain data, handed to the
// kernels by value. Start at repack_for_tma().
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "bench/core/problem.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::implicit_gemm {

inline constexpr int kTmaAlignment = 16;  // bytes, of every stride of a tensor

// Elements of a tensor to other places: outer x inner matrices of rows x columns; rows become neighbours.
struct Repack {
  int outer = 1, inner = 1, rows = 1, columns = 1;
  int64_t from_outer = 0, from_inner = 0, from_row = 0, from_column = 0;
  int64_t to_outer = 0, to_inner = 0, to_column = 0;
  int element_bytes = 2;
  int64_t bytes = 0;  // of the result, with the padding of its rows
};

inline constexpr int kLineWord = 4;  // elements that a thread stores at a time

// Lines of pixels to lines of `to_line` elements, in which a pixel has `pitch` (multiples of kLineWord).
// Pixel x of a result is the source's x - before; what the source does not have becomes zero.
struct LinePack {
  int outer = 1, lines = 1, width = 1, channels = 1;  // of the source
  int64_t from_outer = 0, from_line = 0;
  int from_pixel = 0, from_channel = 0;
  int before = 0, pitch = kLineWord, to_line = kLineWord;
  int element_bytes = 2;
};

using Relayout = std::variant<Repack, LinePack>;

// Elements from one pixel and group to the next: `channels` of a group and their padding.
int channel_pitch(MathMode math, int64_t channels);

// Input or output to [image][pixel][group][channel]; nothing where TMA can read it as it lies.
std::optional<Repack> repack_for_tma(const ConvProblem& problem, Role role);

// What the result takes of the workspace, where it begins on a multiple of 256 bytes.
int64_t workspace_bytes(const std::optional<Relayout>& relayout);

// Read once and written once, of a Repack without the padding, which it does not write.
double moved_bytes(const std::optional<Relayout>& relayout);

}  // namespace convscope::implicit_gemm

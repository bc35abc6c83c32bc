// A convolution pass as a matrix product D[row][column] = sum over depth of A[row][depth] B[depth][column]:
// where each matrix element lies in its tensor. Rows and depth are three nested counters each, so that every
// offset is a sum of counter * stride; A alone has elements that fall on padding and count as 0. Plain data,
// handed to the kernels by value. Start at index_maps().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::implicit_gemm {

// Position in A's image, y in the lower and x in the upper 16 bits, so that one addition adds both. Sums hold
// as long as every coordinate is within +-kCoordinateLimit.
using Position = uint32_t;
inline constexpr int kCoordinateLimit = 0x4000;
constexpr Position position(int y, int x) {
  return static_cast<Position>(y) + (static_cast<Position>(x) << 16);
}
// Added once to each sum, it makes bits 15 and 31 say that y and x are not negative.
inline constexpr Position kPositionBias = 0x80008000u;
inline constexpr Position kPositionSigns = 0x80008000u;
// A position that stays outside whatever another counter adds.
inline constexpr Position kOutside = position(-kCoordinateLimit, 0);

// Sizes are of one group. Strides and bases are elements; [0] is the outermost counter.
struct IndexMap {
  int rows = 0, columns = 0, depth = 0, groups = 1;
  int row_size[3] = {1, 1, 1}, depth_size[3] = {1, 1, 1};

  // A is indexed by row and depth: the offset of an element and its position in the image are sums of what
  // the counters of both add to `a_base` and `base`. `last` belongs to the image's last pixel; `last` less an
  // element's position is, like the position itself, not negative in y and x where the element is inside.
  int a_base = 0, a_group = 0, a_row[3] = {}, a_depth[3] = {};
  Position base = 0, last = 0, row_position[3] = {}, depth_position[3] = {};

  int b_base = 0, b_group = 0, b_column = 0, b_depth[3] = {};
  int d_base = 0, d_group = 0, d_column = 0, d_row[3] = {};

  // Neighbouring threads load or store neighbours of this kind: what lies closest in memory.
  bool a_along_rows = false, b_along_columns = false, d_along_rows = false;
};

// One map; in backward-data one for each residue of the stride, as each residue meets its own taps of the
// filter (or none: depth 0, all zeros). Together they cover the written tensor once.
std::vector<IndexMap> index_maps(const ConvProblem& problem);

// Why 32-bit offsets or 16-bit coordinates do not suffice, as a sentence; nothing when they do.
std::optional<std::string> size_defect(const ConvProblem& problem);

}  // namespace convscope::implicit_gemm

// Implicit GEMM in plain loops: the model that the index maps are tested with, and the place to start
// reading. One element of D after the other, one depth after the other; what lies on padding counts as zero.
#pragma once

#include "algorithms/implicit_gemm/cuda/index_map.hpp"

namespace convscope::implicit_gemm {

// The three counters of a row or depth: `index` in mixed radix, the last counter fastest.
struct PlainCounters {
  int at[3];
  PlainCounters(int index, const int (&size)[3])
      : at{index / (size[1] * size[2]), index / size[2] % size[1], index % size[2]} {}
  template <typename Value>
  Value times(const Value (&step)[3]) const {
    return static_cast<Value>(at[0]) * step[0] + static_cast<Value>(at[1]) * step[1] +
           static_cast<Value>(at[2]) * step[2];
  }
};

// True where the biased position lies in A's image: neither it nor (last - it) is negative in y or x.
inline bool is_inside(const IndexMap& map, Position at) {
  return (at & (map.last - at) & kPositionSigns) == kPositionSigns;
}

// D = A B for every channel group. Pointers to whole tensors in the problem's layout, f32.
inline void plain_product(const IndexMap& map, const float* a, const float* b, float* d) {
  for (int group = 0; group < map.groups; ++group)
    for (int row = 0; row < map.rows; ++row)
      for (int column = 0; column < map.columns; ++column) {
        const PlainCounters of_row(row, map.row_size);
        double sum = 0;
        for (int depth = 0; depth < map.depth; ++depth) {
          const PlainCounters of_depth(depth, map.depth_size);
          if (!is_inside(map, map.base + of_row.times(map.row_position) + of_depth.times(map.depth_position)))
            continue;
          const int in_a =
              map.a_base + group * map.a_group + of_row.times(map.a_row) + of_depth.times(map.a_depth);
          const int in_b =
              map.b_base + group * map.b_group + column * map.b_column + of_depth.times(map.b_depth);
          sum += static_cast<double>(a[in_a]) * b[in_b];
        }
        d[map.d_base + group * map.d_group + of_row.times(map.d_row) + column * map.d_column] =
            static_cast<float>(sum);
      }
}

}  // namespace convscope::implicit_gemm

#include "algorithms/direct/cuda/geometry.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace convscope::direct {
namespace {

// (written, read) -> tap, for all pairs that the convolution's definition joins: input = output * stride -
// pad + tap * dilation.
std::map<std::pair<int64_t, int64_t>, int64_t> definition(const AxisSizes& axis, bool forward) {
  std::map<std::pair<int64_t, int64_t>, int64_t> pairs;
  for (int64_t o = 0; o < axis.output; ++o)
    for (int64_t tap = 0; tap < axis.filter; ++tap) {
      const int64_t i = o * axis.stride - axis.pad + tap * axis.dilation;
      if (i >= 0 && i < axis.input) pairs[forward ? std::pair{o, i} : std::pair{i, o}] = tap;
    }
  return pairs;
}

AxisSizes axis(int64_t input, int64_t filter, int64_t stride, int64_t pad, int64_t dilation) {
  return {input, (input + 2 * pad - dilation * (filter - 1) - 1) / stride + 1, filter, stride, pad, dilation};
}

TEST(AxisResidues, JoinExactlyThePairsOfTheDefinition) {
  for (bool forward : {true, false})
    for (const AxisSizes& sizes : {axis(9, 3, 1, 1, 1), axis(10, 3, 2, 1, 1), axis(11, 5, 3, 2, 1),
                                   axis(13, 3, 2, 2, 2), axis(13, 4, 4, 3, 6), axis(2, 1, 3, 0, 1),
                                   axis(7, 1, 2, 0, 1), axis(23, 11, 4, 2, 1), axis(12, 3, 6, 4, 4)}) {
      const int64_t read_size = forward ? sizes.input : sizes.output;
      std::map<std::pair<int64_t, int64_t>, int64_t> found;
      std::map<int64_t, int> written;
      for (const AxisResidue& residue : axis_residues(sizes, forward))
        for (int u = 0; u < residue.extent; ++u) {
          const int at = residue.written_first + u * residue.written_step;
          ++written[at];
          int inside = 0;
          for (int i = 0; i < residue.taps; ++i) {
            const int read = u * residue.read_step + residue.first_read + i * residue.read_tap_step;
            if (read < 0 || read >= read_size) continue;
            found[{at, read}] = residue.first_tap + i * residue.tap_step;
            ++inside;
          }
          EXPECT_EQ(taps_inside(residue, u, read_size), inside);
        }
      EXPECT_EQ(found, definition(sizes, forward));
      EXPECT_EQ(static_cast<int64_t>(written.size()), forward ? sizes.output : sizes.input);
      for (const auto& [at, times] : written) EXPECT_EQ(times, 1) << at;
    }
}

TEST(AxisResidues, AResidueThatNoTapReachesHasNone) {
  const auto residues = axis_residues(axis(7, 1, 2, 0, 1), false);
  ASSERT_EQ(residues.size(), 2u);
  EXPECT_EQ(residues[0].taps, 1);
  EXPECT_EQ(residues[1].taps, 0);
}

}  // namespace
}  // namespace convscope::direct

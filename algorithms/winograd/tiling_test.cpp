#include "algorithms/winograd/tiling.hpp"

#include <gtest/gtest.h>

namespace convscope::winograd {
namespace {

TEST(Tiling, MixedTilesPadNothing) {
  for (int taps = 1; taps <= 7; ++taps)
    for (int64_t outputs = 1; outputs <= 60; ++outputs) {
      const Axis axis = even_axis(outputs, taps);
      EXPECT_EQ(axis.covered(), outputs);
      int64_t next = 0;
      for (const Tile& tile : axis.tiles) {
        EXPECT_EQ(tile.start, next);
        EXPECT_LE(tile.size, axis.tiles.front().size);
        EXPECT_LE(axis.alpha(tile), 8);
        next += tile.size;
      }
    }
}

TEST(Tiling, FiltersOfOneRowOrColumnHaveLargerTilesWhereThatSavesAQuarter) {
  EXPECT_EQ(describe(even_axis(17, 7)), "17=8x2+1");
  EXPECT_EQ(describe(even_axis(17, 7, true)), "17=6+6+5") << "35 points instead of 71";
  EXPECT_EQ(describe(even_axis(8, 3, true)), describe(even_axis(8, 3))) << "10 points instead of 12";
  EXPECT_EQ(describe(even_axis(9, 1, true)), describe(even_axis(9, 1)));
  for (int taps = 2; taps <= 7; ++taps)
    for (int64_t outputs = 1; outputs <= 60; ++outputs) {
      const Axis axis = even_axis(outputs, taps, true);
      EXPECT_EQ(axis.covered(), outputs);
      EXPECT_LE(axis.largest_alpha(), 12);
      EXPECT_LE(axis.tiles.front().size, 8);
      EXPECT_LE(axis.points(), even_axis(outputs, taps).points());
    }
}

TEST(Tiling, NamesItsSplits) {
  EXPECT_EQ(describe(even_axis(13, 3)), "13=5+4+4");
  EXPECT_EQ(describe(even_axis(27, 5)), "27=6x4+3");
  EXPECT_EQ(describe(even_axis(1, 3)), "1=1");
  EXPECT_EQ(describe(uniform_axis(13, 3, 4)), "13=4+4+4+4-3");
  EXPECT_EQ(describe(uniform_axis(27, 5, 3)), "27=9x3");
}

TEST(Tiling, CountsPointsAndTilesThatHaveAPoint) {
  const Axis axis = even_axis(13, 3);
  EXPECT_EQ(axis.points(), 19);
  EXPECT_EQ(axis.tiles_with(0), 3);
  EXPECT_EQ(axis.tiles_with(5), 3);
  EXPECT_EQ(axis.tiles_with(6), 1);
  EXPECT_EQ(axis.tiles_with(7), 0);
}

TEST(Tiling, UniformTilesReachPastTheEnd) {
  const Axis axis = uniform_axis(5, 3, 4);
  ASSERT_EQ(axis.tiles.size(), 2u);
  EXPECT_EQ(axis.tiles[1].start, 4);
  EXPECT_EQ(axis.covered(), 8);
}

TEST(Residues, SplitElevenTapsWithStrideFourIntoThreeAndTwo) {
  const Residues residues = split_stride({11, 11}, {4, 4});
  EXPECT_EQ(residues.taps, (Extent2{3, 3}));
  EXPECT_EQ(residues.offsets.size(), 16u);
  const auto count = [](Residues::Range range) { return range.end - range.begin; };
  EXPECT_EQ(count(residues.present(false, false)), 16);
  EXPECT_EQ(count(residues.present(true, false)), 12);
  EXPECT_EQ(count(residues.present(false, true)), 12);
  EXPECT_EQ(count(residues.present(true, true)), 9);
}

TEST(Residues, ThoseThatAreNotZeroAtInfinityHaveTheLastTap) {
  for (const Extent2 filter : {Extent2{11, 7}, Extent2{5, 6}, Extent2{4, 4}, Extent2{3, 5}})
    for (const Extent2 stride : {Extent2{2, 2}, Extent2{3, 2}, Extent2{2, 3}, Extent2{1, 3}}) {
      const Residues residues = split_stride(filter, stride);
      for (const bool in_h : {false, true})
        for (const bool in_w : {false, true}) {
          const Residues::Range range = residues.present(in_h, in_w);
          for (size_t i = 0; i < residues.offsets.size(); ++i) {
            const Extent2 first = residues.offsets[i];
            const bool last_h = first.h + (residues.taps.h - 1) * stride.h < filter.h;
            const bool last_w = first.w + (residues.taps.w - 1) * stride.w < filter.w;
            const auto at = static_cast<int64_t>(i);
            EXPECT_EQ((!in_h || last_h) && (!in_w || last_w), at >= range.begin && at < range.end);
          }
        }
    }
}

}  // namespace
}  // namespace convscope::winograd

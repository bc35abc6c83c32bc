#include "algorithms/direct/cpu/geometry.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace convscope::direct {
namespace {

TEST(DirectGeometry, SplitsBackwardDataByResidueOfTheStride) {
  ConvProblem problem = parse_problem("backward_data n=1 c=1 hw=9x9 k=1 rs=3x3 stride=2x2 pad=1x1");
  const auto parts = correlations(problem);
  ASSERT_EQ(parts.size(), 4u);
  size_t taps = 0;
  for (const auto& part : parts) taps += part.rows.taps.size() * part.columns.taps.size();
  EXPECT_EQ(taps, 9u);
}

TEST(DirectGeometry, LeavesOutTapsOnPadding) {
  const auto parts = correlations(parse_problem("n=1 c=1 hw=5x5 k=1 rs=3x3 pad=1x1"));
  const auto& rows = parts.front().rows;
  EXPECT_EQ(rows.taps_inside(0, 1).size(), 2);
  EXPECT_EQ(rows.taps_inside(1, 2).size(), 3);
  EXPECT_EQ(rows.taps_inside(4, 5).size(), 2);
  EXPECT_EQ(rows.taps_inside(4, 5).begin, 0);
}

// 3 taps with padding 1 over 7 rows.
Axis three_taps() {
  return forward_correlation(parse_problem("n=1 c=1 hw=7x7 k=1 rs=3x3 pad=1x1")).rows;
}

int64_t rows_of(const std::vector<Chunk>& slice) {
  int64_t rows = 0;
  for (const Chunk& chunk : slice) rows += chunk.images * chunk.rows.size();
  return rows;
}

TEST(FilterChunks, CoverEveryRowOfTheBatchOnceAndInOrder) {
  const Axis axis = three_taps();
  for (const int64_t images : {1, 2, 5})
    for (const int64_t slices : {1, 2, 3, 7})
      for (const int64_t max_rows : {1, 3, 7, 8, 14, 100}) {
        SCOPED_TRACE(testing::Message()
                     << images << " images, " << slices << " slices, " << max_rows << " rows");
        int64_t next = 0;
        for (const auto& slice : sliced_chunks(axis, images, slices, max_rows))
          for (const Chunk& chunk : slice) {
            EXPECT_EQ(chunk.image * axis.count + chunk.rows.begin, next);
            EXPECT_TRUE(chunk.images == 1 || chunk.rows.size() == axis.count);
            EXPECT_LE(chunk.images * chunk.rows.size(), max_rows);
            EXPECT_LE(chunk.rows.end, axis.count);
            next += chunk.images * chunk.rows.size();
          }
        EXPECT_EQ(next, images * axis.count);
      }
}

TEST(FilterChunks, GiveEachSliceItsShareOfTheRows) {
  const auto slices = sliced_chunks(three_taps(), 2, 4, 2);
  for (const auto& slice : slices) {
    EXPECT_GE(rows_of(slice), 3);
    EXPECT_LE(rows_of(slice), 4);
  }
}

TEST(FilterChunks, AreWholeImagesWhereSeveralFit) {
  const auto chunks = sliced_chunks(three_taps(), 5, 1, 20).front();
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].images, 2);
  EXPECT_EQ(chunks[1].image, 2);
  EXPECT_EQ(chunks[2].images, 1);
}

TEST(FilterChunks, NameTheInputRowsOfTheirTaps) {
  const auto chunks = sliced_chunks(three_taps(), 1, 1, 4).front();
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0].input_rows.begin, -1);
  EXPECT_EQ(chunks[0].input_rows.end, 5);
  EXPECT_EQ(chunks[1].input_rows.begin, 3);
  EXPECT_EQ(chunks[1].input_rows.end, 8);
}

TEST(FilterChunks, ReadNothingWhereEveryTapIsOnPadding) {
  const Axis axis = forward_correlation(parse_problem("n=1 c=1 hw=1x1 k=1 rs=2x1 pad=2x0 dilation=4x1")).rows;
  ASSERT_TRUE(axis.taps.empty());
  const auto slices = sliced_chunks(axis, 1, 1, 1);
  ASSERT_EQ(slices.front().size(), 1u);
  EXPECT_TRUE(slices.front().front().input_rows.empty());
}

}  // namespace
}  // namespace convscope::direct

// How the work is cut into blocks, on made-up caches.
#include "algorithms/winograd/cpu/block_plan.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace convscope::winograd {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

DeviceInfo made_up_cpu() {
  DeviceInfo device;
  device.l2_bytes = kMiB;
  device.llc_bytes = 32 * kMiB;
  return device;
}

// One strip is one MiB.
const BlockBytes kBytes{.strip = kMiB, .stationary = kMiB};

Geometry images_of(int64_t batch, int64_t pixels) {
  ConvProblem problem = parse_problem("forward fp32 nchw n=1 c=8 hw=48x48 k=8 rs=3x3 pad=1x1");
  problem.batch = batch;
  problem.input = {pixels, pixels};
  return make_geometry(problem, {6});
}

void expect_each_strip_once(const Geometry& geometry, const std::vector<Block>& blocks) {
  std::set<std::pair<int64_t, int64_t>> seen;
  for (const Block& block : blocks) {
    EXPECT_LE(block.strips(), blocks.front().strips());
    for (int64_t image = 0; image < block.images; ++image)
      for (int64_t row = 0; row < block.rows; ++row)
        EXPECT_TRUE(seen.emplace(block.first_image + image, block.first_row + row).second);
  }
  EXPECT_EQ(static_cast<int64_t>(seen.size()), geometry.problem.batch * geometry.tile_rows());
  EXPECT_EQ(seen.rbegin()->first, geometry.problem.batch - 1);
  EXPECT_EQ(seen.rbegin()->second, geometry.tile_rows() - 1);
}

TEST(BlockPlan, HasEachStripInOneBlock) {
  for (const int64_t batch : {1, 2, 3, 16})
    for (const int64_t pixels : {5, 13, 48, 112})
      for (const int threads : {1, 2, 3, 8})
        for (const int64_t stationary : {kMiB / 4, 2 * kMiB, 7 * kMiB}) {
          const Geometry geometry = images_of(batch, pixels);
          const BlockBytes bytes{.strip = kMiB / 3, .stationary = stationary};
          expect_each_strip_once(geometry,
                                 cut_into_blocks(geometry, bytes, made_up_cpu(), {.threads = threads}));
          const auto own = cut_for_each_thread(geometry, bytes, made_up_cpu(), {.threads = threads});
          if (!own.empty()) expect_each_strip_once(geometry, own);
        }
}

TEST(BlockPlan, FitsBlocksIntoACacheOnlyWhereTheyOccupyTheThreads) {
  for (const int64_t batch : {1, 2, 3, 16})
    for (const int64_t pixels : {13, 48, 112})
      for (const int threads : {1, 2, 3}) {
        const auto blocks = cut_to_fit(images_of(batch, pixels), 5, threads);
        if (blocks.empty()) continue;
        expect_each_strip_once(images_of(batch, pixels), blocks);
        EXPECT_LE(blocks.front().strips(), 5);
        EXPECT_TRUE(keeps_threads_busy(blocks, threads));
      }
  EXPECT_EQ(cut_to_fit(images_of(16, 13), 27, 2).front().images, 8) << "3 strips an image";
  EXPECT_TRUE(cut_to_fit(images_of(1, 5), 9, 2).empty()) << "one strip for two threads";
  EXPECT_TRUE(cut_to_fit(images_of(16, 13), 0, 1).empty()) << "no room for a strip";
}

TEST(TileOrder, HasARowForEachTileAndRangesForPairsOfPoints) {
  // 13 = 5+4+4, 31 = 6 and five of 5, 40 = 6x6+4, 12 = 6+6.
  for (const Extent2 size : {Extent2{13, 13}, Extent2{31, 13}, Extent2{13, 40}, Extent2{12, 12}}) {
    ConvProblem problem = parse_problem("forward fp32 nchw n=3 c=8 hw=13x13 k=8 rs=3x3 pad=1x1");
    problem.input = size;
    const Geometry geometry = make_geometry(problem, {});
    for (const Block& block : {Block{0, 3, 0, geometry.tile_rows()}, Block{1, 2, 1, 1}, Block{2, 1, 0, 2}}) {
      const TileOrder order(geometry, block);
      std::set<int64_t> seen;
      for (int i = 0; i < geometry.points_h(); ++i)
        for (int j = 0; j < geometry.points_w(); ++j) {
          const TileOrder::Range range = order.with(i, j);
          EXPECT_EQ(range.count, block.strips_with(geometry, i) * geometry.w.tiles_with(j));
          for (int64_t image = 0; image < block.images; ++image)
            for (int64_t row = 0; row < block.rows; ++row)
              for (int64_t column = 0; column < geometry.tile_columns(); ++column) {
                const int64_t at =
                    order.row(block.strip(block.first_image + image, block.first_row + row), column);
                seen.insert(at);
                const bool has = geometry.h.alpha(geometry.h.tiles[block.first_row + row]) > i &&
                                 geometry.w.alpha(geometry.w.tiles[column]) > j;
                EXPECT_EQ(has, at >= range.begin && at < range.begin + range.count);
              }
        }
      const int64_t tiles = block.strips() * geometry.tile_columns();
      EXPECT_EQ(static_cast<int64_t>(seen.size()), tiles);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), tiles - 1);
    }
  }
}

TEST(BlockPlan, GivesEachThreadAsManyBlocksOfItsOwn) {
  // 8 strips an image, two of them in a block.
  const auto rows = cut_for_each_thread(images_of(1, 48), kBytes, made_up_cpu(), {.threads = 2});
  EXPECT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows.front().strips(), 2);
  // One strip an image, two images in a block.
  const auto images = cut_for_each_thread(images_of(12, 6), kBytes, made_up_cpu(), {.threads = 3});
  EXPECT_EQ(images.size(), 6u);
  EXPECT_EQ(images.front().images, 2);
}

TEST(BlockPlan, SharesTheBlocksWhereThreadsWouldWait) {
  const Geometry three_strips = images_of(1, 18);
  EXPECT_TRUE(cut_for_each_thread(three_strips, kBytes, made_up_cpu(), {.threads = 2}).empty());
  EXPECT_FALSE(cut_for_each_thread(three_strips, kBytes, made_up_cpu(), {.threads = 3}).empty());
  EXPECT_FALSE(cut_for_each_thread(three_strips, kBytes, made_up_cpu(), {.threads = 1}).empty());
}

TEST(BlockPlan, SharesTheBlocksWhereTheFiltersAreLarge) {
  const auto own = [&](int64_t stationary, int64_t strip) {
    const BlockBytes bytes{.strip = strip, .stationary = stationary};
    return cut_for_each_thread(images_of(2, 48), bytes, made_up_cpu(), {.threads = 2});
  };
  EXPECT_FALSE(own(24 * kMiB, kMiB).empty());
  EXPECT_TRUE(own(24 * kMiB + 1, kMiB).empty()) << "more than three times the planes of an image, a third of "
                                                   "the LLC holds no two";
  EXPECT_FALSE(own(3 * kMiB / 2, kMiB / 16).empty());
  EXPECT_TRUE(own(3 * kMiB / 2 + 1, kMiB / 16).empty()) << "more than three times an image's planes";
}

TEST(BlockPlan, TakesLargerBlocksOfAThreadsOwnWhereTheFiltersAreLarger) {
  const auto strips = [&](int64_t stationary) {
    const BlockBytes bytes{.strip = kMiB, .stationary = stationary};
    return cut_for_each_thread(images_of(2, 48), bytes, made_up_cpu(), {.threads = 2}).front().strips();
  };
  EXPECT_EQ(strips(4 * kMiB), 2);
  EXPECT_EQ(strips(8 * kMiB), 4);
}

TEST(BlockPlan, TakesLargerBlocksOfAThreadsOwnWhereThoseOccupyTheThreadsEvenly) {
  // 10 strips: blocks of 4 would be 3, 3, 3 and 1.
  const BlockBytes bytes{.strip = kMiB, .stationary = 8 * kMiB};
  const auto blocks = cut_for_each_thread(images_of(1, 60), bytes, made_up_cpu(), {.threads = 2});
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks.front().strips(), 5);
}

TEST(BlockPlan, StaysUnderTheWorkspaceCap) {
  const Geometry geometry = images_of(1, 48);
  const BlockBytes bytes{.strip = kMiB, .stationary = kMiB, .fixed = 2 * kMiB, .padding = kMiB / 2};
  const auto strips = [&](int64_t cap) {
    const auto blocks =
        cut_for_each_thread(geometry, bytes, made_up_cpu(), {.workspace_cap = cap, .threads = 2});
    return blocks.empty() ? 0 : blocks.front().strips();
  };
  EXPECT_EQ(strips(7 * kMiB), 2);
  EXPECT_EQ(strips(7 * kMiB - 1), 1);
  EXPECT_EQ(strips(5 * kMiB), 1);
  EXPECT_EQ(strips(5 * kMiB - 1), 0);
  EXPECT_EQ(strips(1), 0);
}

}  // namespace
}  // namespace convscope::winograd

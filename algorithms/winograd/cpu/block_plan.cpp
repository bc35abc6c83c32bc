#include "algorithms/winograd/cpu/block_plan.hpp"

#include <algorithm>

#include "algorithms/winograd/cpu/filter_transform.hpp"

namespace convscope::winograd {

ScratchPart take_scratch(Arena& arena, const Geometry& geometry, int64_t rows, int lanes, int threads) {
  ScratchPart part;
  part.staged = round_up(
      std::max(staged_floats(geometry, rows, lanes), FilterTransform::staged_floats(geometry, lanes)), 16);
  part.each = odd_lines(part.staged + kLineVectors * lanes);
  part.at = arena.take(part.each * threads);
  return part;
}

int64_t rows_together(const Geometry& geometry, int lanes, int threads) {
  constexpr int64_t kFloats = (int64_t{32} << 10) / kFloat;
  const int64_t channels = std::min(geometry.input_view.lanes(), geometry.output_view.lanes());
  const int64_t each_thread =
      geometry.problem.batch * ceil_div(channels, lanes) * geometry.tile_rows() / threads;
  int64_t rows = 1;
  while (rows < geometry.tile_rows() && rows < each_thread &&
         staged_floats(geometry, rows + 1, lanes) <= kFloats)
    ++rows;
  return rows;
}

namespace {

// Blocks of at most `max_strips` strips, their number a multiple of `sharers` if possible.
std::vector<Block> cut(const Geometry& geometry, int64_t max_strips, int64_t sharers) {
  // From the size of a piece their number, or the other way round.
  const auto pieces = [](int64_t whole, int64_t of) {
    return ceil_div(whole, std::clamp<int64_t>(of, 1, whole));
  };
  const int64_t batch = geometry.problem.batch, tile_rows = geometry.tile_rows();
  const int64_t row_pieces = pieces(tile_rows, max_strips);
  const int64_t image_pieces = pieces(batch, max_strips / tile_rows);
  const bool by_images = image_pieces % sharers == 0 || round_up(image_pieces, sharers) <= batch;
  const int64_t images = pieces(batch, by_images ? round_up(image_pieces, sharers) : image_pieces);
  const int64_t rows = pieces(tile_rows, by_images ? row_pieces : round_up(row_pieces, sharers));
  std::vector<Block> blocks;
  for (int64_t image = 0; image < batch; image += images)
    for (int64_t row = 0; row < tile_rows; row += rows)
      blocks.push_back({image, std::min(images, batch - image), row, std::min(rows, tile_rows - row)});
  return blocks;
}

}  // namespace

int64_t shared_cache_bytes(const DeviceInfo& device) {
  constexpr int64_t kMin = int64_t{4} << 20;  // where the device does not tell its caches
  return std::max(2 * device.llc_bytes / 3, kMin);
}

bool keeps_threads_busy(int64_t units, int64_t threads) {
  constexpr double kMinBusy = 0.8;
  return static_cast<double>(units) >= kMinBusy * static_cast<double>(round_up(units, threads));
}

bool keeps_threads_busy(const std::vector<Block>& blocks, int64_t threads) {
  constexpr double kMinBusy = 0.9;
  std::vector<int64_t> strips(static_cast<size_t>(threads));
  int64_t all = 0;
  for (const Block& block : blocks) {
    *std::min_element(strips.begin(), strips.end()) += block.strips();
    all += block.strips();
  }
  const int64_t longest = *std::max_element(strips.begin(), strips.end());
  return static_cast<double>(all) >= kMinBusy * static_cast<double>(threads * longest);
}

std::vector<Block> cut_to_fit(const Geometry& geometry, int64_t max_strips, int64_t threads) {
  for (int64_t strips = max_strips; strips > 0; --strips) {
    std::vector<Block> blocks = cut(geometry, strips, threads);
    if (keeps_threads_busy(blocks, threads)) return blocks;
  }
  return {};
}

std::vector<Block> cut_into_blocks(const Geometry& geometry, const BlockBytes& bytes,
                                   const DeviceInfo& device, const PlanOptions& options) {
  const int64_t wanted = std::max(bytes.stationary, 2 * device.l2_bytes * options.threads);
  const int64_t left = options.workspace_cap - bytes.fixed - bytes.padding;
  const int64_t budget = std::min({shared_cache_bytes(device), wanted, left});
  return cut(geometry, budget / bytes.strip, 1);
}

std::vector<Block> cut_for_each_thread(const Geometry& geometry, const BlockBytes& bytes,
                                       const DeviceInfo& device, const PlanOptions& options) {
  constexpr int64_t kMaxStationary = 3;  // times a block's planes
  const int64_t threads = options.threads;
  const int64_t left = (options.workspace_cap - bytes.fixed) / threads - bytes.padding;
  const int64_t all = geometry.problem.batch * geometry.tile_rows();
  const int64_t max_strips =
      std::min(std::min(shared_cache_bytes(device) / threads, left) / bytes.strip, all);
  const int64_t wanted = std::max(2 * device.l2_bytes, bytes.stationary / 2) / bytes.strip;
  for (int64_t strips = std::max<int64_t>(1, std::min(wanted, max_strips)); strips <= max_strips; ++strips) {
    std::vector<Block> blocks = cut(geometry, strips, threads);
    const bool large = bytes.stationary <= kMaxStationary * blocks.front().strips() * bytes.strip;
    if (large && keeps_threads_busy(blocks, threads)) return blocks;
  }
  return {};
}

}  // namespace convscope::winograd

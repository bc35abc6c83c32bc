#include "algorithms/winograd/block_plan.hpp"

#include "algorithms/winograd/filter_transform.hpp"

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
  constexpr int64_t kFloats = (int64_t{32} << 10) / int64_t{sizeof(float)};
  const int64_t channels = std::min(geometry.image.lanes(), geometry.signal.lanes());
  const int64_t each_thread =
      geometry.problem.batch * ceil_div(channels, lanes) * geometry.tile_rows() / threads;
  int64_t rows = 1;
  while (rows < geometry.tile_rows() && rows < each_thread &&
         staged_floats(geometry, rows + 1, lanes) <= kFloats)
    ++rows;
  return rows;
}

std::vector<Block> cut_into_blocks(const Geometry& geometry, int64_t strip_bytes, int64_t stationary_bytes,
                                   int64_t fixed_bytes, int64_t padding_bytes, const DeviceInfo& device,
                                   const PlanOptions& options) {
  constexpr int64_t kLeastShared = int64_t{4} << 20;  // where the device does not tell its caches
  const int64_t shared = std::max(2 * device.llc_bytes / 3, kLeastShared);
  const int64_t wanted = std::max(stationary_bytes, 2 * device.l2_bytes * options.threads);
  const int64_t budget = std::min({shared, wanted, options.workspace_cap - fixed_bytes - padding_bytes});
  const int64_t strips = std::max<int64_t>(budget / strip_bytes, 1);

  const auto step = [](int64_t whole, int64_t most) {
    return ceil_div(whole, ceil_div(whole, std::clamp<int64_t>(most, 1, whole)));
  };
  const int64_t images = step(geometry.problem.batch, strips / geometry.tile_rows());
  const int64_t rows = step(geometry.tile_rows(), strips);
  std::vector<Block> blocks;
  for (int64_t image = 0; image < geometry.problem.batch; image += images)
    for (int64_t row = 0; row < geometry.tile_rows(); row += rows)
      blocks.push_back({image, std::min(images, geometry.problem.batch - image), row,
                        std::min(rows, geometry.tile_rows() - row)});
  return blocks;
}

}  // namespace convscope::winograd

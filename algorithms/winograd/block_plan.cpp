#include "algorithms/winograd/block_plan.hpp"

#include <algorithm>

#include "algorithms/winograd/filter_transform.hpp"

namespace convscope::winograd {

ScratchPart take_scratch(Arena& arena, const Geometry& geometry, int lanes, int threads) {
  ScratchPart part;
  part.staged =
      std::max(staged_floats(geometry, lanes), FilterTransform::staged_floats(geometry, lanes)) / 16 * 16 +
      16;
  part.each = odd_lines(part.staged + kLineVectors * lanes);
  part.at = arena.take(part.each * threads);
  return part;
}

int64_t strips_per_block(const Geometry& geometry, int64_t strip_bytes, int64_t stationary_bytes,
                         int64_t fixed_bytes, int64_t padding_bytes, const DeviceInfo& device,
                         const PlanOptions& options) {
  constexpr int64_t kLeastShared = int64_t{4} << 20;  // where the device does not tell its caches
  const int64_t shared = std::max(device.llc_bytes / 3, kLeastShared);
  const int64_t wanted = std::max(stationary_bytes, 2 * device.l2_bytes * options.threads);
  const int64_t budget = std::min({shared, wanted, options.workspace_cap - fixed_bytes - padding_bytes});
  const int64_t most = std::clamp<int64_t>(budget / strip_bytes, 1, geometry.strips());
  const int64_t blocks = ceil_div(geometry.strips(), most);
  return ceil_div(geometry.strips(), blocks);
}

}  // namespace convscope::winograd

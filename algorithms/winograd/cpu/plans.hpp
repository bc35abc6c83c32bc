// The plans of Winograd on a CPU. All work through blocks of strips in three steps: the tiles of the tensors
// are transformed into one matrix for each interpolation point pair (a "plane"), the planes are multiplied,
// the products are transformed back. They differ in who shares a block, and in when filters are transformed.
#pragma once

#include <memory>

#include "algorithms/winograd/geometry.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::winograd {

// Transformed filters of so many times the planes of all tiles (in backward-filter the products) are made and
// used up panel by panel, and never leave the private caches. The tiles are read again for every panel. Not
// those of several phases: they are gathered one by one, which no count shows, and the rows, though faster,
// would be chosen before unfolding that is faster still (README.md).
inline constexpr int64_t kLeastFilters = 2;
inline bool may_stay(const Geometry& geometry) {
  return geometry.image.phases.offsets.size() == 1;
}

// Bytes of transformed filters that stay in the caches, at least in part, where threads share them: four
// usual second caches.
inline constexpr int64_t kMostCachedFilters = int64_t{4} << 20;

// Forward and backward-data: tiles times transformed filters. The first of these that pays.
std::unique_ptr<Plan> make_convolution_plan(const Geometry& geometry, const DeviceInfo& device,
                                            const PlanOptions& options);
// Few tiles, all in one block, and filters gone through panel by panel; null where that does not pay.
std::unique_ptr<Plan> make_few_tiles_plan(const Geometry& geometry, const DeviceInfo& device,
                                          const PlanOptions& options);
// Many tiles and large filters, gone through by panels and rows of points; null where that does not pay.
std::unique_ptr<Plan> make_point_rows_plan(const Geometry& geometry, const DeviceInfo& device,
                                           const PlanOptions& options);
// All filters transformed in prepare().
std::unique_ptr<Plan> make_planes_plan(const Geometry& geometry, const DeviceInfo& device,
                                       const PlanOptions& options);
// Backward-filter: tiles of the input times tiles of the output's gradient, summed over all tiles.
std::unique_ptr<Plan> make_filter_gradient_plan(const Geometry& geometry, const DeviceInfo& device,
                                                const PlanOptions& options);

// The plan for the geometry's pass.
std::unique_ptr<Plan> make_plan(const Geometry& geometry, const DeviceInfo& device,
                                const PlanOptions& options);

}  // namespace convscope::winograd

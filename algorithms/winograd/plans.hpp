// The two plans of Winograd on a CPU. Both work through blocks of strips in three steps: the tiles of the
// tensors are transformed into one matrix for each interpolation point pair (a "plane"), the planes are
// multiplied, the products are transformed back. All threads share a block, or each has its own, or where
// there are few tiles all are one block and the filters are gone through panel by panel.
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

// Forward and backward-data: tiles times transformed filters; the filters are transformed in prepare(), or
// with their products.
std::unique_ptr<Plan> make_convolution_plan(const Geometry& geometry, const DeviceInfo& device,
                                            const PlanOptions& options);
// Backward-filter: tiles of the input times tiles of the output's gradient, summed over all tiles.
std::unique_ptr<Plan> make_filter_gradient_plan(const Geometry& geometry, const DeviceInfo& device,
                                                const PlanOptions& options);

// The plan for the geometry's pass.
std::unique_ptr<Plan> make_plan(const Geometry& geometry, const DeviceInfo& device,
                                const PlanOptions& options);

}  // namespace convscope::winograd

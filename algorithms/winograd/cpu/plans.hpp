// The plans of Winograd on a CPU. All go through blocks of strips in three steps: the tiles of the tensors
// are transformed into one matrix for each pair of interpolation points (a *plane*), the planes are
// multiplied, the products are transformed back. They differ in who shares a block, and in when filters are
// transformed.
#pragma once

#include <memory>

#include "algorithms/winograd/geometry.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::winograd {

// Transformed filters (in backward-filter, products) of at least so many times the bytes of all tiles' planes
// are made and used up panel by panel, and never leave the private caches; the tiles are read again for every
// panel. Not filters of several residues, which are gathered element by element.
inline constexpr int64_t kMinFilterRatio = 2;

// Transformed filters up to this size stay in the caches, at least in part, where threads share them.
inline constexpr int64_t kMaxCachedFilterBytes = int64_t{4} << 20;

// Forward and backward-data, tiles times transformed filters, in three schedules.

// Few tiles, all in one block; filters transformed panel by panel in run(). Null where not profitable.
std::unique_ptr<Plan> make_filters_on_the_fly_plan(const Geometry& geometry, const DeviceInfo& device,
                                                   const PlanOptions& options);
// Many tiles and large filters, transformed half in prepare() and half in run(). Null where not profitable.
std::unique_ptr<Plan> make_half_transformed_plan(const Geometry& geometry, const DeviceInfo& device,
                                                 const PlanOptions& options);
// All filters transformed in prepare().
std::unique_ptr<Plan> make_pretransformed_plan(const Geometry& geometry, const DeviceInfo& device,
                                               const PlanOptions& options);
// Backward-filter: tiles of the input times tiles of the output's gradient, summed over all tiles.
std::unique_ptr<Plan> make_filter_gradient_plan(const Geometry& geometry, const DeviceInfo& device,
                                                const PlanOptions& options);

// The plan for the geometry's pass; of the three schedules the first that is profitable.
std::unique_ptr<Plan> make_plan(const Geometry& geometry, const DeviceInfo& device,
                                const PlanOptions& options);

}  // namespace convscope::winograd

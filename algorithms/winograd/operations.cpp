#include "algorithms/winograd/operations.hpp"

#include <cmath>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/winograd/cpu/plans.hpp"
#include "algorithms/winograd/cpu/vector_kernels.hpp"
#include "bench/algorithm/predicted_error.hpp"

namespace convscope::winograd {
namespace {

// Sums over the tiles of one dimension: their points and the cost of one line of each kind.
struct AxisSums {
  double points = 0, sizes = 0, data = 0, evaluate = 0, interpolate = 0;
};
AxisSums sums(const Axis& axis) {
  const LineCosts& costs = line_costs();
  AxisSums result;
  for (const Tile& tile : axis.tiles) {
    const int alpha = axis.alpha(tile);
    result.points += alpha;
    result.sizes += tile.size;
    result.data += costs.data[alpha];
    result.evaluate += costs.evaluate[alpha][tile.size];
    result.interpolate += costs.interpolate[alpha][tile.size];
  }
  return result;
}

// Channels and phases as transforms and products see them: whole vectors, and columns in whole panels.
struct Lanes {
  explicit Lanes(int64_t lanes)
      : used(static_cast<double>(lanes)),
        in_vectors(static_cast<double>(round_up(lanes, vector_kernels().lanes))),
        in_panels(static_cast<double>(round_up(lanes, gemm_shape().columns_per_panel))) {}
  double used, in_vectors, in_panels;
};

// Forward: products of one pair of channels summed over an image's tiles, phases that are zero left out.
double products(const Geometry& geometry) {
  double sum = 0;
  for (int i = 0; i < geometry.points_h(); ++i)
    for (int j = 0; j < geometry.points_w(); ++j) {
      const Phases::Range phases = geometry.phases_in(i, j);
      sum += static_cast<double>(geometry.h.tiles_with(i) * geometry.w.tiles_with(j)) *
             static_cast<double>(phases.end - phases.begin);
    }
  return sum;
}

}  // namespace

OperationCount count_operations(const Geometry& geometry) {
  const ConvProblem& p = geometry.problem;
  const LineCosts& costs = line_costs();
  const double groups = static_cast<double>(p.groups), images = static_cast<double>(p.batch) * groups;
  const Lanes image(geometry.image.lanes()), signal(geometry.signal.lanes());
  const double points_h = geometry.points_h(), points_w = geometry.points_w();
  const AxisSums h = sums(geometry.h), w = sums(geometry.w);

  // Rows then columns: each row of a tile is one line along w, each column of the result one along h.
  const double of_data = h.points * w.data + w.points * h.data;
  const double of_gradient = h.sizes * w.evaluate + w.points * h.evaluate;
  const double of_inverse = w.points * h.interpolate + h.sizes * w.interpolate;
  const auto filter_lines = [&](const auto& lines) {
    return geometry.h.taps * double(lines[geometry.points_w()][geometry.w.taps]) +
           points_w * double(lines[geometry.points_h()][geometry.h.taps]);
  };
  // The filters' vectors run over the columns of the product: image lanes in backward-data, else k.
  const bool forward = p.pass == Pass::forward;
  const bool by_image = p.pass == Pass::backward_data;
  const double filters =
      groups * (by_image ? signal.used * image.in_vectors : image.used * signal.in_vectors);

  OperationCount count;
  if (forward)
    count.product_flops =
        2 * images * static_cast<double>(geometry.image.channels) * signal.in_panels * products(geometry);
  else
    count.product_flops = 2 * images * h.points * w.points *
                          (by_image ? signal.used * image.in_panels : image.used * signal.in_panels);
  if (p.pass == Pass::backward_filter)
    count.transform_flops = images * (image.in_vectors * of_data + signal.in_vectors * of_gradient) +
                            filters * filter_lines(costs.interpolate);
  else
    count.transform_flops = images * ((forward ? image : signal).in_vectors * of_data +
                                      (forward ? signal : image).in_vectors * of_inverse) +
                            filters * filter_lines(costs.evaluate);
  const double tiles = images * h.points * w.points * (image.in_vectors + signal.in_vectors);
  // Planes that stay in the caches: all where the filters leave room for blocks of a thread's own, the
  // filters where they outweigh the tiles, and where prepare() transforms their columns only, their planes
  // and those of the products (plans.hpp, docs/selection.md).
  const double filter_planes = sizeof(float) * filters * points_h * points_w;
  const double tile_planes = sizeof(float) * tiles;
  if (may_stay(geometry) && filter_planes >= kLeastFilters * tile_planes)
    count.cached_bytes = 2 * filter_planes;
  else if (filter_planes <= static_cast<double>(kMostCachedFilters))
    count.cached_bytes = 2 * (tile_planes + filter_planes);
  count.bytes = static_cast<double>(p.total_bytes()) + 2 * (tile_planes + filter_planes) - count.cached_bytes;
  if (p.pass != Pass::backward_filter && count.cached_bytes == 0 && points_h > 1 && points_w > 1) {
    const double products =
        sizeof(float) * images * h.points * w.points * (forward ? signal : image).in_vectors;
    count.cached_bytes = 2 * (filter_planes + products);
    count.bytes += 2 * filter_planes * geometry.w.taps / points_w - count.cached_bytes;
  }
  return count;
}

TermGrowth term_growth(const Geometry& geometry) {
  const LineCosts& costs = line_costs();
  const bool gradient = geometry.problem.pass == Pass::backward_filter;
  const auto squared = [&](const Axis& axis) {
    const int taps = gradient ? axis.tiles.front().size : axis.taps;
    return costs.squared_growth[axis.largest_alpha()][taps];
  };
  const SquaredGrowth h = squared(geometry.h), w = squared(geometry.w);
  return {std::sqrt(h.largest * w.largest), std::sqrt(h.mean * w.mean)};
}

double most_additions(const Geometry& geometry) {
  constexpr double kMostError = 2e-5 * kPredictedPartOfGate * 0.95;
  return longest_sum_within(kMostError, sum_growth(geometry));
}

double sum_growth(const Geometry& geometry) {
  return 1.1 * term_growth(geometry).mean;
}

}  // namespace convscope::winograd

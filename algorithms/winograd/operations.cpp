#include "algorithms/winograd/operations.hpp"

#include <cmath>

#include "algorithms/winograd/vector_kernels.hpp"

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

// Products of one pair of channels summed over an image's tiles, phases that are zero left out.
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
  const double image_lanes = static_cast<double>(geometry.image.lanes());
  const double signal_lanes = static_cast<double>(geometry.signal.lanes());
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
  const double filters = image_lanes * signal_lanes * groups;
  const double image_tiles = images * h.points * w.points * image_lanes;
  const double signal_tiles = images * h.points * w.points * signal_lanes;

  OperationCount count;
  count.product_flops =
      2 * images * static_cast<double>(geometry.image.channels) * signal_lanes * products(geometry);
  if (p.pass == Pass::backward_filter) {
    count.transform_flops = images * (image_lanes * of_data + signal_lanes * of_gradient) +
                            filters * filter_lines(costs.interpolate);
  } else {
    const bool forward = p.pass == Pass::forward;
    count.transform_flops = images * ((forward ? image_lanes : signal_lanes) * of_data +
                                      (forward ? signal_lanes : image_lanes) * of_inverse) +
                            filters * filter_lines(costs.evaluate);
  }
  count.bytes = static_cast<double>(p.total_bytes()) +
                2.0 * sizeof(float) * (image_tiles + signal_tiles + filters * points_h * points_w);
  return count;
}

double term_growth(const Geometry& geometry) {
  const LineCosts& costs = line_costs();
  const bool gradient = geometry.problem.pass == Pass::backward_filter;
  const auto squared = [&](const Axis& axis) {
    const int taps = gradient ? axis.tiles.front().size : axis.taps;
    return costs.squared_growth[axis.largest_alpha()][taps];
  };
  return std::sqrt(squared(geometry.h) * squared(geometry.w));
}

}  // namespace convscope::winograd

#include "algorithms/winograd/error_growth.hpp"

#include <cmath>

#include "algorithms/winograd/toom_cook.hpp"
#include "bench/algorithm/predicted_error.hpp"

namespace convscope::winograd {
namespace {

struct GrowthTable {
  SquaredGrowth of[kLargestAlpha1d + 1][kLargestAlpha + 1] = {};  // [alpha][taps]
};

constexpr GrowthTable make_table() {
  GrowthTable table{};
  for_each_size([&]<int Alpha, int Taps>() {
    // By itself, as compilers limit one evaluation.
    constexpr SquaredGrowth growth = squared_growth<Alpha, Taps>();
    table.of[Alpha][Taps] = growth;
  });
  return table;
}
constexpr GrowthTable kGrowth = make_table();

// Of both dimensions. Backward-filter's "taps" are the outputs of a tile.
SquaredGrowth growth_of(const Geometry& geometry) {
  const bool gradient = geometry.problem.pass == Pass::backward_filter;
  const auto squared = [&](const Axis& axis) {
    const int taps = gradient ? axis.tiles.front().size : axis.taps;
    return kGrowth.of[axis.largest_alpha()][taps];
  };
  const SquaredGrowth h = squared(geometry.h), w = squared(geometry.w);
  return {h.largest * w.largest, h.mean * w.mean};
}

}  // namespace

double error_growth(const Geometry& geometry) {
  return std::sqrt(growth_of(geometry).largest);
}

double sum_growth(const Geometry& geometry) {
  return 1.1 * std::sqrt(growth_of(geometry).mean);
}

double max_additions(const Geometry& geometry) {
  constexpr double kMaxError = 2e-5 * kPredictedPartOfGate * 0.95;
  return longest_sum_within(kMaxError, sum_growth(geometry));
}

}  // namespace convscope::winograd

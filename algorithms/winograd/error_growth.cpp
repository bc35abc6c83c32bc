#include "algorithms/winograd/error_growth.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/winograd/toom_cook.hpp"
#include "bench/algorithm/predicted_error.hpp"

namespace convscope::winograd {
namespace {

struct GrowthTable {
  SquaredGrowth of[kLargestAlpha1d + 1][kLargestAlpha + 1] = {};  // [alpha][taps]
};

template <int Alpha, int Taps>
constexpr void fill_pairs(GrowthTable& table) {
  if constexpr (Taps <= std::min(Alpha, kLargestAlpha)) {
    constexpr SquaredGrowth growth =
        squared_growth<Alpha, Taps>();  // by itself, as compilers limit one evaluation
    table.of[Alpha][Taps] = growth;
    fill_pairs<Alpha, Taps + 1>(table);
  }
}
template <int Alpha = 1>
constexpr void fill(GrowthTable& table) {
  if constexpr (Alpha <= kLargestAlpha1d) {
    fill_pairs<Alpha, 1>(table);
    fill<Alpha + 1>(table);
  }
}
constexpr GrowthTable make_table() {
  GrowthTable table{};
  fill(table);
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

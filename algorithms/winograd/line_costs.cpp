#include "algorithms/winograd/line_costs.hpp"

#include <algorithm>

namespace convscope::winograd {
namespace {

template <int Alpha, int N>
constexpr void cost_pairs(LineCosts& costs) {
  if constexpr (N <= std::min(Alpha, kLargestAlpha)) {
    constexpr auto factored = factor(evaluation_matrix<Alpha, N>());
    costs.evaluate[Alpha][N] = factored.flops(false);
    costs.interpolate[Alpha][N] = factored.flops(true);
    cost_pairs<Alpha, N + 1>(costs);
  }
}
template <int Alpha = 1>
constexpr void cost_all(LineCosts& costs) {
  if constexpr (Alpha <= kLargestAlpha1d) {
    constexpr auto factored = factor(data_matrix<Alpha>());
    costs.data[Alpha] = factored.flops(false);
    cost_pairs<Alpha, 1>(costs);
    cost_all<Alpha + 1>(costs);
  }
}
constexpr LineCosts make_costs() {
  LineCosts costs{};
  cost_all(costs);
  return costs;
}
constexpr LineCosts kCosts = make_costs();

}  // namespace

const LineCosts& line_costs() {
  return kCosts;
}

}  // namespace convscope::winograd

#include "algorithms/winograd/line_costs.hpp"

namespace convscope::winograd {
namespace {

constexpr LineCosts make_costs() {
  LineCosts costs{};
  for_each_size([&]<int Alpha, int N>() {
    constexpr auto data = factor(data_matrix<Alpha>());
    constexpr auto evaluation = factor(evaluation_matrix<Alpha, N>());
    costs.data[Alpha] = data.flops(false);
    costs.evaluate[Alpha][N] = evaluation.flops(false);
    costs.interpolate[Alpha][N] = evaluation.flops(true);
  });
  return costs;
}
constexpr LineCosts kCosts = make_costs();

}  // namespace

const LineCosts& line_costs() {
  return kCosts;
}

}  // namespace convscope::winograd

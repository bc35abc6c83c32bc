#include "algorithms/implicit_gemm/cuda/boxed_gradient.hpp"

#include <algorithm>
#include <limits>

#include "algorithms/common/gpu_limits.hpp"
#include "algorithms/implicit_gemm/cuda/joined_taps.hpp"

namespace convscope::implicit_gemm {
namespace {

// Fewer stages a part are not worth filling the ring.
constexpr int64_t kSmallestPartLoads = 8;
// Multiply-adds of one multiprocessor at the full 16-bit rate in the time in which it gets a byte from
// memory, and in a launch of 2 us.
constexpr double kMultiplyAddsPerByte = 103, kMultiplyAddsPerLaunch = 7.5e6;

BoxedGradient uncut(const ConvProblem& p) {
  const TensorShape filter = p.shape(Role::filter);
  const Extent2 size = p.output();
  BoxedGradient product;
  product.math = p.math;
  product.images = narrow(p.batch);
  product.height = narrow(size.h);
  product.width = narrow(size.w);
  product.taps_down = narrow(p.filter.h);
  product.taps_across = narrow(p.filter.w);
  product.first_y = narrow(-p.pad.h);
  product.first_x = narrow(-p.pad.w);
  product.step_y = narrow(p.stride.h);
  product.step_x = narrow(p.stride.w);
  product.tap_y = narrow(p.dilation.h);
  product.tap_x = narrow(p.dilation.w);
  product.image_height = narrow(p.input.h);
  product.image_width = narrow(p.input.w);
  product.rows = narrow(p.out_channels_per_group());
  product.columns = narrow(p.in_channels_per_group());
  product.groups = narrow(p.groups);
  product.row_pitch = channel_pitch(p.math, product.rows);
  product.column_pitch = channel_pitch(p.math, product.columns);
  product.d_row = narrow(filter.stride[0]);
  product.d_column = narrow(filter.stride[1]);
  product.d_tap_line = narrow(filter.stride[2]);
  product.d_tap_column = narrow(filter.stride[3]);
  product.d_group = product.rows * product.d_row;
  product.d_elements = p.elements(Role::filter);
  return product;
}

// In runs where they reach: they never need more loads than boxes.
void cut_depth(BoxedGradient& product) {
  const int bytes = narrow(bytes_per_element(storage_type(product.math)));
  cut(product, runs_reach(product, product.groups, product.columns, bytes), kStagePixels, kWgmmaPixels);
  product.all_loads = narrow(loads(product));
}

bool too_long(const BoxedGradient& product) {
  return product.tile.columns > 64 && product.loads_of_split > kMaxLoadsOfLargeTile;
}

// In multiply-adds of one multiprocessor at the full rate.
double cost(const BoxedGradient& product) {
  const HopperTile& tile = product.tile;
  const int64_t rounds = ceil_div(tiles(product) * product.splits, kMultiprocessors);
  const int64_t depth = int64_t{product.loads_of_split} * steps(product.pixels()) * kWgmmaPixels;
  const double all = static_cast<double>(rounds * tile.rows * tile.columns * depth) / tile.efficiency();
  if (product.splits == 1) return all;
  const double moved = 2.0 * static_cast<double>(partial_bytes(product));
  return all + moved / kMultiprocessors * kMultiplyAddsPerByte + kMultiplyAddsPerLaunch;
}

}  // namespace

int64_t tiles(const BoxedGradient& product) {
  return ceil_div(product.rows, product.tile.rows) * ceil_div(product.columns, product.tile.columns) *
         product.taps_down * product.taps_across * product.groups;
}

int64_t partial_bytes(const BoxedGradient& product) {
  if (product.splits == 1) return 0;
  return product.splits * product.d_elements * static_cast<int64_t>(sizeof(float));
}

void set_splits(BoxedGradient& product, int splits) {
  product.loads_of_split = narrow(ceil_div(product.all_loads, splits));
  product.splits = narrow(ceil_div(product.all_loads, product.loads_of_split));
}

GradientWork gradient_work(const ConvProblem& problem, int64_t available) {
  GradientWork work{repack_for_tma(problem, Role::input), repack_for_tma(problem, Role::output),
                    uncut(problem)};
  if (const auto joined = joined_taps(problem)) {
    work.input = joined->input;
    join(work.product, *joined);
  }
  cut_depth(work.product);
  available -= workspace_bytes(work.input) + workspace_bytes(work.output);
  BoxedGradient trial = work.product;
  const int64_t most = std::clamp(trial.all_loads / kSmallestPartLoads, int64_t{1}, kMaxGridYz);
  double lowest = std::numeric_limits<double>::infinity();
  for (const HopperTile& tile : kGradientTiles) {
    trial.tile = tile;
    for (int splits = 1; splits <= most; splits += std::max(1, splits / 4)) {
      set_splits(trial, splits);
      if (trial.splits > 1 && partial_bytes(trial) > available) break;
      if (too_long(trial) || cost(trial) >= lowest) continue;
      lowest = cost(trial);
      work.product = trial;
    }
  }
  return work;
}

}  // namespace convscope::implicit_gemm

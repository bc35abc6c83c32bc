#include "algorithms/implicit_gemm/cuda/boxed_product.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "algorithms/common/gpu_limits.hpp"
#include "algorithms/implicit_gemm/cuda/index_map.hpp"
#include "algorithms/implicit_gemm/cuda/joined_taps.hpp"

namespace convscope::implicit_gemm {
namespace {

// How much worse a box one pixel wide may be than a row of pixels of the same size, whose memory is closer
// together: a guess.
constexpr double kNarrowness = 0.25;
// What a box costs besides its pixels, in granules: a guess.
constexpr int64_t kStart = 1;

// The inverse of position().
int y_of(Position position) {
  return static_cast<int16_t>(position & 0xffff);
}
int x_of(Position position) {
  return static_cast<int16_t>((position - static_cast<Position>(y_of(position))) >> 16);
}

// The tensor and the channels of a group that the depth runs over.
Role image_role(const ConvProblem& p) {
  return p.pass == Pass::forward ? Role::input : Role::output;
}
int64_t depth_channels(const ConvProblem& p) {
  return p.pass == Pass::forward ? p.in_channels_per_group() : p.out_channels_per_group();
}

// To [group][column][tap][channel], where backward-data has its columns in the filter's c.
Repack filter_repack(const ConvProblem& p) {
  const TensorShape shape = p.shape(Role::filter);
  const int64_t pitch = channel_pitch(p.math, depth_channels(p)), taps = p.filter.h * p.filter.w;
  const bool forward = p.pass == Pass::forward;
  Repack repack;
  repack.rows = narrow(depth_channels(p));
  if (forward) {
    repack.outer = narrow(p.out_channels);
    repack.columns = narrow(taps);
    repack.from_outer = shape.stride[0];
    repack.from_row = shape.stride[1];
    repack.from_column = shape.stride[3];
    repack.to_outer = taps * pitch;
    repack.to_column = pitch;
  } else {
    repack.outer = narrow(p.groups);
    repack.inner = narrow(taps);
    repack.columns = narrow(p.in_channels_per_group());
    repack.from_outer = p.out_channels_per_group() * shape.stride[0];
    repack.from_inner = shape.stride[3];
    repack.from_row = shape.stride[0];
    repack.from_column = shape.stride[1];
    repack.to_outer = p.in_channels_per_group() * taps * pitch;
    repack.to_inner = pitch;
    repack.to_column = taps * pitch;
  }
  repack.element_bytes = narrow(bytes_per_element(storage_type(p.math)));
  repack.bytes = repack.outer * repack.to_outer * repack.element_bytes;
  return repack;
}

// `inside` is the map of the problem in NHWC, where a tap's neighbour is b_depth / channels taps away; `d` is
// the map in the problem's own layout.
BoxedProduct boxed(const ConvProblem& p, const IndexMap& inside, const IndexMap& d) {
  const int filter_channels = narrow(p.in_channels_per_group());
  const TensorShape image = p.shape(image_role(p));
  BoxedProduct product;
  product.math = p.math;
  product.epilogue = p.epilogue;
  product.images = inside.row_size[0];
  product.height = inside.row_size[1];
  product.width = inside.row_size[2];
  product.columns = inside.columns;
  product.channels = inside.depth_size[2];
  product.groups = inside.groups;
  product.taps_down = inside.depth_size[0];
  product.taps_across = inside.depth_size[1];
  product.first_y = y_of(inside.base - kPositionBias);
  product.first_x = x_of(inside.base - kPositionBias);
  product.step_y = y_of(inside.row_position[1]);
  product.step_x = x_of(inside.row_position[2]);
  product.tap_y = y_of(inside.depth_position[0]);
  product.tap_x = x_of(inside.depth_position[1]);
  product.image_height = narrow(image.size[2]);
  product.image_width = narrow(image.size[3]);
  product.first_tap = inside.b_base / filter_channels;
  product.tap_line = inside.b_depth[0] / filter_channels;
  product.tap_column = inside.b_depth[1] / filter_channels;
  product.filter_taps = narrow(p.filter.h * p.filter.w);
  product.channel_pitch = channel_pitch(p.math, depth_channels(p));
  product.d_base = d.d_base;
  product.d_image = d.d_row[0];
  product.d_line = d.d_row[1];
  product.d_pixel = d.d_row[2];
  product.d_column = d.d_column;
  product.d_group = d.d_group;
  return product;
}

// Rounds of the multiprocessors, each as long as the tile takes at its share of the peak.
double cost(const BoxedProduct& product) {
  const HopperTile& tile = product.tile;
  const int64_t blocks = loads(product) * ceil_div(product.columns, tile.columns) * product.groups;
  return static_cast<double>(ceil_div(blocks, kMultiprocessors)) * tile.rows * tile.columns /
         tile.efficiency();
}

}  // namespace

int64_t loads(const PixelBoxes& pixels) {
  if (pixels.run > 0)
    return ceil_div(int64_t{pixels.images} * pixels.height * pixels.width, int64_t{pixels.run});
  return ceil_div(pixels.width, pixels.box.width) * ceil_div(pixels.height, pixels.box.height) *
         ceil_div(pixels.images, pixels.box.images);
}

Box best_box(const PixelBoxes& pixels, int most, int granule) {
  PixelBoxes trial = pixels;
  Box best;
  double lowest = std::numeric_limits<double>::infinity();
  const int widest = std::min({pixels.width, most, kTmaLongestBox / pixels.step_x});
  for (int width = widest; width >= 1; --width) {
    const int highest = std::min({pixels.height, most / width, kTmaLongestBox / pixels.step_y});
    for (int height = highest; height >= 1; --height) {
      trial.box = {width, height, std::min(pixels.images, most / (width * height))};
      const auto work = static_cast<double>(loads(trial) * (ceil_div(trial.box.pixels(), granule) + kStart));
      const double now = work * (1 + kNarrowness / width);
      if (now >= lowest) continue;
      lowest = now;
      best = trial.box;
    }
  }
  return best;
}

bool runs_reach(const PixelBoxes& p, int groups, int channels, int element_bytes) {
  const auto corners_fit = [](int lower, int pixels, int step, int size) {
    const int upper = upper_corner(lower, pixels, step, size);
    return std::min(lower, upper) >= kTmaLowestCorner && std::max(lower, upper) <= kTmaHighestCorner;
  };
  const bool one_group = groups == 1 || channels * element_bytes % kTmaLineBytes == 0;
  return one_group && corners_fit(p.lower_x(), p.width, p.step_x, p.image_width) &&
         corners_fit(p.lower_y(), p.height, p.step_y, p.image_height) &&
         (p.taps_across - 1) * std::abs(p.tap_x) <= kTmaLongestOffset &&
         (p.taps_down - 1) * std::abs(p.tap_y) <= kTmaLongestOffset;
}

void cut(PixelBoxes& pixels, bool runs, int most, int granule) {
  pixels.run = runs ? most : 0;
  if (!runs) pixels.box = best_box(pixels, most, granule);
}

void set_tile(BoxedProduct& product, const HopperTile& tile) {
  product.tile = tile;
  const int bytes = narrow(bytes_per_element(storage_type(product.math)));
  cut(product, runs_reach(product, product.groups, product.channels, bytes), tile.rows, tile.rows);
}

HopperWork hopper_work(const ConvProblem& problem) {
  HopperWork work;
  const std::optional<JoinedTaps> joined = joined_taps(problem);
  if (joined) {
    work.image = joined->input;
    work.filter = joined->filter;
  } else {
    work.image = repack_for_tma(problem, image_role(problem));
    if (work.image || problem.pass == Pass::backward_data) work.filter = filter_repack(problem);
  }
  ConvProblem nhwc = problem;
  nhwc.layout = Layout::nhwc;
  const std::vector<IndexMap> inside = index_maps(nhwc), outside = index_maps(problem);
  for (size_t i = 0; i < inside.size(); ++i) {
    BoxedProduct untiled = boxed(problem, inside[i], outside[i]);
    if (joined) join(untiled, *joined);
    double lowest = std::numeric_limits<double>::infinity();
    BoxedProduct& best = work.products.emplace_back(untiled);
    for (const HopperTile& tile : kHopperTiles) {
      BoxedProduct trial = untiled;
      set_tile(trial, tile);
      if (cost(trial) >= lowest) continue;
      lowest = cost(trial);
      best = trial;
    }
  }
  return work;
}

}  // namespace convscope::implicit_gemm

#include "algorithms/direct/cuda/geometry.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/common/gpu_limits.hpp"
#include "algorithms/common/rounding.hpp"

namespace convscope::direct {
namespace {

// Input x = residue + u * stride meets output o = (x + pad - r * dilation) / stride for the taps r that leave
// no remainder: r = r0, r0 + m, ... with m = stride / gcd(stride, dilation). They are taken from the last to
// the first, so that o rises.
AxisResidue backward_residue(const AxisSizes& axis, int64_t residue) {
  AxisResidue map;
  map.extent = narrow(ceil_div(axis.input - residue, axis.stride));
  map.written_first = static_cast<int>(residue);
  map.written_step = static_cast<int>(axis.stride);
  const int64_t step = axis.stride / std::gcd(axis.stride, axis.dilation);
  const auto remainder = [&](int64_t tap) {
    return (residue + axis.pad - tap * axis.dilation) % axis.stride;
  };
  int64_t first = 0;
  while (first < std::min(step, axis.filter) && remainder(first) != 0) ++first;
  if (first == std::min(step, axis.filter)) return map;
  const int64_t taps = ceil_div(axis.filter - first, step), last = first + (taps - 1) * step;
  map.taps = static_cast<int>(taps);
  map.first_tap = static_cast<int>(last);
  map.tap_step = static_cast<int>(-step);
  map.first_read = static_cast<int>((residue + axis.pad - last * axis.dilation) / axis.stride);
  map.read_tap_step = static_cast<int>(step * axis.dilation / axis.stride);
  return map;
}

}  // namespace

AxisSizes vertical(const ConvProblem& p) {
  return {p.input.h, p.output().h, p.filter.h, p.stride.h, p.pad.h, p.dilation.h};
}

AxisSizes horizontal(const ConvProblem& p) {
  return {p.input.w, p.output().w, p.filter.w, p.stride.w, p.pad.w, p.dilation.w};
}

std::vector<AxisResidue> axis_residues(const AxisSizes& axis, bool forward) {
  if (forward)
    return {{.extent = static_cast<int>(axis.output),
             .taps = static_cast<int>(axis.filter),
             .read_step = static_cast<int>(axis.stride),
             .first_read = static_cast<int>(-axis.pad),
             .read_tap_step = static_cast<int>(axis.dilation)}};
  std::vector<AxisResidue> all;
  for (int64_t residue = 0; residue < std::min(axis.stride, axis.input); ++residue)
    all.push_back(backward_residue(axis, residue));
  return all;
}

int taps_inside(const AxisResidue& axis, int64_t u, int64_t size) {
  const int64_t first = u * axis.read_step + axis.first_read;
  const int64_t low = first < 0 ? ceil_div(-first, axis.read_tap_step) : 0;
  const int64_t high = first < size ? (size - 1 - first) / axis.read_tap_step + 1 : 0;
  return static_cast<int>(std::max<int64_t>(0, std::min<int64_t>(high, axis.taps) - low));
}

PassChannels pass_channels(const ConvProblem& p) {
  const int in = static_cast<int>(p.in_channels_per_group()),
            out = static_cast<int>(p.out_channels_per_group());
  return p.pass == Pass::forward ? PassChannels{in, out} : PassChannels{out, in};
}

// The fewest tiles, and among those the smallest patch; then as many channels a step as leave room for
// several blocks.
TiledShape tiled_shape(const AxisResidue& y, const AxisResidue& x, int read_channels) {
  TiledShape best;
  const auto patch = [](int64_t tile, const AxisResidue& axis) {
    return (tile - 1) * axis.read_step + int64_t{std::max(axis.taps - 1, 0)} * axis.read_tap_step + 1;
  };
  const int64_t max_width = std::min(TiledTile::kPixels, x.extent);
  int64_t min_tiles = 0, min_area = 0;
  for (int64_t w = 1; w <= max_width; ++w) {
    // Equal tiles: no narrower than their number needs.
    const int64_t across = ceil_div(x.extent, w);
    if (ceil_div(x.extent, across) != w) continue;
    const int64_t max_height = std::min<int64_t>(TiledTile::kPixels / w, y.extent);
    const int64_t h = ceil_div(y.extent, ceil_div(y.extent, max_height));
    const int64_t tiles = ceil_div(y.extent, h) * across, area = patch(h, y) * patch(w, x);
    if (min_tiles != 0 && (tiles > min_tiles || (tiles == min_tiles && area >= min_area))) continue;
    min_tiles = tiles;
    min_area = area;
    best.tile_h = static_cast<int>(h);
    best.tile_w = static_cast<int>(w);
  }
  best.patch_h = static_cast<int>(patch(best.tile_h, y));
  best.patch_w = static_cast<int>(patch(best.tile_w, x));
  const int64_t plane = min_area | 1;
  const int64_t filters = int64_t{y.taps} * x.taps * TiledTile::kChannels;
  if (plane + filters > kMaxSharedBytes / int64_t{sizeof(float)}) return best;
  constexpr int64_t kRoomForBlocks = 40 << 10;
  int channels = 8;
  const auto bytes = [&] { return channels * (plane + filters) * static_cast<int64_t>(sizeof(float)); };
  while (channels > 1 && (bytes() > kRoomForBlocks || channels / 2 >= read_channels)) channels /= 2;
  best.plane = static_cast<int>(plane);
  best.channels = channels;
  best.smem_bytes = bytes();
  return best;
}

// Enough slices for two blocks on each multiprocessor, each of at least 32 steps, as many as the cap holds.
int gradient_slices(const ConvProblem& p, int64_t workspace_cap) {
  constexpr int64_t kBlocks = 2 * kMultiprocessors, kMinSteps = 32;
  const Extent2 out = p.output();
  const int64_t tiles = p.groups * ceil_div(p.out_channels_per_group(), GradientTile::kRows) *
                        ceil_div(p.in_channels_per_group() * p.filter.h * p.filter.w, GradientTile::kColumns);
  const int64_t steps = ceil_div(p.batch * out.h * out.w, GradientTile::kDepth);
  const int64_t wanted = std::min(ceil_div(kBlocks, tiles), steps / kMinSteps);
  const int64_t slices = std::max<int64_t>(1, std::min(wanted, workspace_cap / p.bytes(Role::filter)));
  return static_cast<int>(ceil_div(steps, ceil_div(steps, slices)));  // none without pixels
}

}  // namespace convscope::direct

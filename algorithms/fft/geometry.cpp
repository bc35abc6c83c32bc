#include "algorithms/fft/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/common/rounding.hpp"
#include "bench/algorithm/limits.hpp"

namespace convscope::fft {
namespace {

// One dimension of the problem, reduced to unit stride.
struct Dimension {
  int64_t input, filter, output, stride, pad;
  int64_t taps, step;        // taps of the largest residue; results of a tile
  int64_t residues;          // of the channels of input and filter
  int64_t tiles;             // along this dimension
  int64_t first_result = 0;  // backward_data: the first position of any residue inside the input
};

// Residues without a tap are zeros, which backward-data writes.
int64_t residues(const ConvProblem& p, int64_t Extent2::*of) {
  return p.pass == Pass::backward_data ? p.stride.*of : std::min(p.stride.*of, p.filter.*of);
}

Dimension make_dimension(const ConvProblem& p, int size, int64_t Extent2::*of) {
  Dimension d{};
  d.input = p.input.*of;
  d.filter = p.filter.*of;
  d.output = p.output().*of;
  d.stride = p.stride.*of;
  d.pad = p.pad.*of;
  d.taps = ceil_div(d.filter, d.stride);
  d.step = size - d.taps + 1;
  d.residues = residues(p, of);
  if (p.pass == Pass::backward_data) {
    // Input position h is position j of residue a with h + pad = stride * j + a.
    d.first_result = d.pad / d.stride;
    d.tiles = ceil_div((d.input - 1 + d.pad) / d.stride - d.first_result + 1, d.step);
  } else {
    d.tiles = ceil_div(d.output, d.step);
  }
  return d;
}

Axis whole_input(const Dimension& d, int64_t stride, int size) {
  return {d.input, stride, d.stride, d.stride * d.step, -d.pad, size};
}
Axis filter(const Dimension& d, int64_t stride) {
  return {d.filter, stride, d.stride, 0, 0, d.taps};
}
// Flipped, so that backward_data is a correlation too.
Axis flipped_filter(const Dimension& d, int64_t stride) {
  return {d.filter, stride, -d.stride, 0, d.stride * (d.taps - 1), d.taps};
}
Axis output_step(const Dimension& d, int64_t stride) {
  return {d.output, stride, 1, d.step, 0, d.step};
}
Axis whole_output(const Dimension& d, int64_t stride, int size) {
  return {d.output, stride, 1, d.step, d.first_result - (d.taps - 1), size};
}
Axis input_step(const Dimension& d, int64_t stride) {
  return {d.input, stride, d.stride, d.stride * d.step, d.stride * d.first_result - d.pad, d.step};
}

std::vector<Item> channels(int64_t count, int64_t stride, int64_t residues_h, int64_t residues_w) {
  std::vector<Item> items;
  items.reserve(static_cast<size_t>(count * residues_h * residues_w));
  for (int64_t a = 0; a < residues_h; ++a)
    for (int64_t b = 0; b < residues_w; ++b)
      for (int64_t c = 0; c < count; ++c) items.push_back({c * stride, {a, b}, {0, 0}});
  return items;
}

std::vector<Item> tiles(int64_t batch, int64_t stride, int64_t tiles_h, int64_t tiles_w) {
  std::vector<Item> items;
  items.reserve(static_cast<size_t>(batch * tiles_h * tiles_w));
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t y = 0; y < tiles_h; ++y)
      for (int64_t x = 0; x < tiles_w; ++x) items.push_back({n * stride, {0, 0}, {y, x}});
  return items;
}

}  // namespace

Extent2 taps_per_residue(const ConvProblem& p) {
  return {ceil_div(p.filter.h, p.stride.h), ceil_div(p.filter.w, p.stride.w)};
}

Support common_support(const ConvProblem& p) {
  return first_refusal(
      {fp32_only(p), nchw_or_nhwc(p),
       require(p.dilation == Extent2{1, 1}, Reason::unsupported_dilation,
               "dilation " + to_text(p.dilation) + ": the FFT needs dilation 1x1"),
       require(
           p.filter != Extent2{1, 1}, Reason::unsupported_filter,
           "filter 1x1: a correlation with one tap is a product already, which transforms would only make "
           "larger"),
       require(!p.is_depthwise(), Reason::unsupported_groups,
               "groups " + std::to_string(p.groups) +
                   ": a depthwise convolution has no sum over channels for a matrix product")});
}

Support tile_support(const ConvProblem& p, int size) {
  if (Support support = common_support(p); !support) return support;
  constexpr int64_t kMaxPlanes = 1 << 20;  // planning lists them
  const Extent2 taps = taps_per_residue(p), split{residues(p, &Extent2::h), residues(p, &Extent2::w)};
  const int64_t channels = p.in_channels_per_group();
  return first_refusal(
      {require(taps.h <= size && taps.w <= size, Reason::unsupported_filter,
               "filter " + to_text(p.filter) + " at stride " + to_text(p.stride) + " has " + to_text(taps) +
                   " taps per residue: a tile of " + std::to_string(size) + " has room for " +
                   to_text({size, size})),
       require(channels <= kMaxPlanes / split.h / split.w, Reason::unsupported_stride,
               "stride " + to_text(p.stride) + " splits " + std::to_string(channels) +
                   " input channels of a group into " + to_text(split) + " residues each: the FFT takes " +
                   std::to_string(kMaxPlanes) + " in all")});
}

double tile_error_growth(int size) {
  return 2.0 * std::log2(size);
}

std::string part_text(int64_t part, int64_t whole) {
  return std::to_string(part) + (part == whole ? "" : " of " + std::to_string(whole));
}

Geometry make_geometry(const ConvProblem& p, int size) {
  const Dimension h = make_dimension(p, size, &Extent2::h), w = make_dimension(p, size, &Extent2::w);
  const auto x = p.shape(Role::input).stride, f = p.shape(Role::filter).stride,
             y = p.shape(Role::output).stride;
  const int64_t in = p.in_channels_per_group(), out = p.out_channels_per_group();
  const auto tiles_of = [&](int64_t stride) { return tiles(p.batch, stride, h.tiles, w.tiles); };
  const auto by_residue = [&](int64_t stride) { return channels(in, stride, h.residues, w.residues); };
  const auto plain = [&](int64_t stride) { return channels(out, stride, 1, 1); };

  Geometry g;
  switch (p.pass) {
    case Pass::forward:
      g.a = {Role::input, whole_input(h, x[2], size), whole_input(w, x[3], size), by_residue(x[1]),
             tiles_of(x[0])};
      g.b = {Role::filter, filter(h, f[2]), filter(w, f[3]), plain(f[0]), by_residue(f[1])};
      g.y = {Role::output, output_step(h, y[2]), output_step(w, y[3]), plain(y[1]), tiles_of(y[0])};
      break;
    case Pass::backward_data:
      g.a = {Role::output, whole_output(h, y[2], size), whole_output(w, y[3], size), plain(y[1]),
             tiles_of(y[0])};
      g.b = {Role::filter, flipped_filter(h, f[2]), flipped_filter(w, f[3]), by_residue(f[1]), plain(f[0])};
      g.y = {Role::input, input_step(h, x[2]), input_step(w, x[3]), by_residue(x[1]), tiles_of(x[0])};
      break;
    case Pass::backward_filter:
      g.depth_is_tiles = true;
      g.a = {Role::input, whole_input(h, x[2], size), whole_input(w, x[3], size), by_residue(x[1]),
             tiles_of(x[0])};
      g.b = {Role::output, output_step(h, y[2]), output_step(w, y[3]), plain(y[1]), tiles_of(y[0])};
      g.y = {Role::filter, filter(h, f[2]), filter(w, f[3]), plain(f[0]), by_residue(f[1])};
      break;
  }
  for (Operand* operand : {&g.a, &g.b, &g.y}) {
    if (operand->role == Role::input) operand->group_offset = in * x[1];
    if (operand->role == Role::filter) operand->group_offset = out * f[0];
    if (operand->role == Role::output) operand->group_offset = out * y[1];
  }
  return g;
}

}  // namespace convscope::fft

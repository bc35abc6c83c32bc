#include "algorithms/implicit_gemm/cuda/index_map.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "algorithms/common/gpu_limits.hpp"

namespace convscope::implicit_gemm {
namespace {

// One counter of a dimension of the product and what it adds to each tensor's offset.
struct Counter {
  int64_t size = 1;
  int64_t a = 0, other = 0;  // other: B for a depth counter, D for a row counter
  int64_t y = 0, x = 0;
};
using Counters = std::array<Counter, 3>;

// NCHW and KCRS have the channel outermost, NHWC and KRSC innermost.
Counters in_layout_order(Layout layout, const Counter& channel, const Counter& vertical,
                         const Counter& horizontal) {
  if (layout == Layout::nchw) return {channel, vertical, horizontal};
  return {vertical, horizontal, channel};
}

void set_rows(IndexMap& map, const Counters& counters) {
  map.rows = 1;
  for (size_t i = 0; i < 3; ++i) {
    map.rows *= map.row_size[i] = narrow(counters[i].size);
    map.a_row[i] = narrow(counters[i].a);
    map.d_row[i] = narrow(counters[i].other);
    map.row_position[i] = position(narrow(counters[i].y), narrow(counters[i].x));
  }
}

void set_depth(IndexMap& map, const Counters& counters) {
  map.depth = 1;
  for (size_t i = 0; i < 3; ++i) {
    map.depth *= map.depth_size[i] = narrow(counters[i].size);
    map.a_depth[i] = narrow(counters[i].a);
    map.b_depth[i] = narrow(counters[i].other);
    map.depth_position[i] = position(narrow(counters[i].y), narrow(counters[i].x));
  }
}

// `first` is where the position (0, 0) of all counters lies in the image.
void set_image(IndexMap& map, Extent2 image, Extent2 first, const TensorShape& shape) {
  map.base = kPositionBias + position(narrow(first.h), narrow(first.w));
  // last - position has the bias too: twice 0x8000 in y is 1 in x, twice 0x8000 in x is nothing.
  map.last = position(narrow(image.h - 1) + 0x10000, narrow(image.w - 1));
  map.a_base = narrow(first.h * shape.stride[2] + first.w * shape.stride[3]);
}

// Stride and number of neighbours of the innermost counter that counts.
struct Neighbours {
  int stride = std::numeric_limits<int>::max(), count = 1;
  bool closer_than(const Neighbours& other) const {
    return stride != other.stride ? stride < other.stride : count > other.count;
  }
};

Neighbours innermost(const int (&size)[3], const int (&stride)[3]) {
  for (int i = 2; i >= 0; --i)
    if (size[i] > 1) return {std::abs(stride[i]), size[i]};
  return {};
}

void set_directions(IndexMap& map) {
  map.a_along_rows = innermost(map.row_size, map.a_row).closer_than(innermost(map.depth_size, map.a_depth));
  map.b_along_columns =
      Neighbours{map.b_column, map.columns}.closer_than(innermost(map.depth_size, map.b_depth));
  map.d_along_rows = innermost(map.row_size, map.d_row).closer_than(Neighbours{map.d_column, map.columns});
}

// Forward, and backward-filter, where rows and depth change places: A is the same matrix, transposed.
IndexMap over_input(const ConvProblem& p) {
  const TensorShape in = p.shape(Role::input), filter = p.shape(Role::filter), out = p.shape(Role::output);
  const Extent2 size = p.output();
  const Counters pixels{Counter{p.batch, in.stride[0], out.stride[0], 0, 0},
                        Counter{size.h, p.stride.h * in.stride[2], out.stride[2], p.stride.h, 0},
                        Counter{size.w, p.stride.w * in.stride[3], out.stride[3], 0, p.stride.w}};
  const Counters taps =
      in_layout_order(p.layout, {p.in_channels_per_group(), in.stride[1], filter.stride[1], 0, 0},
                      {p.filter.h, p.dilation.h * in.stride[2], filter.stride[2], p.dilation.h, 0},
                      {p.filter.w, p.dilation.w * in.stride[3], filter.stride[3], 0, p.dilation.w});
  const bool forward = p.pass == Pass::forward;
  IndexMap map;
  set_rows(map, forward ? pixels : taps);
  set_depth(map, forward ? taps : pixels);
  set_image(map, p.input, {-p.pad.h, -p.pad.w}, in);
  map.columns = narrow(p.out_channels_per_group());
  map.a_group = narrow(p.in_channels_per_group() * in.stride[1]);
  map.b_column = narrow(forward ? filter.stride[0] : out.stride[1]);
  map.b_group = map.columns * map.b_column;
  map.d_column = narrow(forward ? out.stride[1] : filter.stride[0]);
  map.d_group = map.columns * map.d_column;
  return map;
}

// One dimension of one residue: the input pixels first, first + stride, ... that meet the taps tap, tap +
// tap_step, ...; pixel number i meets tap number j at output pixel first_output + i - j * output_step.
struct ResidueLine {
  int64_t first = 0, pixels = 0, tap = 0, tap_step = 1, taps = 0, first_output = 0, output_step = 0;
};

ResidueLine residue_line(int64_t first, int64_t size, int64_t taps, int64_t stride, int64_t pad,
                         int64_t dilation) {
  ResidueLine line;
  line.first = first;
  line.pixels = ceil_div(size - first, stride);
  line.tap_step = stride / std::gcd(stride, dilation);
  line.output_step = line.tap_step * dilation / stride;
  const int64_t residue = (first + pad) % stride, last = std::min(line.tap_step, taps);
  while (line.tap < last && line.tap * dilation % stride != residue) ++line.tap;
  if (line.tap == last) {
    line.tap = 0;
    return line;
  }
  line.taps = ceil_div(taps - line.tap, line.tap_step);
  line.first_output = (line.first + pad - line.tap * dilation) / stride;
  return line;
}

// Those that have a pixel, in the order of their residues: of a stride that is longer than the input, few.
std::vector<ResidueLine> residue_lines(int64_t size, int64_t taps, int64_t stride, int64_t pad,
                                       int64_t dilation) {
  const int64_t count = std::min(stride, size), of_residue_0 = (stride - pad % stride) % stride;
  std::vector<ResidueLine> lines;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = of_residue_0 < count ? (of_residue_0 + i) % count : i;
    lines.push_back(residue_line(first, size, taps, stride, pad, dilation));
  }
  return lines;
}

IndexMap backward_data(const ConvProblem& p, const ResidueLine& down, const ResidueLine& across) {
  const TensorShape in = p.shape(Role::input), filter = p.shape(Role::filter), out = p.shape(Role::output);
  IndexMap map;
  set_rows(map, {Counter{p.batch, out.stride[0], in.stride[0], 0, 0},
                 Counter{down.pixels, out.stride[2], p.stride.h * in.stride[2], 1, 0},
                 Counter{across.pixels, out.stride[3], p.stride.w * in.stride[3], 0, 1}});
  set_depth(map,
            in_layout_order(p.layout, {p.out_channels_per_group(), out.stride[1], filter.stride[0], 0, 0},
                            {down.taps, -down.output_step * out.stride[2], down.tap_step * filter.stride[2],
                             -down.output_step, 0},
                            {across.taps, -across.output_step * out.stride[3],
                             across.tap_step * filter.stride[3], 0, -across.output_step}));
  set_image(map, p.output(), {down.first_output, across.first_output}, out);
  map.columns = narrow(p.in_channels_per_group());
  map.a_group = narrow(p.out_channels_per_group() * out.stride[1]);
  map.b_base = narrow(down.tap * filter.stride[2] + across.tap * filter.stride[3]);
  map.b_column = narrow(filter.stride[1]);
  map.b_group = narrow(p.out_channels_per_group() * filter.stride[0]);
  map.d_base = narrow(down.first * in.stride[2] + across.first * in.stride[3]);
  map.d_column = narrow(in.stride[1]);
  map.d_group = map.columns * map.d_column;
  return map;
}

std::vector<IndexMap> maps_of_residues(const ConvProblem& p) {
  const auto rows = residue_lines(p.input.h, p.filter.h, p.stride.h, p.pad.h, p.dilation.h);
  const auto columns = residue_lines(p.input.w, p.filter.w, p.stride.w, p.pad.w, p.dilation.w);
  std::vector<IndexMap> maps;
  for (const ResidueLine& down : rows)
    for (const ResidueLine& across : columns) maps.push_back(backward_data(p, down, across));
  return maps;
}

}  // namespace

std::vector<IndexMap> index_maps(const ConvProblem& problem) {
  std::vector<IndexMap> maps =
      problem.pass == Pass::backward_data ? maps_of_residues(problem) : std::vector{over_input(problem)};
  for (IndexMap& map : maps) {
    map.groups = narrow(problem.groups);
    set_directions(map);
  }
  return maps;
}

std::optional<std::string> size_defect(const ConvProblem& p) {
  const Extent2 padded{p.input.h + 2 * p.pad.h, p.input.w + 2 * p.pad.w};
  for (int64_t side : {padded.h, padded.w})
    if (side >= kCoordinateLimit)
      return "a padded input " + std::to_string(side) + " pixels long: the kernels count up to " +
             std::to_string(kCoordinateLimit - 1);
  // Offsets of padding count as well; of an input that is too large without it, they may overflow 64 bits.
  const int64_t limit = std::numeric_limits<int32_t>::max(), input = p.elements(Role::input);
  const int64_t largest =
      std::max({input > limit ? input : p.batch * p.in_channels * padded.h * padded.w,
                p.elements(Role::filter), p.elements(Role::output) + p.out_channels * padded.h * padded.w});
  if (largest > limit)
    return "a tensor of " + std::to_string(largest) + " elements with its padding: the kernels count up to " +
           std::to_string(limit);
  if (p.groups > kMaxGridYz) return std::to_string(p.groups) + " groups: a launch takes up to 65535";
  return std::nullopt;
}

}  // namespace convscope::implicit_gemm

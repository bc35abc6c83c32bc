// See columns.hpp.
#include "algorithms/im2col_gemm/cuda/columns.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/common/gpu_limits.hpp"
#include "algorithms/common/pointwise.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::im2col_gemm {
namespace {

AxisMap axis(int64_t size, int64_t taps, int64_t stride, int64_t pad, int64_t dilation) {
  const int64_t common = std::gcd(stride, dilation);
  return {narrow(size),
          narrow(taps),
          narrow(stride),
          narrow(pad),
          narrow(dilation),
          narrow(stride / common),
          narrow(dilation / common)};
}

}  // namespace

ColumnMap column_map(const ConvProblem& p, const DeviceChunks& chunks, const Chunk& chunk) {
  const TensorShape x = p.shape(Role::input);
  ColumnMap map;
  map.h = axis(p.input.h, p.filter.h, p.stride.h, p.pad.h, p.dilation.h);
  map.w = axis(p.input.w, p.filter.w, p.stride.w, p.pad.w, p.dilation.w);
  map.channels = narrow(p.in_channels);
  map.group_channels = narrow(p.in_channels_per_group());
  map.images = narrow(chunk.images);
  map.first_row = narrow(chunk.row);
  map.rows = narrow(chunk.rows);
  map.q = narrow(p.output().w);
  map.input_rows = input_rows(p, chunk);
  map.nchw = p.layout == Layout::nchw;
  map.image = x.stride[0];
  map.channel = narrow(x.stride[1]);
  map.y = narrow(x.stride[2]);
  map.x = narrow(x.stride[3]);
  const int64_t row = chunks.columns.row;
  // Between channels and taps of a column, in NCHW rows of the matrix apart.
  const int64_t along = map.nchw ? row : 1;
  map.column_group = chunks.columns.group;
  map.column_channel = narrow(map.nchw ? along * p.filter.h * p.filter.w : 1);
  map.column_s = narrow(map.nchw ? along : p.in_channels_per_group());
  map.column_r = narrow(p.filter.w * map.column_s);
  map.column_pixel = narrow(map.nchw ? 1 : row);
  map.column_image =
      chunks.image_matrices ? chunks.columns.image : chunk.rows * p.output().w * map.column_pixel;
  return map;
}

PlaneCopy gather_map(const ConvProblem& p, const DeviceChunks& chunks, const Chunk& chunk) {
  const TensorShape y = p.shape(Role::output);
  const int64_t pixels = p.output().h * p.output().w;
  return {narrow(pixels), narrow(p.out_channels), narrow(chunk.images), y.stride[0], y.stride[1],
          pixels,         chunks.output.row};
}

PlaneCopy scatter_map(const ConvProblem& p, const DeviceChunks& chunks, const Chunk& chunk) {
  PlaneCopy map = gather_map(p, chunks, chunk);
  std::swap(map.from_image, map.to_image);
  std::swap(map.from_channel, map.to_channel);
  return map;
}

std::optional<std::string> size_defect(const ConvProblem& p) {
  const auto counts = [](const char* what, int64_t size, int64_t max) {
    return std::string(what) + " of " + std::to_string(size) + ": the kernels count up to " +
           std::to_string(max);
  };
  const Extent2 out = p.output();
  for (const int64_t size : {p.in_channels, p.out_channels, p.input.h, out.h})
    if (size > kMaxGridYz) return counts("channels or a height", size, kMaxGridYz);
  constexpr int64_t kMax = (int64_t{1} << 31) - 1;
  constexpr int64_t kMaxCoordinate = int64_t{1} << 29;
  for (const int64_t size : {p.pad.h, p.pad.w, p.input.w, p.stride.h, p.stride.w, p.filter.h * p.dilation.h,
                             p.filter.w * p.dilation.w})
    if (size > kMaxCoordinate) return counts("a coordinate", size, kMaxCoordinate);
  const int64_t image = std::max(p.in_channels * p.input.h * p.input.w, p.out_channels * out.h * out.w);
  if (image > kMax) return counts("an image", image, kMax);
  // A chunk has at least one row of the output; a pointwise NHWC problem is one matrix.
  const int64_t pixels = is_pointwise(p) && p.layout == Layout::nhwc ? p.batch * out.h * out.w : out.w;
  if (pixels > kMax) return counts("pixels", pixels, kMax);
  const int64_t column = p.groups * column_elements(p);
  if (!is_pointwise(p) && pixels + 4 > kMax / (column + 4))
    return counts("columns of one output row, each", column, kMax) + " elements in all";
  return std::nullopt;
}

}  // namespace convscope::im2col_gemm

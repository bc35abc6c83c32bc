#include "algorithms/winograd/tile_transforms.hpp"

namespace convscope::winograd {

int64_t staged_floats(const Geometry& geometry, int lanes) {
  return geometry.points_h() * (geometry.w.covered() + geometry.w.taps) * lanes;
}

void transform_strip(const VectorKernels& kernels, const Geometry& geometry, TileOperand operand,
                     const TensorView& view, const float* tensor, const Block& block, int64_t strip,
                     int64_t vector, const PlaneLayout& layout, float* planes, const Scratch& scratch) {
  const bool data = operand == TileOperand::data;
  const int64_t lanes = kernels.lanes;
  const Tile& tile_h = geometry.strip_tile(strip);
  const int alpha_h = geometry.h.alpha(tile_h);
  const int64_t rows = data ? alpha_h : tile_h.size;
  const int64_t width = geometry.w.covered() + (data ? geometry.w.taps - 1 : 0);
  view.gather(kernels, tensor, geometry.strip_image(strip), {tile_h.start, 0, rows, width}, vector,
              scratch.staged);

  const Line columns_line = data ? kernels.data[alpha_h] : kernels.evaluate[alpha_h][tile_h.size];
  float* out = planes + layout.offset(vector, kernels.lanes) + (strip - block.first) * layout.row;
  for (const Tile& tile_w : geometry.w.tiles) {
    const int alpha_w = geometry.w.alpha(tile_w);
    const Line rows_line = data ? kernels.data[alpha_w] : kernels.evaluate[alpha_w][tile_w.size];
    rows_line(scratch.staged + tile_w.start * lanes, lanes, width * lanes, scratch.lines, lanes,
              alpha_w * lanes, rows);
    columns_line(scratch.lines, alpha_w * lanes, lanes, out, geometry.points_w() * layout.plane, layout.plane,
                 alpha_w);
    out += block.strips * layout.row;
  }
}

void inverse_strip(const VectorKernels& kernels, const Geometry& geometry, const TensorView& view,
                   float* tensor, const Block& block, int64_t strip, int64_t vector,
                   const PlaneLayout& layout, const float* planes, const Scratch& scratch) {
  const int64_t lanes = kernels.lanes;
  const Tile& tile_h = geometry.strip_tile(strip);
  const int64_t width = geometry.w.covered();
  const Line columns_line = kernels.interpolate[geometry.h.alpha(tile_h)][tile_h.size];
  const float* in = planes + layout.offset(vector, kernels.lanes) + (strip - block.first) * layout.row;
  for (const Tile& tile_w : geometry.w.tiles) {
    const int alpha_w = geometry.w.alpha(tile_w);
    columns_line(in, geometry.points_w() * layout.plane, layout.plane, scratch.lines, alpha_w * lanes, lanes,
                 alpha_w);
    kernels.interpolate[alpha_w][tile_w.size](scratch.lines, lanes, alpha_w * lanes,
                                              scratch.staged + tile_w.start * lanes, lanes, width * lanes,
                                              tile_h.size);
    in += block.strips * layout.row;
  }
  view.scatter(kernels, scratch.staged, geometry.strip_image(strip), {tile_h.start, 0, tile_h.size, width},
               vector, tensor);
}

}  // namespace convscope::winograd

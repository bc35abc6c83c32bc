#include "algorithms/winograd/cpu/tile_transforms.hpp"

#include <algorithm>

#include "algorithms/winograd/cpu/tensor_view.hpp"
#include "algorithms/winograd/line_costs.hpp"
#include "bench/algorithm/epilogue.hpp"

namespace convscope::winograd {
namespace {

// Outputs from the first of some rows of tiles to their last.
int64_t covered(const Axis& axis, int64_t first, int64_t count) {
  const Tile& last = axis.tiles[first + count - 1];
  return last.start + last.size - axis.tiles[first].start;
}

}  // namespace

int64_t staged_floats(const Geometry& geometry, int64_t rows, int lanes) {
  return (covered(geometry.h, 0, rows) + geometry.h.taps - 1) * (geometry.w.covered() + geometry.w.taps - 1) *
         lanes;
}

void transform_tiles(const VectorKernels& kernels, const Geometry& geometry, TileOperand operand,
                     const TensorView& view, const float* tensor, const Block& block, const TileRows& rows,
                     int64_t vector, const PlaneLayout& layout, float* planes, const Scratch& scratch) {
  const bool data = operand == TileOperand::data;
  const int64_t lanes = kernels.lanes;
  const int64_t start = geometry.h.tiles[rows.first].start;
  const int64_t height = covered(geometry.h, rows.first, rows.count) + (data ? geometry.h.taps - 1 : 0);
  const int64_t width = geometry.w.covered() + (data ? geometry.w.taps - 1 : 0);
  gather(kernels, view, tensor, {rows.image, start, 0, height, width}, vector, scratch.staged);

  const TileOrder order(geometry, block);
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    const Tile& tile_h = geometry.h.tiles[row];
    const int alpha_h = geometry.h.alpha(tile_h);
    const Line columns_line = data ? kernels.data[alpha_h] : kernels.evaluate[alpha_h][tile_h.size];
    const float* const staged = scratch.staged + (tile_h.start - start) * width * lanes;
    for (int64_t column = 0; column < geometry.tile_columns(); ++column) {
      const Tile& tile_w = geometry.w.tiles[column];
      float* const out = planes + layout.offset(vector, kernels.lanes) +
                         order.row(block.strip(rows.image, row), column) * layout.row;
      const int alpha_w = geometry.w.alpha(tile_w);
      const Line rows_line = data ? kernels.data[alpha_w] : kernels.evaluate[alpha_w][tile_w.size];
      const float* const in = staged + tile_w.start * lanes;
      const int64_t plane_row = geometry.points_w() * layout.plane;
      // A transform of one point is the point itself.
      if (alpha_h == 1) {
        rows_line(in, lanes, 0, out, layout.plane, 0, 1);
      } else if (alpha_w == 1) {
        columns_line(in, width * lanes, 0, out, plane_row, 0, 1);
      } else {
        rows_line(in, lanes, width * lanes, scratch.lines, lanes, alpha_w * lanes,
                  data ? alpha_h : tile_h.size);
        columns_line(scratch.lines, alpha_w * lanes, lanes, out, plane_row, layout.plane, alpha_w);
      }
    }
  }
}

void inverse_tiles(const VectorKernels& kernels, const Geometry& geometry, const TensorView& view,
                   const float* bias, float* tensor, const Block& block, const TileRows& rows, int64_t vector,
                   const PlaneLayout& layout, const float* planes, const Scratch& scratch) {
  const int64_t lanes = kernels.lanes;
  const int64_t start = geometry.h.tiles[rows.first].start, width = geometry.w.covered();
  const TileOrder order(geometry, block);
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    const Tile& tile_h = geometry.h.tiles[row];
    const Line columns_line = kernels.interpolate[geometry.h.alpha(tile_h)][tile_h.size];
    float* const staged = scratch.staged + (tile_h.start - start) * width * lanes;
    for (int64_t column = 0; column < geometry.tile_columns(); ++column) {
      const Tile& tile_w = geometry.w.tiles[column];
      const float* const in = planes + layout.offset(vector, kernels.lanes) +
                              order.row(block.strip(rows.image, row), column) * layout.row;
      const int alpha_w = geometry.w.alpha(tile_w);
      const Line rows_line = kernels.interpolate[alpha_w][tile_w.size];
      float* const out = staged + tile_w.start * lanes;
      const int64_t plane_row = geometry.points_w() * layout.plane;
      if (geometry.h.alpha(tile_h) == 1) {
        rows_line(in, layout.plane, 0, out, lanes, 0, 1);
      } else if (alpha_w == 1) {
        columns_line(in, plane_row, 0, out, width * lanes, 0, 1);
      } else {
        columns_line(in, plane_row, layout.plane, scratch.lines, alpha_w * lanes, lanes, alpha_w);
        rows_line(scratch.lines, lanes, alpha_w * lanes, out, lanes, width * lanes, tile_h.size);
      }
    }
  }
  const int64_t height = covered(geometry.h, rows.first, rows.count), channel = vector * lanes;
  finish_columns(geometry.problem.epilogue, bias_from(bias, channel), scratch.staged, lanes, height * width,
                 std::min(lanes, view.lanes() - channel));
  scatter(kernels, view, scratch.staged, {rows.image, start, 0, height, width}, vector, tensor);
}

// Lines of one point cost nothing, so that these hold for tiles of one row or column too.
double transform_flops(const Geometry& geometry, TileOperand operand) {
  const LineCosts& costs = line_costs();
  double flops = 0;
  for (const Tile& h : geometry.h.tiles)
    for (const Tile& w : geometry.w.tiles) {
      const int alpha_h = geometry.h.alpha(h), alpha_w = geometry.w.alpha(w);
      flops += operand == TileOperand::data
                   ? alpha_h * costs.data[alpha_w] + alpha_w * costs.data[alpha_h]
                   : h.size * costs.evaluate[alpha_w][w.size] + alpha_w * costs.evaluate[alpha_h][h.size];
    }
  return flops;
}

double inverse_flops(const Geometry& geometry) {
  const LineCosts& costs = line_costs();
  double flops = 0;
  for (const Tile& h : geometry.h.tiles)
    for (const Tile& w : geometry.w.tiles) {
      const int alpha_h = geometry.h.alpha(h), alpha_w = geometry.w.alpha(w);
      flops += alpha_w * costs.interpolate[alpha_h][h.size] + h.size * costs.interpolate[alpha_w][w.size];
    }
  return flops;
}

}  // namespace convscope::winograd

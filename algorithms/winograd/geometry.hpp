// One convolution in one pass, seen as Winograd tiles: the two tensors, the tiles, and the strips (one row of
// tiles of one image) of which blocks are made. The plans are built from it. Start at Geometry.
#pragma once

#include <cstdint>
#include <string>

#include "algorithms/common/rounding.hpp"
#include "algorithms/winograd/cpu/tensor_view.hpp"
#include "algorithms/winograd/tiling.hpp"
#include "bench/core/problem.hpp"

namespace convscope::winograd {

// Which output tiles: all of one size, or (0) the even split of even_axis(), with the larger tiles of filters
// of one row or column or without.
struct TileRule {
  int size = 0;
  bool larger_alone = false;
};

struct Geometry {
  ConvProblem problem;
  TensorView image;   // x or its gradient: lanes are (phase, input channel)
  TensorView signal;  // y or its gradient: lanes are output channels
  // The tiles lie on y in forward and backward-filter, on the gradient of x in backward-data.
  Axis h, w;

  int points_h() const { return h.largest_alpha(); }
  int points_w() const { return w.largest_alpha(); }
  int64_t planes() const { return int64_t{points_h()} * points_w(); }
  // The tallest rows of tiles come first.
  int64_t tile_rows() const { return static_cast<int64_t>(h.tiles.size()); }
  int64_t tile_columns() const { return static_cast<int64_t>(w.tiles.size()); }
  // Phases whose filters are not zero in plane (i, j); all of them except in forward.
  Phases::Range phases_in(int i, int j) const;
  // "13=5+4+4 x 13=5+4+4"
  std::string describe() const;
};

Geometry make_geometry(const ConvProblem& problem, TileRule rule);

// Some images and of each some rows of tiles, worked on together. Its strips, a row of tiles of one image
// each, are numbered from the tallest.
struct Block {
  int64_t first_image = 0, images = 1;
  int64_t first_row = 0, rows = 1;
  int64_t strips() const { return images * rows; }
  int64_t strip(int64_t image, int64_t row) const { return (row - first_row) * images + image - first_image; }
  int64_t strips_with(const Geometry& geometry, int point_h) const;
};

// Where the tiles of a block lie in a plane, in rows of it. Those of one height and width are together: low
// and wide, high and wide, high and narrow, low and narrow, so that the tiles that have a pair of points are
// a range. In each of the four, column by column.
class TileOrder {
 public:
  TileOrder(const Geometry& geometry, const Block& block);
  int64_t row(int64_t strip, int64_t column) const;
  struct Range {
    int64_t begin = 0, count = 0;
  };
  Range with(int point_h, int point_w) const;

 private:
  int low_h_, low_w_;  // points of the lower and of the narrower tiles
  int64_t strips_, high_, columns_, wide_;
};

// Rows of tiles [first, first + count) of one image.
struct TileRows {
  int64_t image = 0;
  int64_t first = 0, count = 1;
};

// Where the vectors of a set of planes lie: vectors in pairs (a panel of the GEMM), rows, planes; in floats.
struct PlaneLayout {
  int64_t plane = 0, row = 0, panel = 0;
  int64_t offset(int64_t vector, int lanes) const { return vector / 2 * panel + vector % 2 * lanes; }
};

}  // namespace convscope::winograd

// One convolution in one pass, seen as Winograd tiles: the two tensors, the tiles, and the strips (one row of
// tiles of one image) in which the work is dealt out. The plans are built from it. Start at Geometry.
#pragma once

#include <cstdint>
#include <string>

#include "algorithms/common/rounding.hpp"
#include "algorithms/winograd/tensor_view.hpp"
#include "algorithms/winograd/tiling.hpp"
#include "bench/core/problem.hpp"

namespace convscope::winograd {

// Which output tiles: all of one size, or (0) the even split of even_axis().
struct TileRule {
  int size = 0;
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
  // Strips in the order of their tile height, so that those with one more point come first.
  int64_t strips() const { return static_cast<int64_t>(h.tiles.size()) * problem.batch; }
  const Tile& strip_tile(int64_t strip) const { return h.tiles[strip / problem.batch]; }
  int64_t strip_image(int64_t strip) const { return strip % problem.batch; }
  int64_t tile_columns() const { return static_cast<int64_t>(w.tiles.size()); }
  // Phases whose filters are not zero in plane (i, j); all of them except in forward.
  Phases::Range phases_in(int i, int j) const;
  // "13=5+4+4 x 13=5+4+4"
  std::string describe() const;
};

Geometry make_geometry(const ConvProblem& problem, TileRule rule);

// A block of strips worked on together. Tile (strip, column) is row column * strips + (strip - first) of a
// plane; where only the first few strips have a plane's point, each column's rows end early.
struct Block {
  int64_t first = 0;
  int64_t strips = 0;
  int64_t strips_with(const Geometry& geometry, int point_h) const;
};

// Where the vectors of a set of planes lie: vectors in pairs (a panel of the GEMM), rows, planes; in floats.
struct PlaneLayout {
  int64_t plane = 0, row = 0, panel = 0;
  int64_t offset(int64_t vector, int lanes) const { return vector / 2 * panel + vector % 2 * lanes; }
};

}  // namespace convscope::winograd

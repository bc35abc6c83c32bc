// Where tiles lie in the planes of the batched product. The plane of an interpolation point pair is a matrix
// with a row for each tile of a block. Start at Block and TileOrder.
#pragma once

#include <cstdint>

#include "algorithms/winograd/geometry.hpp"

namespace convscope::winograd {

// Some images, and some rows of tiles of each, worked on together. A strip is one row of tiles of one image;
// the strips of a block are numbered from the tallest.
struct Block {
  int64_t first_image = 0, images = 1;
  int64_t first_row = 0, rows = 1;
  int64_t strips() const { return images * rows; }
  int64_t strip(int64_t image, int64_t row) const { return (row - first_row) * images + image - first_image; }
  int64_t strips_with(const Geometry& geometry, int point_h) const;
};

// Rows of tiles [first, first + count) of one image.
struct TileRows {
  int64_t image = 0;
  int64_t first = 0, count = 1;
};

// The rows of a plane. Tiles of one height and width are together, in the order low and wide, high and wide,
// high and narrow, low and narrow, so that the tiles that have a pair of points are one range. In each of the
// four, column by column.
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

// Where the vectors of a set of planes lie: vectors in pairs (a panel of the GEMM), rows, planes; in floats.
struct PlaneLayout {
  int64_t plane = 0, row = 0, panel = 0;
  int64_t offset(int64_t vector, int lanes) const { return vector / 2 * panel + vector % 2 * lanes; }
};

}  // namespace convscope::winograd

// One convolution in one pass, seen as Winograd tiles: two tensors, seen as unit-stride lanes, and the tiles
// of each dimension. Plain data; the plans of both devices are built from it. Start at Geometry.
#pragma once

#include <cstdint>
#include <string>

#include "algorithms/common/rounding.hpp"
#include "algorithms/winograd/tiling.hpp"
#include "bench/core/problem.hpp"

namespace convscope::winograd {

// Which output tiles: all of one size, or (0) the even split of even_axis(), with larger tiles for filters of
// one row or column or without.
struct TileRule {
  int size = 0;
  bool larger_in_1d = false;
};

// What a tile contributes to the products: its alpha x alpha inputs, transformed by B (data), or the
// coefficients of a polynomial, evaluated by E: the taps of a filter, or (backward-filter) the gradients of
// the tile's outputs.
enum class TileOperand { data, coefficients };

// One channel group of an activation tensor as tiles see it: unit-stride lanes, which are the
// (residue, channel) pairs of the tensor. Pixel (h, w) of lane (residue, c) is the tensor's
// (h * step + residue - origin, channel c), zero outside the tensor.
struct TensorView {
  TensorShape shape;
  int64_t channels = 1;  // of one channel group
  Residues residues;     // one, at (0, 0), where there is no stride
  Extent2 origin{0, 0};

  int64_t lanes() const { return static_cast<int64_t>(residues.offsets.size()) * channels; }
};

struct Geometry {
  ConvProblem problem;
  TensorView input_view;   // x or its gradient: lanes are (residue, input channel)
  TensorView output_view;  // y or its gradient: lanes are output channels
  // The tiles lie on y in forward and backward-filter, on the gradient of x in backward-data.
  Axis h, w;

  int points_h() const { return h.largest_alpha(); }
  int points_w() const { return w.largest_alpha(); }
  int64_t planes() const { return int64_t{points_h()} * points_w(); }
  // The tallest rows of tiles come first.
  int64_t tile_rows() const { return static_cast<int64_t>(h.tiles.size()); }
  int64_t tile_columns() const { return static_cast<int64_t>(w.tiles.size()); }
  // Residues whose filters are not zero in plane (i, j); all of them except in forward.
  Residues::Range residues_in(int i, int j) const;
  bool has_one_residue() const { return input_view.residues.offsets.size() == 1; }
  // "13=5+4+4 x 13=5+4+4"
  std::string describe() const;
};

Geometry make_geometry(const ConvProblem& problem, TileRule rule);

}  // namespace convscope::winograd

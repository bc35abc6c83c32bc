// backward_filter as the Hopper kernel takes it: D[k][tap][c], the sum over pixels of the output's gradient
// (rows k) times the input (columns c) where the tap meets it. The depth is runs or boxes of at most 64
// pixels, a stage each; where D has few tiles, it is split and the parts are added in order. Plain data,
// handed to the kernels by value. Start at gradient_work().
#pragma once

#include "algorithms/implicit_gemm/cuda/boxed_product.hpp"

namespace convscope::implicit_gemm {

inline constexpr int kStagePixels = 64;  // at most, in a box
inline constexpr int kWgmmaPixels = 16;  // of one wgmma
inline constexpr int kSlabColumns = 64;  // of the input, in one load

// The kernels are instantiated for exactly these, whose columns are whole slabs.
inline constexpr std::array kGradientTiles{HopperTile{256, 128}, HopperTile{128, 128}, HopperTile{128, 64}};

// wgmma cuts its sums (docs/emulator.md): by 1.2e-9 of them for each pixel. The kernels of tiles with 64
// columns have registers to add them up in pieces of that many loads, so that a part may have any length; the
// parts of the others have at most as many loads as err by 1.5e-4.
inline constexpr int kLoadsOfSum = 256, kMaxLoadsOfLargeTile = 2048;

// The pixels are the output's, the image is the input. Strides are elements; rows, columns and pitches are of
// one group.
struct BoxedGradient : PixelBoxes {
  MathMode math = MathMode::bf16;
  HopperTile tile;  // rows k, columns c of one tap
  int rows = 0, columns = 0, groups = 1;
  int row_pitch = 0, column_pitch = 0;  // of the output's gradient and the input
  int splits = 1, loads_of_split = 0;   // the last split may have fewer
  int all_loads = 0;

  // Where the taps of a line are joined (joined_taps.hpp): the columns are those of all lines of the filter,
  // `joined_line` each, and in a line s * joined_pitch + c.
  int joined_line = 0, joined_pitch = 0, joined_lines = 0, joined_taps = 0, joined_channels = 0;

  int d_row = 0, d_column = 0, d_tap_line = 0, d_tap_column = 0, d_group = 0;
  int64_t d_elements = 0;  // of D, and of the partial sums of one split
};

// Wgmma steps of a load: a box's last pixels are filled up with zeros.
constexpr int steps(int pixels) {
  return (pixels + kWgmmaPixels - 1) / kWgmmaPixels;
}

// D's tiles, over all taps and groups: blocks of one split.
int64_t tiles(const BoxedGradient& product);

// 0 with one split.
int64_t partial_bytes(const BoxedGradient& product);

// Cuts the depth into at most `splits` parts, none of them empty.
void set_splits(BoxedGradient& product, int splits);

// The two tensors repacked where they do not lie as TMA needs them, then the product.
struct GradientWork {
  std::optional<Relayout> input, output;
  BoxedGradient product;
};

// backward_filter in 16-bit types. Splits are as many as are profitable and as `workspace_bytes` hold beside
// what is repacked.
GradientWork gradient_work(const ConvProblem& problem, int64_t workspace_bytes);

}  // namespace convscope::implicit_gemm

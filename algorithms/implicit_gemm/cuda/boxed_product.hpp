// A product of index_map.hpp as the Hopper kernel takes it in forward and backward-data: the rows of D in
// runs of pixels, row after row and image after image, or in boxes of width x height x images neighbouring
// pixels, so that one TMA load brings what a tile needs of A for one tap, zeros for the padding included.
// Runs leave no row of a tile empty but in the last tile; boxes are for what TMA's runs (PixelMapLayout) do
// not reach. Plain data, handed to the kernels by value. Start at hopper_work(); backward-filter is
// boxed_gradient.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/implicit_gemm/cuda/repack.hpp"
#include "bench/core/problem.hpp"

namespace convscope::implicit_gemm {

// What one block computes.
struct HopperTile {
  int rows = 0, columns = 0;
  bool operator==(const HopperTile&) const = default;

  // The share of the peak rate that shared memory allows, whose 128 bytes per cycle serve TMA's writes and
  // wgmma's reads in turn. A stage has 128 bytes of each row and column: TMA writes them once, wgmma reads
  // the rows once and the columns once per 64 rows, which it multiplies by a column in 2 cycles.
  constexpr double efficiency() const {
    const int products = rows / 64;
    const double multiplied = 2.0 * products * columns;
    const double moved = rows + columns + rows + products * columns;
    return multiplied < moved ? multiplied / moved : 1;
  }
};
// The kernels of forward and backward-data are instantiated for exactly these. 96 and 192 columns are for
// products that would leave a quarter of wider or narrower tiles empty.
inline constexpr std::array kHopperTiles{HopperTile{256, 128}, HopperTile{128, 128}, HopperTile{128, 64},
                                         HopperTile{256, 96},  HopperTile{128, 96},  HopperTile{128, 192}};

inline constexpr int kWgmmaDepthBytes = 32;  // of one wgmma
inline constexpr int kTmaLongestStep = 8;    // pixels from one element of a box to the next
inline constexpr int kTmaLongestBox = 256;   // pixels, skipped ones included
inline constexpr int kTmaLineBytes = 128;    // of a pixel, in a stage
// Of runs: corners of what PixelMapLayout calls a box, the pixels that they go through; offsets of taps.
inline constexpr int kTmaLowestCorner = -128, kTmaHighestCorner = 127, kTmaLongestOffset = 255;

// The upper corner, as TMA counts it, of a box of `pixels` in an image of that size.
constexpr int upper_corner(int lower, int pixels, int step, int size) {
  return lower + (pixels - 1) * step - (size - 1);
}

// Neighbouring pixels: one TMA load.
struct Box {
  int width = 1, height = 1, images = 1;
  constexpr int pixels() const { return width * height * images; }
  bool operator==(const Box&) const = default;
};

// Pixels, how they are cut into runs or boxes, and where they meet the taps of a filter in an image: the
// pixel (y, x) meets the tap (r, s) at (first_y + y * step_y + r * tap_y, ...).
struct PixelBoxes {
  int run = 0;  // pixels of a run; 0 where they are in boxes
  Box box;
  int images = 0, height = 0, width = 0;  // all pixels
  int taps_down = 0, taps_across = 0;
  int first_y = 0, first_x = 0, step_y = 1, step_x = 1, tap_y = 0, tap_x = 0;
  int image_height = 0, image_width = 0;
  // Of the image, from one pixel and line to the next; 0 where it is dense.
  int pixel_pitch = 0, line_pitch = 0;

  // Of one load.
  constexpr int pixels() const { return run > 0 ? run : box.pixels(); }
  // Where a pixel's first tap in memory is, from which the offsets of TMA's runs count.
  constexpr int lower_y() const { return first_y + (tap_y < 0 ? (taps_down - 1) * tap_y : 0); }
  constexpr int lower_x() const { return first_x + (tap_x < 0 ? (taps_across - 1) * tap_x : 0); }
};

// Loads of all pixels: runs or boxes.
int64_t loads(const PixelBoxes& pixels);

// Whether TMA's runs reach all taps. A line of 128 bytes must hold channels of one group only: `channels` of
// `element_bytes` in each of the groups.
bool runs_reach(const PixelBoxes& pixels, int groups, int channels, int element_bytes);

// Cuts the pixels into runs of `most`, or where those do not reach into the best boxes.
void cut(PixelBoxes& pixels, bool runs, int most, int granule);

// The box of at most `most` pixels that leaves few pixels of its last `granule` empty, is large and is not
// too narrow.
Box best_box(const PixelBoxes& pixels, int most, int granule);

// The pixels are D's, a load for each row tile, and the image is A's. Strides and bases are elements.
// Channels, columns and their pitch are of one group.
struct BoxedProduct : PixelBoxes {
  MathMode math = MathMode::bf16;
  Epilogue epilogue = Epilogue::none;  // of a D of f32 only
  HopperTile tile;
  int columns = 0, channels = 0, groups = 1;
  // B is [group][column][tap][channel]; the tap (r, s) is number first_tap + r * tap_line + s * tap_column.
  int first_tap = 0, tap_line = 0, tap_column = 0, filter_taps = 0;
  int channel_pitch = 0;  // of B, and of a dense A

  int d_base = 0, d_image = 0, d_line = 0, d_pixel = 0, d_column = 0, d_group = 0;
};

// All that a problem takes: A and B repacked where they do not lie as TMA needs them, then the products (one,
// or one for each residue of the stride in backward-data).
struct HopperWork {
  std::optional<Relayout> image, filter;
  std::vector<BoxedProduct> products;
};

// Forward and backward-data only.
HopperWork hopper_work(const ConvProblem& problem);

// Sets the tile, and the run or the best box for it.
void set_tile(BoxedProduct& product, const HopperTile& tile);

}  // namespace convscope::implicit_gemm

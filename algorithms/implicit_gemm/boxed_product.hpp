// A product of index_map.hpp as the Hopper kernels take it: the rows of D in boxes of width x height x images
// neighbouring pixels, so that one TMA load brings what a box needs of A for one tap, zeros for the padding
// included. Tensors have their channels innermost and padded to 16 bytes; repacking them is described here
// too. Plain data, handed to the kernels by value. Start at hopper_work().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/device/device.hpp"

namespace convscope::implicit_gemm {

// What one block computes, and the share of the peak rate that shared memory allows it (README.md).
struct HopperTile {
  int rows = 0, columns = 0;
  double efficiency = 1;
  bool operator==(const HopperTile& other) const { return rows == other.rows && columns == other.columns; }
};
// The kernels are instantiated for exactly these.
inline constexpr std::array kHopperTiles{HopperTile{256, 128, 0.89}, HopperTile{128, 128, 0.80},
                                         HopperTile{128, 64, 0.57}};

inline constexpr int kTmaAlignment = 16;     // bytes, of every stride of a tensor
inline constexpr int kWgmmaDepthBytes = 32;  // of one wgmma
inline constexpr int kTmaLongestStep = 8;    // pixels from one element of a box to the next
inline constexpr int kTmaLongestBox = 256;   // pixels, skipped ones included

// Pixels of D that one block computes, at most tile.rows.
struct Box {
  int width = 1, height = 1, images = 1;
  constexpr int pixels() const { return width * height * images; }
  bool operator==(const Box&) const = default;
};

// Strides and bases are elements. Channels, columns and their pitch are of one group.
struct BoxedProduct {
  MathMode math = MathMode::bf16;
  HopperTile tile;
  Box box;
  int images = 0, height = 0, width = 0;  // pixels of D that this product computes
  int columns = 0, channels = 0, groups = 1;
  int taps_down = 0, taps_across = 0;

  // D's pixel (y, x) meets the tap (r, s) at A's pixel (first_y + y * step_y + r * tap_y, ...).
  int first_y = 0, first_x = 0, step_y = 1, step_x = 1, tap_y = 0, tap_x = 0;
  int image_height = 0, image_width = 0;  // of A
  // B is [group][column][tap][channel]; the tap (r, s) is number first_tap + r * tap_line + s * tap_column.
  int first_tap = 0, tap_line = 0, tap_column = 0, filter_taps = 0;
  int channel_pitch = 0;  // of A and B

  int d_base = 0, d_image = 0, d_line = 0, d_pixel = 0, d_column = 0, d_group = 0;
};

// How many boxes D's pixels make, a row tile each.
int64_t boxes(const BoxedProduct& product);

// Elements of a tensor to other places: outer x inner matrices of rows x columns; rows become neighbours.
struct Repack {
  int outer = 1, inner = 1, rows = 1, columns = 1;
  int64_t from_outer = 0, from_inner = 0, from_row = 0, from_column = 0;
  int64_t to_outer = 0, to_inner = 0, to_column = 0;
  int element_bytes = 2;
  int64_t bytes = 0;  // of the result, with the padding of its rows
};

// All that a problem takes: A and B repacked where they do not lie as TMA needs them, then the products (one,
// or one for each phase of the stride in backward-data).
struct HopperWork {
  std::optional<Repack> image, filter;
  std::vector<BoxedProduct> products;
};

// Forward and backward-data only.
HopperWork hopper_work(const ConvProblem& problem);

// Sets tile and the box that leaves few rows of it empty and is not too narrow.
void set_tile(BoxedProduct& product, const HopperTile& tile);

struct HopperOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
};

// The kernels, enqueued on a queue of the device that they were built for.
struct HopperLaunchers {
  void (*multiply)(const BoxedProduct&, const HopperOperands&, Queue&) = nullptr;
  void (*repack)(const Repack&, const void* from, void* to, Queue&) = nullptr;
};
// Throws std::invalid_argument for devices without them.
HopperLaunchers hopper_launchers(DeviceKind kind);

}  // namespace convscope::implicit_gemm

namespace convscope::cuda {
void implicit_gemm_hopper(const implicit_gemm::BoxedProduct&, const implicit_gemm::HopperOperands&, Queue&);
void implicit_gemm_repack(const implicit_gemm::Repack&, const void* from, void* to, Queue&);
}  // namespace convscope::cuda

namespace convscope::emulated {
void implicit_gemm_hopper(const implicit_gemm::BoxedProduct&, const implicit_gemm::HopperOperands&, Queue&);
void implicit_gemm_repack(const implicit_gemm::Repack&, const void* from, void* to, Queue&);
}  // namespace convscope::emulated

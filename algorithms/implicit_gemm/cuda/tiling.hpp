// How a product is tiled: which tile a block computes and into how many parts the depth is split, chosen from
// a small table for the 132 multiprocessors of an H200 (also on other devices, so that the same problem is
// always computed in the same way). The kernels are instantiated for exactly these tiles.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "algorithms/implicit_gemm/cuda/index_map.hpp"

namespace convscope::implicit_gemm {

// What one block computes, and the share of the peak rate that its inner loop can reach.
struct Tile {
  int rows = 0, columns = 0;
  double efficiency = 1;
  bool operator==(const Tile& other) const { return rows == other.rows && columns == other.columns; }
};

// Instruction counts of the inner loops (README.md) are behind the efficiencies.
inline constexpr std::array kSimtTiles{Tile{128, 128, 0.82}, Tile{128, 64, 0.78}, Tile{64, 64, 0.71},
                                       Tile{128, 32, 0.67}};
inline constexpr std::array kTensorTiles{Tile{128, 128, 0.41}, Tile{128, 64, 0.35}, Tile{64, 64, 0.26}};

// 16-bit tensors in pairs, and element by element.
inline constexpr std::array kPairedTiles{kTensorTiles[0], kTensorTiles[2]};
inline constexpr std::array kWidenedTiles{kTensorTiles[1]};

// Depths that a block takes at a time; the depth is padded to a multiple.
inline constexpr int kSimtDepth = 8, kTensorDepth = 16;

// Depths that a block adds up in one launch, at most: an FP32 sum's error grows with the square root of its
// length, a tensor core's with the length (docs/emulator.md). Longer parts take a launch for each piece.
inline constexpr int kLongestSum = 16384;

// What the multiplication is weighed against when the depth is split: multiply-adds of one multiprocessor in
// the time in which it gets a byte from memory, and in a launch.
struct Machine {
  double multiply_adds_per_byte = 0;
  double multiply_adds_per_launch = 0;
};
inline constexpr Machine kSimtMachine{7.8, 8e5};
inline constexpr Machine kTensorMachine{35, 3.5e6};

// The tile of a block, and into how many parts the depth is split.
struct TileSplit {
  Tile tile;
  int splits = 1;
  bool operator==(const TileSplit&) const = default;
};

// The longest part of a split depth, of which `depth` are taken at a time.
int64_t part_depth(const IndexMap& map, int splits, int depth);

// Pieces of at most kLongestSum in that part; at least 1.
int pieces(const IndexMap& map, int splits, int depth);

// Partial sums of all splits; 0 for one split.
int64_t partial_elements(const IndexMap& map, int splits);

// The cheapest tile and split whose partial sums fit into `workspace_bytes`.
TileSplit choose_split(const IndexMap& map, std::span<const Tile> tiles, const Machine& machine,
                       int64_t workspace_bytes);

// "128x64 tiles", "64x64 tiles, depth in 12 parts".
std::string describe(const TileSplit& split);

}  // namespace convscope::implicit_gemm

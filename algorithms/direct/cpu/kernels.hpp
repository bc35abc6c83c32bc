// The inner loops of the direct method, one table of functions for each instruction set. They know pointers
// and steps, not convolutions: "pixels" and "channels" below are those of the forward pass, and
// backward-filter uses the same loops with other roles. Steps are in elements. Start at TileJob.
#pragma once

#include <cstdint>

namespace convscope::direct {

inline constexpr int kMaxPixels = 14;  // 14 x 2 sums, 2 filter vectors and one input value fill 31 registers
inline constexpr int kMaxVectors = 2;
inline constexpr int kMaxSkipped = 3;  // per tap; tiles of up to twice as many pixels skip none
inline constexpr int kMaxRowChannels = 4;
inline constexpr int kMaxRowVectors = 4;
inline constexpr int kMaxDotTaps = 9;
inline constexpr int64_t kChannelBlock = 16;  // channels that lie side by side in the blocked staging

// tile[pixel][lane] (+)= sum over blocks, rows, columns and channels of
//   in[offset + row_offset[r] + column_offset[s] + channel * in_channel_step + pixel * pixel_step]
//     * filter[... + lane]
// with the sums in registers throughout. A tile's contents are added last, so that the sum of many jobs is
// one chain per job and one over the jobs. The filter advances by vectors * lanes elements from channel to
// channel. pixel_step is 1 or kChannelBlock and is fixed by the function.
struct TileJob {
  const float* in = nullptr;
  int64_t in_offset = 0;
  const float* filter = nullptr;
  float* tile = nullptr;  // row j at tile + j * vectors * lanes
  int64_t blocks = 1;
  int64_t channels = 0;       // of every block but the last
  int64_t last_channels = 0;  // of the last block
  int64_t in_block_step = 0, filter_block_step = 0;
  int64_t in_channel_step = 0;
  const int64_t* row_offset = nullptr;
  int64_t rows = 0;
  int64_t filter_row_step = 0;
  const int64_t* column_offset = nullptr;
  // Of each column: how many of the first pixels, or where negative of the last ones, read zeros there. Up to
  // kMaxSkipped are not multiplied. Null: none.
  const int8_t* skipped = nullptr;
  int64_t columns = 0;
  int64_t filter_column_step = 0;
  // Where few channels make short loops: column_offset[s] + channel * in_channel_step of all pairs, channels
  // innermost, whose filter vectors lie one after the other. Then nothing is skipped, and there is one block.
  // Null: a loop over channels for each column.
  const int64_t* pair_offset = nullptr;
  bool accumulate = false;  // add to the tile's contents
};

// out[m][pixel] = sum over channels, rows and columns of
//   in[offset + row_offset[r] + column_offset[s] + channel * in_channel_step + pixel] * filter[... + m]
// with pixels across the lanes. Reads and writes whole vectors.
struct RowJob {
  const float* in = nullptr;
  int64_t in_offset = 0;
  const float* filter = nullptr;
  float* out = nullptr;
  int64_t out_step = 0;  // from one m to the next
  int64_t channels = 0;
  int64_t in_channel_step = 0, filter_channel_step = 0;
  const int64_t* row_offset = nullptr;
  int64_t rows = 0;
  int64_t filter_row_step = 0;
  const int64_t* column_offset = nullptr;
  int64_t columns = 0;
};

// sum[t * sum_step + lane] += sum over rows and steps of
//   x[row * x_row_step + tap_offset[t] + i * step + lane] * y[row * y_row_step + i * step + lane],
// summed from zero and added to sum last.
struct DotJob {
  const float* x = nullptr;
  const float* y = nullptr;
  int64_t rows = 0;
  int64_t steps = 0;
  int64_t step = 0;  // elements
  int64_t x_row_step = 0, y_row_step = 0;
  const int64_t* tap_offset = nullptr;
  float* sum = nullptr;
  int64_t sum_step = 0;
};

using TileFunction = void (*)(const TileJob&);
using RowFunction = void (*)(const RowJob&);
using DotFunction = void (*)(const DotJob&);

struct Kernels {
  const char* instructions = "";
  int lanes = 0;
  int max_pixels = 0;                                       // of a tile, at most kMaxPixels
  int max_row_vectors = 0;                                  // of a row, at most kMaxRowVectors
  TileFunction planar_tile[kMaxVectors][kMaxPixels] = {};   // [vectors - 1][pixels - 1], pixel step 1
  TileFunction blocked_tile[kMaxVectors][kMaxPixels] = {};  // pixel step kChannelBlock
  // [pixels - 1]: tile[pixel][channel] of kChannelBlock channels, each with its own filter: lanes advance
  // along `in` too, pixel_step is kChannelBlock. Blocks and channels of the job are ignored.
  TileFunction depthwise_tile[kMaxPixels] = {};
  RowFunction row[kMaxRowChannels][kMaxRowVectors] = {};  // [m - 1][vectors - 1]
  DotFunction dot[kMaxDotTaps] = {};                      // [taps - 1]
};

// The table for the best instruction set that Highway may use on this machine.
Kernels best_kernels();

}  // namespace convscope::direct

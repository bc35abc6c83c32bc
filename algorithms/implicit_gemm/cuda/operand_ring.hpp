// Device code that the kernels of this folder share: a ring of tiles of A and B in shared memory, filled by
// 4-byte asynchronous copies, and the way of the sums from registers through shared memory to D. Included by
// .cu files only. Start at Loader::load, which is the inner loop's part.
//
// Who loads what: a thread loads rows first, first + kStep, ... of A (columns of B) at one depth of each 8.
// Either the lanes run along the rows and a warp has one depth, or 8 lanes run along the depth, whichever are
// neighbours in memory. What a row adds to offset and position is in registers, what a depth adds in a table
// in shared memory, decoded by all threads at once, one entry each, a while before it is needed.
#pragma once

#include "algorithms/common/tally.hpp"
#include "algorithms/implicit_gemm/cuda/product.hpp"
#include "bench/algorithm/epilogue.cuh"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using implicit_gemm::IndexMap;
using implicit_gemm::Position;

// A block computes kRows x kColumns of D, kDepth at a time. A tile lies in shared memory as [depth][row],
// rows padded so that neither the copies nor the reads of the arithmetic meet in a bank.
template <int Rows, int Columns, int Threads, int Depth, int Stages, int Padding>
struct BlockShape {
  static constexpr int kRows = Rows, kColumns = Columns, kThreads = Threads;
  static constexpr int kDepth = Depth, kStages = Stages;
  static constexpr int kRowPitch = Rows + Padding, kColumnPitch = Columns + Padding;
  static constexpr int kStageFloats = kDepth * (kRowPitch + kColumnPitch);
  static constexpr bool kFinishes = false;  // applies an epilogue to D; columns are output channels then
  static constexpr int kTilesPerChunk = Threads / Depth;  // of the depth table
  static_assert(kDepth % 8 == 0 && kStages <= kTilesPerChunk / 2 && kRows <= kThreads);
};

template <typename Shape>
struct Finishing : Shape {
  static constexpr bool kFinishes = true;
};

// The depths [begin, end) of the rows and columns that a block adds up in this launch.
struct Part {
  int first_row, first_column, group, begin, end;
};

template <typename Shape>
struct Shared {
  float ring[Shape::kStages * Shape::kStageFloats];
  int2 a_depth[2 * Shape::kThreads];  // offset, position
  int2 b_depth[2 * Shape::kThreads];  // offset, 1 or, behind the end, 0
  int d_offset[Shape::kRows];         // -1 behind the last row
  Part part;                          // here, not in registers, until the sums are stored
};

struct Counters {
  int outer, middle, inner;
};

__device__ __forceinline__ Counters decode(int index, const int (&size)[3]) {
  const int rest = index / size[2];
  const int outer = rest / size[1];
  return {outer, rest - outer * size[1], index - rest * size[2]};
}

template <typename Value>
__device__ __forceinline__ Value sum(const Counters& at, const Value (&step)[3]) {
  return static_cast<Value>(at.outer) * step[0] + static_cast<Value>(at.middle) * step[1] +
         static_cast<Value>(at.inner) * step[2];
}

// The part of Extent rows that a thread loads.
template <int Extent, int Threads>
struct Lanes {
  static constexpr int kStep = Threads / 8, kCount = Extent / kStep;
  static_assert(Extent % kStep == 0);
  int depth, first;
  __device__ __forceinline__ Lanes(bool along, int thread)
      : depth(along ? thread / kStep : thread % 8), first(along ? thread % kStep : thread / 8) {}
};

// One element on its way to shared memory, 0 where it is not `inside`. 16-bit elements, which the copy engine
// cannot move, go through a register and arrive as f32.
template <typename Element>
__device__ __forceinline__ void copy_element(float* to, const Element* from, bool inside) {
  if constexpr (sizeof(Element) == 4)
    cp_async<4>(to, from, inside ? 4 : 0);
  else
    *to = inside ? static_cast<float>(*from) : 0.0f;
}

template <typename Shape, typename Element>
class Loader {
 public:
  __device__ __forceinline__ Loader(const IndexMap& map, const Element* a, const Element* b,
                                    Shared<Shape>& shared)
      : map_(map),
        shared_(shared),
        a_(a),
        b_(b),
        begin_(shared.part.begin),
        end_(shared.part.end),
        a_lanes_(map.a_along_rows, static_cast<int>(threadIdx.x)),
        b_lanes_(map.b_along_columns, static_cast<int>(threadIdx.x)) {
    const Part part = shared.part;
    UNROLL
    for (int i = 0; i < RowLanes::kCount; ++i) {
      const int row = part.first_row + a_lanes_.first + i * RowLanes::kStep;
      const Counters at = decode(row, map.row_size);
      const bool inside = row < map.rows;
      row_offset_[i] = inside ? part.group * map.a_group + map.a_base + sum(at, map.a_row) : 0;
      row_position_[i] = inside ? map.base + sum(at, map.row_position)
                                : implicit_gemm::kPositionBias + implicit_gemm::kOutside;
    }
    UNROLL
    for (int i = 0; i < ColumnLanes::kCount; ++i) {
      const int column = part.first_column + b_lanes_.first + i * ColumnLanes::kStep;
      // Behind the last column any will do, as it is not stored.
      column_offset_[i] =
          part.group * map.b_group + map.b_base + (column < map.columns ? column * map.b_column : 0);
    }
  }

  // Fills one half of the table: the depths of tiles chunk * kTilesPerChunk and on. A barrier must follow.
  __device__ __forceinline__ void decode_chunk(int chunk) {
    const int thread = static_cast<int>(threadIdx.x), depth = begin_ + chunk * Shape::kThreads + thread;
    int2 a = make_int2(0, static_cast<int>(implicit_gemm::kOutside)), b = make_int2(0, 0);
    if (depth < end_) {
      const Counters at = decode(depth, map_.depth_size);
      a = make_int2(sum(at, map_.a_depth), static_cast<int>(sum(at, map_.depth_position)));
      b = make_int2(sum(at, map_.b_depth), 1);
    }
    const int entry = (chunk & 1) * Shape::kThreads + thread;
    shared_.a_depth[entry] = a;
    shared_.b_depth[entry] = b;
  }

  // Starts the copies of a tile, kDepth depths from begin + tile * kDepth, into its stage of the ring.
  __device__ __forceinline__ void load(int tile) {
    float* const stage = shared_.ring + tile % Shape::kStages * Shape::kStageFloats;
    const int entry = tile % (2 * Shape::kTilesPerChunk) * Shape::kDepth;
    UNROLL
    for (int eighth = 0; eighth < Shape::kDepth; eighth += 8) {
      const int depth = a_lanes_.depth + eighth;
      const int2 add = shared_.a_depth[entry + depth];
      float* const to = stage + depth * Shape::kRowPitch + a_lanes_.first;
      UNROLL
      for (int i = 0; i < RowLanes::kCount; ++i) {
        const Position at = row_position_[i] + static_cast<Position>(add.y);
        const bool inside =
            (at & (map_.last - at) & implicit_gemm::kPositionSigns) == implicit_gemm::kPositionSigns;
        copy_element(to + i * RowLanes::kStep, a_ + (row_offset_[i] + add.x), inside);
      }
    }
    UNROLL
    for (int eighth = 0; eighth < Shape::kDepth; eighth += 8) {
      const int depth = b_lanes_.depth + eighth;
      const int2 add = shared_.b_depth[entry + depth];
      float* const to =
          stage + Shape::kDepth * Shape::kRowPitch + depth * Shape::kColumnPitch + b_lanes_.first;
      UNROLL
      for (int i = 0; i < ColumnLanes::kCount; ++i)
        copy_element(to + i * ColumnLanes::kStep, b_ + (column_offset_[i] + add.x), add.y != 0);
    }
    tally_staged(int64_t{Shape::kDepth / 8} * (RowLanes::kCount + ColumnLanes::kCount) *
                 static_cast<int64_t>(sizeof(Element)));
  }

 private:
  using RowLanes = Lanes<Shape::kRows, Shape::kThreads>;
  using ColumnLanes = Lanes<Shape::kColumns, Shape::kThreads>;
  const IndexMap& map_;
  Shared<Shape>& shared_;
  const Element* a_;
  const Element* b_;
  int begin_, end_;
  RowLanes a_lanes_;
  ColumnLanes b_lanes_;
  int row_offset_[RowLanes::kCount];
  Position row_position_[RowLanes::kCount];
  int column_offset_[ColumnLanes::kCount];
};

// The part of block blockIdx: x counts the columns' tiles first, so that blocks that run at the same time
// share rows of A; z counts the splits of a group first. Of the block's depths the piece with that number, or
// all with kWhole.
constexpr int kWhole = -1;
template <typename Shape>
__device__ __forceinline__ Part part_of_block(const IndexMap& map, int splits, int piece) {
  const int across = (map.columns + Shape::kColumns - 1) / Shape::kColumns;
  const int block = static_cast<int>(blockIdx.x), down = block / across;
  const int tiles = (map.depth + Shape::kDepth - 1) / Shape::kDepth;
  const int length = (tiles + splits - 1) / splits * Shape::kDepth;
  const int group = static_cast<int>(blockIdx.z) / splits;
  const int first = min((static_cast<int>(blockIdx.z) - group * splits) * length, map.depth);
  const int end = min(first + length, map.depth);
  const int begin = piece == kWhole ? first : min(first + piece * implicit_gemm::kLongestSum, end);
  return {down * Shape::kRows, (block - down * across) * Shape::kColumns, group, begin,
          piece == kWhole ? end : min(begin + implicit_gemm::kLongestSum, end)};
}

// Calls multiply(tile of A, tile of B) for each tile of the block's piece, in order, while kStages - 1 tiles
// are on their way.
template <typename Shape, typename Element, typename Multiply>
__device__ __forceinline__ void for_each_tile(const IndexMap& map, const Element* a, const Element* b,
                                              int splits, int piece, Shared<Shape>& shared,
                                              const Multiply& multiply) {
  if (threadIdx.x == 0) shared.part = part_of_block<Shape>(map, splits, piece);
  __syncthreads();
  Loader<Shape, Element> loader(map, a, b, shared);
  const int tiles = (shared.part.end - shared.part.begin + Shape::kDepth - 1) / Shape::kDepth;
  loader.decode_chunk(0);
  __syncthreads();
  UNROLL
  for (int tile = 0; tile < Shape::kStages - 1; ++tile) {
    if (tile < tiles) loader.load(tile);
    cp_async_commit_group();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait_group<Shape::kStages - 2>();
    __syncthreads();  // this tile is there for all, and all have left the one before
    const int next = tile + Shape::kStages - 1;
    if (next < tiles) loader.load(next);
    cp_async_commit_group();
    // Half a chunk ahead of the first load that needs it.
    if (next % Shape::kTilesPerChunk == Shape::kTilesPerChunk / 2)
      loader.decode_chunk(next / Shape::kTilesPerChunk + 1);
    const float* const stage = shared.ring + tile % Shape::kStages * Shape::kStageFloats;
    multiply(stage, stage + Shape::kDepth * Shape::kRowPitch);
  }
  cp_async_wait_group<0>();
  __syncthreads();
}

// Where a block's sums go: D, or its split's partial sums, ordered group, column, row. Those of the second
// piece and on are added to what is there. A shape that finishes has D and the last piece.
template <typename Shape, typename Output>
class Writer {
 public:
  __device__ __forceinline__ Writer(const IndexMap& map, Output* d, float* partials, int split, int piece,
                                    Shared<Shape>& shared, const Finish& finish = {})
      : shared_(shared),
        finish_(finish),
        adds_(piece > 0),
        columns_(map.columns - shared.part.first_column),
        column_stride_(partials ? map.rows : map.d_column),
        along_rows_(partials || map.d_along_rows) {
    const Part part = shared.part;
    const int64_t matrix = int64_t{map.rows} * map.columns;
    const int64_t first = int64_t{part.first_column} * column_stride_;
    d_ = d + int64_t{part.group} * map.d_group + first;
    if constexpr (Shape::kFinishes) first_channel_ = part.group * map.columns + part.first_column;
    if (partials) partials_ = partials + (int64_t{split} * map.groups + part.group) * matrix + first;
    const int thread = static_cast<int>(threadIdx.x), row = part.first_row + thread;
    if (thread >= Shape::kRows) return;
    int offset = -1;
    if (row < map.rows) offset = partials ? row : map.d_base + sum(decode(row, map.row_size), map.d_row);
    shared.d_offset[thread] = offset;
  }

  // Stores a slice of Columns columns that lie in the ring as [column][kSlicePitch]. Column i of the slice is
  // column i / Run * RunPitch + i % Run + shift of the block.
  static constexpr int kSlicePitch = Shape::kRows + 4;
  template <int Columns, int Run, int RunPitch>
  __device__ __forceinline__ void store(int shift) const {
    static_assert(Columns * kSlicePitch <= Shape::kStages * Shape::kStageFloats);
    for (int i = static_cast<int>(threadIdx.x); i < Columns * Shape::kRows; i += Shape::kThreads) {
      const int row = along_rows_ ? i % Shape::kRows : i / Columns;
      const int in_slice = along_rows_ ? i / Shape::kRows : i % Columns;
      const int column = in_slice / Run * RunPitch + in_slice % Run + shift;
      const int offset = shared_.d_offset[row];
      if (offset < 0 || column >= columns_) continue;
      const float value = shared_.ring[in_slice * kSlicePitch + row];
      const int at = offset + column * column_stride_;
      if constexpr (Shape::kFinishes)
        d_[at] = finished(adds_ ? d_[at] + value : value, finish_, first_channel_ + column);
      else if (partials_)
        partials_[at] = adds_ ? partials_[at] + value : value;
      else if constexpr (sizeof(Output) == sizeof(float))
        d_[at] = adds_ ? d_[at] + value : value;
      else
        d_[at] = static_cast<Output>(value);
    }
  }

 private:
  const Shared<Shape>& shared_;
  Finish finish_;
  int first_channel_ = 0;
  bool adds_;
  Output* d_;
  float* partials_ = nullptr;
  int columns_, column_stride_;
  bool along_rows_;
};

// Calls body(piece, whether it is D's last, which applies the epilogue) for each piece of a depth of f32
// sums. Where there are splits their sum has the epilogue.
template <typename Shape, typename Body>
void for_each_piece(const implicit_gemm::Product& product, const Body& body) {
  const int splits = product.tiling.splits,
            pieces = implicit_gemm::pieces(product.map, splits, Shape::kDepth);
  const bool finishes = product.epilogue != Epilogue::none && splits == 1;
  for (int piece = 0; piece < pieces; ++piece) body(piece, finishes && piece == pieces - 1);
}

template <typename Shape>
dim3 grid_of(const IndexMap& map, int splits) {
  const int64_t down = ceil_div(map.rows, Shape::kRows), across = ceil_div(map.columns, Shape::kColumns);
  return dim3(static_cast<unsigned>(down * across), 1, static_cast<unsigned>(map.groups * splits));
}

}  // namespace
}  // namespace convscope::CONVSCOPE_KERNELS

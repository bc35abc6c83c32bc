// Elements of a tensor to other places, as repack.hpp says. Repack: in tiles of 32 x 32 through shared
// memory, so that loads run along what is closer in the source and stores along the rows. LinePack: a block
// for each line, a word of kLineWord elements for each thread at a time.
#include "algorithms/implicit_gemm/cuda/hopper_launchers.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using implicit_gemm::kLineWord;
using implicit_gemm::LinePack;
using implicit_gemm::Repack;

constexpr int kTile = 32, kLines = 8, kThreads = kTile * kLines;
constexpr int kLineThreads = 128;

// Word has the size of an element; nothing is computed with it.
template <typename Word>
__global__ void __launch_bounds__(kThreads)
    repack(const __grid_constant__ Repack shape, const Word* __restrict__ from, Word* __restrict__ to) {
  __shared__ Word tile[kTile][kTile + 1];  // [column][row]
  const int row_tiles = (shape.rows + kTile - 1) / kTile, column_tiles = (shape.columns + kTile - 1) / kTile;
  const int block = static_cast<int>(blockIdx.x);
  const int matrix = block / (row_tiles * column_tiles),
            in_matrix = block - matrix * row_tiles * column_tiles;
  const int first_row = in_matrix % row_tiles * kTile, first_column = in_matrix / row_tiles * kTile;
  const int outer = matrix / shape.inner, inner = matrix - outer * shape.inner;
  from += outer * shape.from_outer + inner * shape.from_inner;
  to += outer * shape.to_outer + inner * shape.to_inner;

  const int lane = static_cast<int>(threadIdx.x) % kTile;
  const bool along_rows = shape.from_row < shape.from_column;
  for (int line = static_cast<int>(threadIdx.x) / kTile; line < kTile; line += kLines) {
    const int row = along_rows ? lane : line, column = along_rows ? line : lane;
    if (first_row + row < shape.rows && first_column + column < shape.columns)
      tile[column][row] =
          from[(first_row + row) * shape.from_row + (first_column + column) * shape.from_column];
  }
  __syncthreads();
  for (int line = static_cast<int>(threadIdx.x) / kTile; line < kTile; line += kLines)
    if (first_row + lane < shape.rows && first_column + line < shape.columns)
      to[(first_column + line) * shape.to_column + first_row + lane] = tile[line][lane];
}

template <typename Word>
void launch_repack(const Repack& shape, const void* from, void* to, Queue& queue) {
  const int64_t row_tiles = ceil_div(shape.rows, kTile), column_tiles = ceil_div(shape.columns, kTile);
  const int64_t blocks = row_tiles * column_tiles * shape.outer * shape.inner;
  launch(repack<Word>, static_cast<unsigned>(blocks), kThreads, 0, queue, shape,
         static_cast<const Word*>(from), static_cast<Word*>(to));
}

template <typename Word>
struct alignas(kLineWord * sizeof(Word)) Words {
  Word element[kLineWord];
};

template <typename Word>
__global__ void __launch_bounds__(kLineThreads)
    pack_lines(const __grid_constant__ LinePack shape, const Word* __restrict__ from,
               Words<Word>* __restrict__ to) {
  const int block = static_cast<int>(blockIdx.x), words = shape.to_line / kLineWord;
  const int words_of_pixel = shape.pitch / kLineWord;
  const int outer = block / shape.lines, line = block - outer * shape.lines;
  from += outer * shape.from_outer + line * shape.from_line;
  to += int64_t{block} * words;
  for (int word = static_cast<int>(threadIdx.x); word < words; word += kLineThreads) {
    const int pixel = word / words_of_pixel, channel = (word - pixel * words_of_pixel) * kLineWord;
    const int x = pixel - shape.before;
    Words<Word> out = {};
    if (x >= 0 && x < shape.width) {
      UNROLL
      for (int i = 0; i < kLineWord; ++i)
        if (channel + i < shape.channels)
          out.element[i] = from[x * shape.from_pixel + (channel + i) * shape.from_channel];
    }
    to[word] = out;
  }
}

template <typename Word>
void launch_pack_lines(const LinePack& shape, const void* from, void* to, Queue& queue) {
  launch(pack_lines<Word>, static_cast<unsigned>(shape.outer * shape.lines), kLineThreads, 0, queue, shape,
         static_cast<const Word*>(from), static_cast<Words<Word>*>(to));
}

}  // namespace

void implicit_gemm_pack_lines(const LinePack& shape, const void* from, void* to, Queue& queue) {
  if (shape.element_bytes == 4) return launch_pack_lines<uint32_t>(shape, from, to, queue);
  launch_pack_lines<uint16_t>(shape, from, to, queue);
}

void implicit_gemm_repack(const Repack& shape, const void* from, void* to, Queue& queue) {
  if (shape.element_bytes == 4) return launch_repack<uint32_t>(shape, from, to, queue);
  launch_repack<uint16_t>(shape, from, to, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS

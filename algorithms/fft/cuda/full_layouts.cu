// See full_kernels.hpp. Bound by memory: consecutive threads read and write consecutive elements.
#include "algorithms/fft/cuda/full_kernels.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 256;

// The element of the tensor that is sample (row, column) of a plane, or -1. Consecutive threads have
// consecutive samples of a plane, or, where that is how the tensor lies, consecutive planes.
struct Sample {
  int64_t dense, element;
};
__device__ __forceinline__ Sample sample(const TensorPlanes& shape, const PaddedPlane& padded) {
  // There are less than 2^31 samples in all.
  const auto samples = static_cast<unsigned>(padded.rows * padded.columns);
  const auto inner_count = static_cast<unsigned>(shape.inner);
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
  const bool neighbours = shape.inner_stride == 1;
  const unsigned in_plane = neighbours ? thread / inner_count % samples : thread % samples;
  const unsigned inner = neighbours ? thread % inner_count : thread / samples % inner_count;
  const unsigned outer = thread / samples / inner_count;
  if (outer >= static_cast<unsigned>(shape.outer)) return {-1, -1};
  const int h = static_cast<int>(in_plane) / padded.columns - padded.first_h;
  const int w = static_cast<int>(in_plane) % padded.columns - padded.first_w;
  const bool inside = h >= 0 && h < shape.h && w >= 0 && w < shape.w;
  return {(int64_t{outer} * shape.inner + inner) * samples + in_plane,
          inside ? outer * shape.outer_stride + inner * shape.inner_stride + h * shape.h_stride +
                       w * shape.w_stride
                 : -1};
}

__global__ void __launch_bounds__(kThreads)
    pad_kernel(const float* tensor, TensorPlanes shape, PaddedPlane padded, float* planes) {
  const Sample at = sample(shape, padded);
  if (at.dense >= 0) planes[at.dense] = at.element < 0 ? 0.0f : tensor[at.element];
}

__global__ void __launch_bounds__(kThreads)
    crop_kernel(const float* planes, PaddedPlane padded, float scale, TensorPlanes shape, float* tensor) {
  const Sample at = sample(shape, padded);
  if (at.element >= 0) tensor[at.element] = scale * planes[at.dense];
}

// A block transposes 32 x 32 numbers in shared memory; its 8 rows of threads take 4 rows each.
struct TransposeTile {
  static constexpr int side = 32, thread_rows = 8;
};

__global__ void __launch_bounds__(TransposeTile::side* TransposeTile::thread_rows)
    transpose_kernel(const float2* from, int64_t rows, int64_t columns, float2* to) {
  __shared__ __align__(16) float2 tile[TransposeTile::side][TransposeTile::side + 1];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int64_t column_tiles = (columns + TransposeTile::side - 1) / TransposeTile::side;
  const int64_t first_column = blockIdx.x % column_tiles * TransposeTile::side;
  const int64_t first_row = blockIdx.x / column_tiles * TransposeTile::side;
  UNROLL
  for (int i = y; i < TransposeTile::side; i += TransposeTile::thread_rows)
    if (first_row + i < rows && first_column + x < columns)
      tile[i][x] = from[(first_row + i) * columns + first_column + x];
  __syncthreads();
  UNROLL
  for (int i = y; i < TransposeTile::side; i += TransposeTile::thread_rows)
    if (first_column + i < columns && first_row + x < rows)
      to[(first_column + i) * rows + first_row + x] = tile[x][i];
}

unsigned sample_blocks(const TensorPlanes& shape, const PaddedPlane& padded) {
  const int64_t samples = int64_t{shape.outer} * shape.inner * padded.rows * padded.columns;
  return static_cast<unsigned>(ceil_div(samples, kThreads));
}

}  // namespace

void pad_planes(const float* tensor, const TensorPlanes& shape, const PaddedPlane& padded, float* planes,
                Queue& queue) {
  launch(pad_kernel, sample_blocks(shape, padded), kThreads, 0, queue, tensor, shape, padded, planes);
}

void crop_planes(const float* planes, const PaddedPlane& padded, float scale, const TensorPlanes& shape,
                 float* tensor, Queue& queue) {
  launch(crop_kernel, sample_blocks(shape, padded), kThreads, 0, queue, planes, padded, scale, shape, tensor);
}

void transpose_spectra(const float2* from, int64_t rows, int64_t columns, float2* to, Queue& queue) {
  const int64_t tiles = ceil_div(rows, TransposeTile::side) * ceil_div(columns, TransposeTile::side);
  launch(transpose_kernel, static_cast<unsigned>(tiles),
         dim3(TransposeTile::side, TransposeTile::thread_rows), 0, queue, from, rows, columns, to);
}

}  // namespace convscope::CONVSCOPE_KERNELS

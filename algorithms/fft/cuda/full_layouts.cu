// See full_kernels.hpp. Bound by memory: consecutive threads read and write consecutive elements.
#include "algorithms/fft/cuda/full_kernels.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 256;

// The element of the tensor that is sample (row, column) of an image, or -1. Consecutive threads have
// consecutive samples of an image, or, where that is how the tensor lies, consecutive images.
struct Sample {
  int64_t dense, element;
};
__device__ __forceinline__ Sample sample(const TensorImages& shape, const PaddedImage& image) {
  // There are less than 2^31 samples in all.
  const auto samples = static_cast<unsigned>(image.rows * image.columns);
  const auto inner_count = static_cast<unsigned>(shape.inner);
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
  const bool neighbours = shape.inner_stride == 1;
  const unsigned in_image = neighbours ? thread / inner_count % samples : thread % samples;
  const unsigned inner = neighbours ? thread % inner_count : thread / samples % inner_count;
  const unsigned outer = thread / samples / inner_count;
  if (outer >= static_cast<unsigned>(shape.outer)) return {-1, -1};
  const int h = static_cast<int>(in_image) / image.columns - image.first_h;
  const int w = static_cast<int>(in_image) % image.columns - image.first_w;
  const bool inside = h >= 0 && h < shape.h && w >= 0 && w < shape.w;
  return {(int64_t{outer} * shape.inner + inner) * samples + in_image,
          inside ? outer * shape.outer_stride + inner * shape.inner_stride + h * shape.h_stride +
                       w * shape.w_stride
                 : -1};
}

__global__ void __launch_bounds__(kThreads)
    pad_kernel(const float* tensor, TensorImages shape, PaddedImage image, float* images) {
  const Sample at = sample(shape, image);
  if (at.dense >= 0) images[at.dense] = at.element < 0 ? 0.0f : tensor[at.element];
}

__global__ void __launch_bounds__(kThreads)
    crop_kernel(const float* images, PaddedImage image, float scale, TensorImages shape, float* tensor) {
  const Sample at = sample(shape, image);
  if (at.element >= 0) tensor[at.element] = scale * images[at.dense];
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

unsigned sample_blocks(const TensorImages& shape, const PaddedImage& image) {
  const int64_t samples = int64_t{shape.outer} * shape.inner * image.rows * image.columns;
  return static_cast<unsigned>((samples + kThreads - 1) / kThreads);
}

}  // namespace

void pad_images(const float* tensor, const TensorImages& shape, const PaddedImage& image, float* images,
                Queue& queue) {
  launch(pad_kernel, sample_blocks(shape, image), kThreads, 0, queue, tensor, shape, image, images);
}

void crop_images(const float* images, const PaddedImage& image, float scale, const TensorImages& shape,
                 float* tensor, Queue& queue) {
  launch(crop_kernel, sample_blocks(shape, image), kThreads, 0, queue, images, image, scale, shape, tensor);
}

void transpose_spectra(const float2* from, int64_t rows, int64_t columns, float2* to, Queue& queue) {
  const int64_t tiles = (rows + TransposeTile::side - 1) / TransposeTile::side *
                        ((columns + TransposeTile::side - 1) / TransposeTile::side);
  launch(transpose_kernel, static_cast<unsigned>(tiles),
         dim3(TransposeTile::side, TransposeTile::thread_rows), 0, queue, from, rows, columns, to);
}

}  // namespace convscope::CONVSCOPE_KERNELS

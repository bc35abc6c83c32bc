// Two-dimensional real transforms of 16x16 and 32x32 tiles and their inverses, one plane by half or a quarter
// of a warp. Twiddles and butterflies are in codelet.cuh; the plan is tiled_plan.cu. Start at TileShape.
#include "algorithms/common/tally.hpp"
#include "algorithms/fft/cuda/codelet.cuh"
#include "algorithms/fft/cuda/tiled_kernels.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// Thread l of a plane holds its columns l and l + size / 2 as one complex column: two real transforms for the
// price of a complex one. Then it holds row l of the spectrum, thread 0 the rows 0 and size / 2, which are
// the spectra of real columns, again as one complex row. Nobody idles, nothing is computed twice.
template <int Size>
struct TileShape {
  static constexpr int half = Size / 2, plane_threads = half;
  static constexpr int planes = planes_per_block(Size);  // 64 or 128 bytes of every bin
  static constexpr int threads = planes * plane_threads;
  static constexpr int row = Size + 1;  // float2 from row to row: odd, so that columns have no conflicts
  // float2 from plane to plane: at least 2 + half * row - 1, and half a sector of banks apart modulo 16, so
  // that the planes of a bin (8 x 2 bins or 16 x 1) have no conflicts.
  static constexpr int plane = Size == 32 ? 530 : 145;
  static constexpr int bins = tile_bins(Size);
  // Where bin b of a plane lies in shared memory: rows of the spectrum `row` apart here too.
  static __device__ __forceinline__ int position(int bin) { return bin + (bin - 2) / Size; }
};
static_assert(TileShape<32>::plane % 16 == 2 && TileShape<16>::plane % 16 == 1);

// The group, other and lane of a block; lanes of the last block may lie behind the end.
struct BlockPlanes {
  int64_t group;
  int other, first_lane;
};
template <int Size>
__device__ __forceinline__ BlockPlanes block_planes(const TiledPlanes& planes) {
  const int lane_blocks = (planes.lane_count + TileShape<Size>::planes - 1) / TileShape<Size>::planes;
  const int block = static_cast<int>(blockIdx.x), other = block / lane_blocks;
  return {other / planes.other_count, other % planes.other_count,
          block % lane_blocks * TileShape<Size>::planes};
}

// Where one plane's samples are in the tensor.
class PlaneView {
 public:
  __device__ PlaneView(const TiledPlanes& planes, const BlockPlanes& block, int plane)
      : h_(planes.h), w_(planes.w), inside_(block.first_lane + plane < planes.lane_count) {
    if (!inside_) return;
    const PlaneOrigin lane = planes.lanes[block.first_lane + plane], other = planes.others[block.other];
    first_h_ = lane.h + other.h;
    first_w_ = lane.w + other.w;
    offset_ = block.group * planes.group_stride + lane.offset + other.offset;
  }
  // The element of sample (i, j), or -1 where there is none.
  __device__ __forceinline__ int64_t element(int i, int j) const {
    const int h = first_h_ + i * h_.step, w = first_w_ + j * w_.step;
    const bool there =
        inside_ && i < h_.window && j < w_.window && h >= 0 && h < h_.extent && w >= 0 && w < w_.extent;
    return there ? offset_ + h * h_.stride + w * w_.stride : -1;
  }

 private:
  PlaneAxis h_, w_;
  bool inside_;
  int first_h_ = 0, first_w_ = 0;
  int64_t offset_ = 0;
};

// Columns l and l + half of the thread's plane, straight from the tensor.
template <int Size>
__device__ __forceinline__ void load_columns(const float* tensor, const PlaneView& view, int l,
                                             float (&re)[Size], float (&im)[Size]) {
  UNROLL
  for (int i = 0; i < Size; ++i) {
    const int64_t first = view.element(i, l), second = view.element(i, l + Size / 2);
    re[i] = first < 0 ? 0.0f : __ldg(tensor + first);
    im[i] = second < 0 ? 0.0f : __ldg(tensor + second);
  }
}

// The same by way of shared memory, for planes that are neighbours in the tensor: the block reads sample
// after sample of all its planes.
template <int Size>
__device__ __forceinline__ void load_columns_of_neighbours(const float* tensor, const TiledPlanes& planes,
                                                           const BlockPlanes& block, float2* shared, int l,
                                                           float (&re)[Size], float (&im)[Size]) {
  using Shape = TileShape<Size>;
  const int plane = static_cast<int>(threadIdx.x) % Shape::planes;
  const PlaneView view(planes, block, plane);
  auto* samples = reinterpret_cast<float*>(shared);
  UNROLL
  for (int round = 0; round < Size * Size / Shape::plane_threads; ++round) {
    const int i = static_cast<int>(threadIdx.x) / Shape::planes + round * Shape::plane_threads;
    const int64_t element = view.element(i / Size, i % Size);
    samples[2 * plane * Shape::plane + i] = element < 0 ? 0.0f : __ldg(tensor + element);
  }
  __syncthreads();
  const float* mine = samples + 2 * (static_cast<int>(threadIdx.x) / Shape::plane_threads) * Shape::plane;
  UNROLL
  for (int i = 0; i < Size; ++i) {
    re[i] = mine[i * Size + l];
    im[i] = mine[i * Size + l + Size / 2];
  }
  __syncwarp();
}

// From transformed pairs of columns to rows of the spectrum; `rows` is the plane's shared memory.
template <int Size>
__device__ __forceinline__ void columns_to_rows(float2* rows, int l, float (&re)[Size], float (&im)[Size]) {
  constexpr int half = Size / 2, row = TileShape<Size>::row;
  constexpr int middle = place<Size>(half);
  rows[l] = make_float2(re[0], re[middle]);
  rows[l + half] = make_float2(im[0], im[middle]);
  UNROLL
  for (int u = 1; u < half; ++u) {
    const int a = place<Size>(u), b = place<Size>(Size - u);
    rows[u * row + l] = make_float2(0.5f * (re[a] + re[b]), 0.5f * (im[a] - im[b]));
    rows[u * row + l + half] = make_float2(0.5f * (im[a] + im[b]), 0.5f * (re[b] - re[a]));
  }
  __syncwarp();
  UNROLL
  for (int v = 0; v < Size; ++v) {
    const float2 x = rows[l * row + v];
    re[v] = x.x;
    im[v] = x.y;
  }
  __syncwarp();
}

// The thread's row of the spectrum, or its two rows, to their places in shared memory.
template <int Size>
__device__ __forceinline__ void put_row(float2* spectrum, int l, const float (&re)[Size],
                                        const float (&im)[Size]) {
  constexpr int half = Size / 2;
  if (l == 0) {
    UNROLL
    for (int v = 0; v <= half; ++v) {
      const int a = place<Size>(v), b = place<Size>((Size - v) % Size);
      spectrum[v] = make_float2(0.5f * (re[a] + re[b]), 0.5f * (im[a] - im[b]));
      spectrum[half + 1 + v] = make_float2(0.5f * (im[a] + im[b]), 0.5f * (re[b] - re[a]));
    }
  } else {
    UNROLL
    for (int v = 0; v < Size; ++v)
      spectrum[2 + l * TileShape<Size>::row + v] = make_float2(re[place<Size>(v)], im[place<Size>(v)]);
  }
}

template <int Size>
__device__ __forceinline__ void take_row(const float2* spectrum, int l, float (&re)[Size],
                                         float (&im)[Size]) {
  constexpr int half = Size / 2;
  if (l == 0) {
    UNROLL
    for (int v = 0; v <= half; ++v) {
      const float2 a = spectrum[v], b = spectrum[half + 1 + v];
      re[(Size - v) % Size] = a.x + b.y;
      im[(Size - v) % Size] = b.x - a.y;
      re[v] = a.x - b.y;
      im[v] = a.y + b.x;
    }
  } else {
    UNROLL
    for (int v = 0; v < Size; ++v) {
      const float2 a = spectrum[2 + l * TileShape<Size>::row + v];
      re[v] = a.x;
      im[v] = a.y;
    }
  }
  __syncwarp();
}

// From inversely transformed rows to spectra of pairs of columns.
template <int Size>
__device__ __forceinline__ void rows_to_columns(float2* rows, int l, float (&re)[Size], float (&im)[Size]) {
  constexpr int half = Size / 2, row = TileShape<Size>::row;
  UNROLL
  for (int w = 0; w < Size; ++w) rows[l * row + w] = make_float2(re[place<Size>(w)], im[place<Size>(w)]);
  __syncwarp();
  const float2 first = rows[l], second = rows[l + half];
  re[0] = first.x;
  im[0] = second.x;
  re[half] = first.y;
  im[half] = second.y;
  UNROLL
  for (int u = 1; u < half; ++u) {
    const float2 a = rows[u * row + l], b = rows[u * row + l + half];
    re[u] = a.x - b.y;
    im[u] = a.y + b.x;
    re[Size - u] = a.x + b.y;
    im[Size - u] = b.x - a.y;
  }
  __syncwarp();
}

// Copies all bins of the block's planes from shared memory to the spectra or back. Planes behind the last
// lane come back as zeros.
template <int Size, bool ToSpectra>
__device__ __forceinline__ void copy_bins(const TiledPlanes& planes, const BlockPlanes& block,
                                          const ComplexSpectra& spectra, float2* shared) {
  using Shape = TileShape<Size>;
  const int plane = static_cast<int>(threadIdx.x) % Shape::planes, lane = block.first_lane + plane;
  const bool there = lane < planes.lane_count;
  if (ToSpectra && !there) return;
  float2* global =
      spectra.data + block.group * spectra.group_stride + block.other * spectra.other_stride + lane;
  for (int bin = static_cast<int>(threadIdx.x) / Shape::planes; bin < Shape::bins;
       bin += Shape::plane_threads) {
    float2* local = shared + plane * Shape::plane + Shape::position(bin);
    if constexpr (ToSpectra)
      global[bin * spectra.bin_stride] = *local;
    else
      *local = there ? global[bin * spectra.bin_stride] : make_float2(0, 0);
  }
}

template <int Size>
__global__ void __launch_bounds__(TileShape<Size>::threads)
    transform_kernel(const float* tensor, TiledPlanes planes, ComplexSpectra spectra) {
  using Shape = TileShape<Size>;
  __shared__ __align__(16) float2 shared[Shape::planes * Shape::plane];
  const int plane = static_cast<int>(threadIdx.x) / Shape::plane_threads;
  const int l = static_cast<int>(threadIdx.x) % Shape::plane_threads;
  const BlockPlanes block = block_planes<Size>(planes);
  float2* mine = shared + plane * Shape::plane;
  float re[Size], im[Size];
  if (planes.lanes_contiguous)
    load_columns_of_neighbours<Size>(tensor, planes, block, shared, l, re, im);
  else
    load_columns<Size>(tensor, PlaneView(planes, block, plane), l, re, im);
  if (threadIdx.x == 0) tally_transform(Shape::planes * plane_flops(Size, false));
  fft(re, im);
  columns_to_rows<Size>(mine, l, re, im);
  fft(re, im);
  put_row<Size>(mine, l, re, im);
  __syncthreads();
  copy_bins<Size, true>(planes, block, spectra, shared);
}

template <int Size>
__global__ void __launch_bounds__(TileShape<Size>::threads)
    invert_kernel(ComplexSpectra spectra, TiledPlanes planes, float* tensor) {
  using Shape = TileShape<Size>;
  __shared__ __align__(16) float2 shared[Shape::planes * Shape::plane];
  const int plane = static_cast<int>(threadIdx.x) / Shape::plane_threads;
  const int l = static_cast<int>(threadIdx.x) % Shape::plane_threads;
  const BlockPlanes block = block_planes<Size>(planes);
  float2* mine = shared + plane * Shape::plane;
  float re[Size], im[Size];
  copy_bins<Size, false>(planes, block, spectra, shared);
  __syncthreads();
  take_row<Size>(mine, l, re, im);
  if (threadIdx.x == 0) tally_transform(Shape::planes * plane_flops(Size, true));
  fft(im, re);
  rows_to_columns<Size>(mine, l, re, im);
  fft(im, re);

  constexpr float scale = 1.0f / (Size * Size);
  if (!planes.lanes_contiguous) {
    const PlaneView view(planes, block, plane);
    UNROLL
    for (int i = 0; i < Size; ++i) {
      const int64_t first = view.element(i, l), second = view.element(i, l + Size / 2);
      if (first >= 0) tensor[first] = scale * re[place<Size>(i)];
      if (second >= 0) tensor[second] = scale * im[place<Size>(i)];
    }
    return;
  }
  auto* samples = reinterpret_cast<float*>(shared);
  UNROLL
  for (int i = 0; i < Size; ++i) {
    samples[2 * plane * Shape::plane + i * Size + l] = scale * re[place<Size>(i)];
    samples[2 * plane * Shape::plane + i * Size + l + Size / 2] = scale * im[place<Size>(i)];
  }
  __syncthreads();
  const int neighbour = static_cast<int>(threadIdx.x) % Shape::planes;
  const PlaneView view(planes, block, neighbour);
  for (int i = static_cast<int>(threadIdx.x) / Shape::planes; i < Size * Size; i += Shape::plane_threads) {
    const int64_t element = view.element(i / Size, i % Size);
    if (element >= 0) tensor[element] = samples[2 * neighbour * Shape::plane + i];
  }
}

template <int Size>
unsigned block_count(const TiledPlanes& planes) {
  const int64_t lane_blocks = ceil_div(planes.lane_count, TileShape<Size>::planes);
  return static_cast<unsigned>(lane_blocks * planes.other_count * planes.groups);
}

}  // namespace

void transform_planes(int size, const float* tensor, const TiledPlanes& planes, const ComplexSpectra& spectra,
                      Queue& queue) {
  if (size == 32)
    launch(transform_kernel<32>, block_count<32>(planes), TileShape<32>::threads, 0, queue, tensor, planes,
           spectra);
  else
    launch(transform_kernel<16>, block_count<16>(planes), TileShape<16>::threads, 0, queue, tensor, planes,
           spectra);
}

void invert_planes(int size, const ComplexSpectra& spectra, const TiledPlanes& planes, float* tensor,
                   Queue& queue) {
  if (size == 32)
    launch(invert_kernel<32>, block_count<32>(planes), TileShape<32>::threads, 0, queue, spectra, planes,
           tensor);
  else
    launch(invert_kernel<16>, block_count<16>(planes), TileShape<16>::threads, 0, queue, spectra, planes,
           tensor);
}

}  // namespace convscope::CONVSCOPE_KERNELS

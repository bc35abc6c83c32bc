// The product of spectra: for every frequency bin a complex matrix product with the second operand
// conjugated. All bins and groups are one launch. Start at struct ProductTile.
//
// A complex multiply-add takes three real ones: of a = (ar, ai) and b = (br, bi) the sums of ar br, ai bi and
// (ar + ai) (br - bi) are kept, and a conj(b) is (first + second, third - first + second). The sums of an
// operand's parts are made once for a thread's whole row or column.
#include "algorithms/common/tally.hpp"
#include "algorithms/common/tma_ring.cuh"
#include "algorithms/fft/cuda/tiled_kernels.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// The sums of a block's tile that each of 128 threads has: row + 2 RowThreads i + {0, 1} and column +
// 2 ColumnThreads j + {0, 1}, so that a warp reads neighbouring pairs of A and of B with one load each.
template <int Rows, int Columns, int RowThreads>
struct Share {
  static constexpr int kThreads = 128, kColumnThreads = kThreads / RowThreads;
  static constexpr int kTileRows = Rows, kTileColumns = Columns;
  static constexpr int kRows = Rows / RowThreads, kColumns = Columns / kColumnThreads;
  static constexpr int kRowStep = 2 * RowThreads, kColumnStep = 2 * kColumnThreads;
  static_assert(Rows % kRowStep == 0 && Columns % kColumnStep == 0);

  // Of ar br, of ai bi, and of (ar + ai) (br - bi).
  struct Sums {
    float real[kRows][kColumns], imaginary[kRows][kColumns], crossed[kRows][kColumns];
    __device__ __forceinline__ float2 at(int i, int j) const {
      return make_float2(real[i][j] + imaginary[i][j], crossed[i][j] - real[i][j] + imaginary[i][j]);
    }
  };
  // Warps are 2x2 in the tile.
  static __device__ __forceinline__ int row() {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    return 2 * (warp / 2 * (RowThreads / 2) + lane / (kColumnThreads / 2));
  }
  static __device__ __forceinline__ int column() {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    return 2 * (warp % 2 * (kColumnThreads / 2) + lane % (kColumnThreads / 2));
  }
};

// On sm_90a a producer warp brings the slices by TMA, 16 steps at a time. Outside the unnamed namespace, as
// other architectures do not use all of it, which nvcc would report.
template <int Rows, int Columns, int RowThreads>
struct TmaSpectralTile {
  using Part = Share<Rows, Columns, RowThreads>;
  static constexpr int kDepth = staged_steps(true), kStages = 4;
  static constexpr int kConsumerThreads = Part::kThreads, kConsumerWarps = 4,
                       kThreads = kConsumerThreads + 32;
  static constexpr int kABytes = Rows * kDepth * static_cast<int>(sizeof(float2));
  static constexpr int kBBytes = Columns * kDepth * static_cast<int>(sizeof(float2));
  static constexpr int kStageBytes = kABytes + kBBytes;
  static_assert(kABytes % 128 == 0 && kStageBytes % 128 == 0);
};

namespace {

constexpr int kThreads = 128, kDepth = staged_steps(false), kStages = 3;
static_assert(kDepth == product_steps(false));

// A block computes Rows x columns complex sums, Rows / 8 x 4 per thread: with 64 rows a thread reads 12
// complex numbers from shared memory for 96 multiply-adds. Slices of kDepth steps arrive by asynchronous
// copies in a ring of kStages.
template <int Rows>
struct ProductTile {
  static constexpr int columns = kProductColumns;
  using Part = Share<Rows, columns, 8>;
  // A row of A's slice is 2 float2 longer, so that it can be written along depth without conflicts: 8 steps
  // of depth fall on 8 pairs of banks, the next row on those between.
  static constexpr int a_row = Rows + 2;

  float2 a[kStages][kDepth][a_row];
  float2 b[kStages][kDepth][columns];
};

// Where this block works.
struct BlockTile {
  const float2 *a, *b;
  float2* y;
  int row, column, matrix;
};
template <int Rows, int columns>
__device__ __forceinline__ BlockTile block_tile(const SpectralProduct& p) {
  const int row_tiles = (p.rows + Rows - 1) / Rows, column_tiles = (p.columns + columns - 1) / columns;
  const int block = static_cast<int>(blockIdx.x), matrix = block / (row_tiles * column_tiles);
  const int64_t bin = matrix % p.bins, group = matrix / p.bins;
  const auto start = [&](const ComplexSpectra& s) {
    return s.data + group * s.group_stride + bin * s.bin_stride;
  };
  return {start(p.a),
          start(p.b),
          start(p.y),
          block % row_tiles * Rows,
          block / row_tiles % column_tiles * columns,
          matrix};
}

// Brings slice after slice of one operand to shared memory, [kDepth][Row] there, of which Count positions are
// filled. Stored [depth][position] it is read two positions at a time by neighbouring threads; Transposed,
// stored [position][depth], one at a time, 8 neighbouring threads reading the 8 steps of a position. Zero
// outside the matrix.
template <bool Transposed, int Count, int Row>
class SliceCopy {
 public:
  __device__ SliceCopy(const float2* matrix, int64_t stride, int first, int count, int depth)
      : stride_(stride),
        step_(Transposed ? thread() % kDepth : thread() / kPairs),
        position_(Transposed ? thread() / kDepth : thread() % kPairs * 2),
        count_(count - first - position_),
        steps_(depth - step_) {
    const int64_t position = first + position_;
    from_ = matrix + (Transposed ? position * stride + step_ : step_ * stride + position);
  }

  __device__ __forceinline__ void next(float2 (&slice)[kDepth][Row]) {
    UNROLL
    for (int round = 0; round < kRounds; ++round) {
      if (!Transposed && kSpan > kDepth && step_ >= kDepth) break;  // more threads than copies
      const float2* from = from_ + round * kSpan * stride_;
      const int wanted = count_ - (Transposed ? round * kSpan : 0);
      const bool there = steps_ > (Transposed ? 0 : round * kSpan) && wanted > 0;
      tally_staged(steps_ + step_ > 0 ? (Transposed ? 8 : 16) : 0);
      if constexpr (Transposed)
        cp_async<8>(&slice[step_][position_ + round * kSpan], from, there ? 8 : 0);
      else
        cp_async<16>(&slice[step_ + round * kSpan][position_], from, there ? wanted > 1 ? 16 : 8 : 0);
    }
    from_ += Transposed ? kDepth : kDepth * stride_;
    steps_ -= kDepth;
  }

 private:
  static constexpr int kPairs = Count / 2;  // of a step
  // Positions or steps that all threads cover at once, and how often they do it for a slice.
  static constexpr int kSpan = kThreads / (Transposed ? kDepth : kPairs);
  static constexpr int kRounds = ((Transposed ? Count : kDepth) + kSpan - 1) / kSpan;
  static_assert(!Transposed || Count % kSpan == 0);
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }

  const float2* from_;
  int64_t stride_;
  int step_, position_;  // of this thread in the slice
  int count_, steps_;    // of positions and steps from there to the end of the matrix
};

// Two neighbours in shared memory with one load.
__device__ __forceinline__ void load_pair(const float2* from, float2& first, float2& second) {
  const float4 both = *reinterpret_cast<const float4*>(from);
  first = make_float2(both.x, both.y);
  second = make_float2(both.z, both.w);
}

// One step of the depth: a line of rows of A and a line of columns of B, from this thread's first ones on.
template <typename Part>
__device__ __forceinline__ void multiply_step(const float2* a_line, const float2* b_line,
                                              typename Part::Sums& sums) {
  float2 a[Part::kRows], b[Part::kColumns];
  UNROLL
  for (int i = 0; i < Part::kRows; i += 2) load_pair(a_line + i / 2 * Part::kRowStep, a[i], a[i + 1]);
  UNROLL
  for (int j = 0; j < Part::kColumns; j += 2) load_pair(b_line + j / 2 * Part::kColumnStep, b[j], b[j + 1]);
  float a_sum[Part::kRows], b_difference[Part::kColumns];
  UNROLL
  for (int i = 0; i < Part::kRows; ++i) a_sum[i] = a[i].x + a[i].y;
  UNROLL
  for (int j = 0; j < Part::kColumns; ++j) b_difference[j] = b[j].x - b[j].y;
  UNROLL
  for (int i = 0; i < Part::kRows; ++i) {
    UNROLL
    for (int j = 0; j < Part::kColumns; ++j) sums.real[i][j] += a[i].x * b[j].x;
    UNROLL
    for (int j = 0; j < Part::kColumns; ++j) sums.imaginary[i][j] += a[i].y * b[j].y;
    UNROLL
    for (int j = 0; j < Part::kColumns; ++j) sums.crossed[i][j] += a_sum[i] * b_difference[j];
  }
  tally_product(flops_of_step(Part::kRows, Part::kColumns));
}

// Two sums at a time; the strides are even, so the second one of the last pair has a place.
template <typename Part>
__device__ __forceinline__ void store_sums(const SpectralProduct& p, const BlockTile& block, int row,
                                           int column, const typename Part::Sums& sums) {
  UNROLL
  for (int i = 0; i < Part::kRows; ++i) {
    const int y_row = block.row + row + i / 2 * Part::kRowStep + i % 2;
    if (y_row >= p.rows) continue;
    UNROLL
    for (int j = 0; j < Part::kColumns; j += 2) {
      const int y_column = block.column + column + j / 2 * Part::kColumnStep;
      if (y_column >= p.columns) continue;
      auto* y = reinterpret_cast<float4*>(block.y + y_row * p.y.other_stride + y_column);
      const float2 first = sums.at(i, j), second = sums.at(i, j + 1);
      float4 value = make_float4(first.x, first.y, second.x, second.y);
      if (p.accumulate) {
        const float4 old = *y;
        value = make_float4(value.x + old.x, value.y + old.y, value.z + old.z, value.w + old.w);
      }
      *y = value;
    }
  }
}

template <int Rows, bool AByDepth>
__global__ void __launch_bounds__(kThreads, 3) product_kernel(SpectralProduct p) {
  using Tile = ProductTile<Rows>;
  using Part = typename Tile::Part;
  __shared__ __align__(16) Tile tile;
  const BlockTile block = block_tile<Rows, Tile::columns>(p);
  const int row = Part::row(), column = Part::column();
  SliceCopy<!AByDepth, Rows, Tile::a_row> a(block.a, p.a.other_stride, block.row, p.rows, p.depth);
  SliceCopy<false, Tile::columns, Tile::columns> b(block.b, p.b.other_stride, block.column, p.columns,
                                                   p.depth);
  typename Part::Sums sums = {};

  // Slices behind the end come as zeros.
  const auto copy_stage = [&](int stage) {
    a.next(tile.a[stage]);
    b.next(tile.b[stage]);
    cp_async_commit_group();
  };
  for (int stage = 0; stage < kStages - 1; ++stage) copy_stage(stage);
  int stage = 0, free_stage = kStages - 1;
  for (int k = 0; k < p.depth; k += kDepth) {
    cp_async_wait_group<kStages - 2>();
    __syncthreads();  // the slice has come for all, and nobody reads the stage that is filled next
    copy_stage(free_stage);
    UNROLL
    for (int step = 0; step < kDepth; ++step)
      multiply_step<Part>(tile.a[stage][step] + row, tile.b[stage][step] + column, sums);
    free_stage = stage;
    stage = stage + 1 < kStages ? stage + 1 : 0;
  }
  cp_async_wait_group<0>();
  store_sums<Part>(p, block, row, column, sums);
}

// A step of a stage, [step][row] of A and then [step][column] of B.
template <typename T>
__device__ __forceinline__ void multiply_step_of(const unsigned char* stage, int step, int row, int column,
                                                 typename T::Part::Sums& sums) {
  using Part = typename T::Part;
  const auto* const a = reinterpret_cast<const float2*>(stage);
  const auto* const b = reinterpret_cast<const float2*>(stage + T::kABytes);
  multiply_step<Part>(a + step * Part::kTileRows + row, b + step * Part::kTileColumns + column, sums);
}

// As many blocks a multiprocessor as have room for their sums in its registers.
template <int Rows, int Columns, int RowThreads>
__global__ void __launch_bounds__(TmaSpectralTile<Rows, Columns, RowThreads>::kThreads,
                                  Rows* Columns <= 32 * 64 ? 4 : 3)
    tma_product_kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                       const SpectralProduct p) {
  using T = TmaSpectralTile<Rows, Columns, RowThreads>;
  using Part = typename T::Part;
  if constexpr (kHopperInstructions) {
    const Ring<T> ring = start_ring<T>();
    __syncthreads();
    const BlockTile block = block_tile<Rows, Columns>(p);
    if (threadIdx.x >= T::kConsumerThreads) {
      if (!elect_lane()) return;
      fill_ring<T>(ring, (p.depth + T::kDepth - 1) / T::kDepth,
                   [&](int number, unsigned char* stage, uint64_t* arrived) {
                     const int step = number * T::kDepth;
                     tma_load_4d(stage, &a, arrived, 2 * block.row, step, block.matrix, 0);
                     tma_load_4d(stage + T::kABytes, &b, arrived, 2 * block.column, step, block.matrix, 0);
                   });
      return;
    }
    const int row = Part::row(), column = Part::column();
    typename Part::Sums sums = {};
    RingReader<T> reader{ring};
    for (int i = 0; i < p.depth / T::kDepth; ++i) {
      const unsigned char* const stage = reader.next();
      UNROLL
      for (int step = 0; step < T::kDepth; ++step) multiply_step_of<T>(stage, step, row, column, sums);
      reader.release();
    }
    if (const int left = p.depth % T::kDepth; left > 0) {
      const unsigned char* const stage = reader.next();
      for (int step = 0; step < left; ++step) multiply_step_of<T>(stage, step, row, column, sums);
    }
    store_sums<Part>(p, block, row, column, sums);
  }
}

// The spectra of all bins and groups, [matrix][other][lane], and boxes of a slice.
TensorMap spectra_map(const ComplexSpectra& spectra, int lanes, int others, int matrices, int box_lanes,
                      int box_others) {
  TensorMapLayout layout;
  layout.swizzle = TmaSwizzle::none;
  layout.base = spectra.data;
  layout.rank = 4;
  const int64_t size[3] = {2 * int64_t{lanes}, others, matrices};
  const int64_t stride[3] = {spectra.other_stride, spectra.bin_stride, spectra.bin_stride * matrices};
  for (int i = 0; i < 3; ++i) {
    layout.size[i] = static_cast<uint64_t>(size[i]);
    layout.stride_bytes[i] = static_cast<uint64_t>(stride[i]) * sizeof(float2);
  }
  layout.box[0] = 2 * box_lanes;
  layout.box[1] = box_others;
  return make_tensor_map(layout);
}

template <int Rows, int Columns, int RowThreads>
void launch_tma_product(const SpectralProduct& p, Queue& queue) {
  using T = TmaSpectralTile<Rows, Columns, RowThreads>;
  const int matrices = p.bins * p.groups;
  const int64_t tiles = ceil_div(p.rows, Rows) * ceil_div(p.columns, Columns);
  launch(tma_product_kernel<Rows, Columns, RowThreads>, static_cast<unsigned>(tiles * matrices), T::kThreads,
         ring_bytes<T>(), queue, spectra_map(p.a, p.rows, p.depth, matrices, Rows, T::kDepth),
         spectra_map(p.b, p.columns, p.depth, matrices, Columns, T::kDepth), p);
}

template <int Rows>
void launch_product(const SpectralProduct& p, Queue& queue) {
  constexpr int columns = ProductTile<Rows>::columns;
  const int64_t tiles = ceil_div(p.rows, Rows) * ceil_div(p.columns, columns);
  launch(p.a_by_depth ? product_kernel<Rows, true> : product_kernel<Rows, false>,
         static_cast<unsigned>(tiles * p.bins * p.groups), kThreads, 0, queue, p);
}

}  // namespace

void multiply_spectra(const SpectralProduct& p, Queue& queue) {
  const ProductShape shape = product_shape(p.rows, p.columns, p.by_tma);
  if (shape.rows == 16) return launch_product<16>(p, queue);
  if (!p.by_tma) return launch_product<64>(p, queue);
  if (shape.columns == 48) return launch_tma_product<64, 48, 16>(p, queue);
  if (shape.rows == 48) return launch_tma_product<48, 64, 8>(p, queue);
  launch_tma_product<32, 64, 8>(p, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS

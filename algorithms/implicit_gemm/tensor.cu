// Tensor cores by mma.m16n8k8 on f32 tensors: tf32, whose operands are rounded to 11 bits, and 3xtf32, which
// adds the products with the other bits, a_rest b + a b_rest + a b, and is as exact as FP32. Copies, padding
// and stores are operand_ring.hpp's.
#include "algorithms/implicit_gemm/operand_ring.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// A warp computes kRowTiles x kColumnTiles products of 16x8. The padding of 8 spreads the 4 depths and 8 rows
// that a warp reads at once over all 32 banks.
template <int Rows, int Columns, int Threads, int WarpRows>
struct TensorShape : BlockShape<Rows, Columns, Threads, implicit_gemm::kTensorDepth, 4, 8> {
  static constexpr int kWarpColumns = 32;
  static constexpr int kRowTiles = WarpRows / 16, kColumnTiles = kWarpColumns / 8;
  static constexpr int kWarpsAcross = Columns / kWarpColumns;
  static constexpr int kSlice = kWarpsAcross * 8;  // columns of one product of all warps
  // On a multiprocessor, so that the registers suffice: 128, 168 and 255 of a thread.
  template <bool Exact>
  static constexpr int blocks() {
    return Threads == 256 ? (Exact ? 1 : 2) : 3;
  }
  static_assert(Rows / WarpRows * kWarpsAcross * 32 == Threads);
};

// An operand of the tensor cores as rounded to tf32, and with Exact what the rounding left.
template <int Count, bool Exact>
struct Fragment {
  uint32_t high[Count];
  uint32_t rest[Exact ? Count : 1];
  __device__ __forceinline__ void set(int i, float value) {
    high[i] = to_tf32(value);
    if constexpr (Exact) rest[i] = to_tf32(value - __uint_as_float(high[i]));
  }
};

template <typename Shape, bool Exact>
__global__ void __launch_bounds__(Shape::kThreads, Shape::template blocks<Exact>())
    tensor_product(const __grid_constant__ IndexMap map, const float* __restrict__ a,
                   const float* __restrict__ b, float* __restrict__ d, float* __restrict__ partials,
                   int splits) {
  auto& shared = *dynamic_smem<Shared<Shape>>();
  const Part part = part_of_block<Shape>(map, splits);

  // As in the description of mma: lane = 4 * g + t.
  const int g = static_cast<int>(threadIdx.x) % 32 / 4, t = static_cast<int>(threadIdx.x) % 4;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / Shape::kWarpsAcross * Shape::kRowTiles * 16 + g;
  const int across = warp % Shape::kWarpsAcross;
  float sums[Shape::kRowTiles][Shape::kColumnTiles][4] = {};

  for_each_tile<Shape>(map, a, b, part, shared, [&](const float* a_tile, const float* b_tile) {
    UNROLL
    for (int depth = 0; depth < Shape::kDepth; depth += 8) {
      const float* const left = a_tile + (depth + t) * Shape::kRowPitch + row;
      const float* const right =
          b_tile + (depth + t) * Shape::kColumnPitch + across * Shape::kWarpColumns + g;
      Fragment<2, Exact> of_b[Shape::kColumnTiles];
      UNROLL
      for (int j = 0; j < Shape::kColumnTiles; ++j) UNROLL
      for (int h = 0; h < 2; ++h) of_b[j].set(h, right[4 * h * Shape::kColumnPitch + 8 * j]);
      UNROLL
      for (int i = 0; i < Shape::kRowTiles; ++i) {
        Fragment<4, Exact> of_a;
        UNROLL
        for (int h = 0; h < 4; ++h) of_a.set(h, left[h / 2 * 4 * Shape::kRowPitch + 16 * i + h % 2 * 8]);
        // The small products first, and no two in a row to the same sums.
        if constexpr (Exact) {
          UNROLL
          for (int j = 0; j < Shape::kColumnTiles; ++j)
            mma_m16n8k8_tf32(sums[i][j], of_a.rest, of_b[j].high, sums[i][j]);
          UNROLL
          for (int j = 0; j < Shape::kColumnTiles; ++j)
            mma_m16n8k8_tf32(sums[i][j], of_a.high, of_b[j].rest, sums[i][j]);
        }
        UNROLL
        for (int j = 0; j < Shape::kColumnTiles; ++j)
          mma_m16n8k8_tf32(sums[i][j], of_a.high, of_b[j].high, sums[i][j]);
      }
    }
  });

  // Only now, so that the loop has its registers.
  const Writer<Shape> writer(map, d, partials, static_cast<int>(blockIdx.z) % splits, part, shared);
  UNROLL
  for (int j = 0; j < Shape::kColumnTiles; ++j) {
    UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) UNROLL
    for (int h = 0; h < 4; ++h)
      shared.ring[(across * 8 + 2 * t + h % 2) * Writer<Shape>::kSlicePitch + row + 16 * i + h / 2 * 8] =
          sums[i][j][h];
    __syncthreads();
    writer.template store<Shape::kSlice, 8, Shape::kWarpColumns>(8 * j);
    __syncthreads();
  }
}

template <typename Shape>
void launch_tensor(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors,
                   Queue& queue) {
  const auto kernel =
      product.math == MathMode::tf32 ? tensor_product<Shape, false> : tensor_product<Shape, true>;
  launch(kernel, grid_of<Shape>(product.map, product.cut.splits), Shape::kThreads, sizeof(Shared<Shape>),
         queue, product.map, tensors.a, tensors.b, tensors.d, tensors.partials, product.cut.splits);
}

}  // namespace

void implicit_gemm_tensor(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors,
                          Queue& queue) {
  const implicit_gemm::Tile& tile = product.cut.tile;
  if (tile.columns == 128) return launch_tensor<TensorShape<128, 128, 256, 64>>(product, tensors, queue);
  if (tile.rows == 128) return launch_tensor<TensorShape<128, 64, 128, 64>>(product, tensors, queue);
  launch_tensor<TensorShape<64, 64, 128, 32>>(product, tensors, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS

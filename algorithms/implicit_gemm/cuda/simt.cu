// FP32 multiply-adds without tensor cores: 8 x 8 or 8 x 4 sums per thread, which reads four rows and four
// columns at a time as float4. Copies, padding and stores are operand_ring.hpp's.
#include "algorithms/implicit_gemm/cuda/operand_ring.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// The lanes of a warp are 4 down and 8 across: their reads of a depth are 4 and 8 different float4, one
// wavefront each.
template <int Rows, int Columns, int Threads, int ThreadColumns>
struct SimtShape : BlockShape<Rows, Columns, Threads, implicit_gemm::kSimtDepth, 4, 4> {
  static constexpr int kColumnQuads = ThreadColumns / 4;  // and two quads of rows
  static constexpr int kWarpsAcross = Columns / ThreadColumns / 8;
  static constexpr int kSlice = Columns / kColumnQuads;   // columns of one quad of all threads
  static constexpr int kBlocks = Threads == 256 ? 2 : 3;  // on a multiprocessor: 128 and 168 registers
  static_assert(Rows * Columns == Threads * 8 * ThreadColumns);
};

__device__ __forceinline__ void read_quad(float* to, const float* from) {
  const float4 quad = *reinterpret_cast<const float4*>(from);
  to[0] = quad.x, to[1] = quad.y, to[2] = quad.z, to[3] = quad.w;
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    simt_product(const __grid_constant__ IndexMap map, const float* __restrict__ a,
                 const float* __restrict__ b, float* __restrict__ d, float* __restrict__ partials, int splits,
                 int piece, Finish finish) {
  constexpr int kQuads = Shape::kColumnQuads;
  auto& shared = *dynamic_smem<Shared<Shape>>();

  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row = (warp / Shape::kWarpsAcross * 4 + lane / 8) * 4;
  const int column = (warp % Shape::kWarpsAcross * 8 + lane % 8) * 4;
  float sums[8][4 * kQuads] = {};

  for_each_tile<Shape>(map, a, b, splits, piece, shared, [&](const float* a_tile, const float* b_tile) {
    UNROLL
    for (int depth = 0; depth < Shape::kDepth; ++depth) {
      float left[8], right[4 * kQuads];
      UNROLL
      for (int q = 0; q < 2; ++q)
        read_quad(left + 4 * q, a_tile + depth * Shape::kRowPitch + q * (Shape::kRows / 2) + row);
      UNROLL
      for (int q = 0; q < kQuads; ++q)
        read_quad(right + 4 * q, b_tile + depth * Shape::kColumnPitch + q * Shape::kSlice + column);
      UNROLL
      for (int i = 0; i < 8; ++i) UNROLL
      for (int j = 0; j < 4 * kQuads; ++j) sums[i][j] += left[i] * right[j];
    }
    tally_product(2 * 8 * 4 * kQuads * Shape::kDepth);
  });

  // Only now, so that the loop has its registers.
  const Writer<Shape, float> writer(map, d, partials, static_cast<int>(blockIdx.z) % splits, piece, shared,
                                    finish);
  UNROLL
  for (int q = 0; q < kQuads; ++q) {
    UNROLL
    for (int j = 0; j < 4; ++j) UNROLL
    for (int h = 0; h < 2; ++h) {
      const int i = 4 * h, c = 4 * q + j;
      float* const to =
          shared.ring + (column + j) * Writer<Shape, float>::kSlicePitch + h * (Shape::kRows / 2) + row;
      *reinterpret_cast<float4*>(to) =
          make_float4(sums[i][c], sums[i + 1][c], sums[i + 2][c], sums[i + 3][c]);
    }
    __syncthreads();
    writer.template store<Shape::kSlice, Shape::kSlice, Shape::kSlice>(q * Shape::kSlice);
    __syncthreads();
  }
}

template <typename Shape>
void launch_piece(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors, int piece,
                  Queue& queue) {
  const int splits = product.tiling.splits;
  launch(simt_product<Shape>, grid_of<Shape>(product.map, splits), Shape::kThreads, sizeof(Shared<Shape>),
         queue, product.map, static_cast<const float*>(tensors.a), static_cast<const float*>(tensors.b),
         static_cast<float*>(tensors.d), tensors.partials, splits, piece,
         finish_of(product.epilogue, tensors.bias));
}

template <typename Shape>
void launch_simt(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors, Queue& queue) {
  for_each_piece<Shape>(product, [&](int piece, bool finishes) {
    (finishes ? launch_piece<Finishing<Shape>> : launch_piece<Shape>)(product, tensors, piece, queue);
  });
}

}  // namespace

void implicit_gemm_simt(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors,
                        Queue& queue) {
  const implicit_gemm::Tile& tile = product.tiling.tile;
  if (tile.columns == 128) return launch_simt<SimtShape<128, 128, 256, 8>>(product, tensors, queue);
  if (tile.columns == 32) return launch_simt<SimtShape<128, 32, 128, 4>>(product, tensors, queue);
  if (tile.rows == 128) return launch_simt<SimtShape<128, 64, 128, 8>>(product, tensors, queue);
  launch_simt<SimtShape<64, 64, 128, 4>>(product, tensors, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS

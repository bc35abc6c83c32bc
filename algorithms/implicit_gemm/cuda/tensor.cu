// Tensor cores by mma.sync. On f32 tensors tf32, whose operands are rounded to 11 bits, and 3xtf32, which
// adds the products with the other bits, a_rest b + a b_rest + a b, and is as exact as FP32. 16-bit tensors
// in pairs where neighbouring depths are neighbours in memory, else widened. Sums are FP32 always. Copies,
// padding and stores are operand_ring.hpp's.
#include "algorithms/implicit_gemm/cuda/operand_ring.hpp"

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
  // On a multiprocessor, so that the registers suffice: 128, 168 and 255 per thread.
  template <bool Exact>
  static constexpr int blocks() {
    if (Exact && Rows == 128) return 256 / Threads;
    return Threads == 256 ? 2 : 3;
  }
  static_assert(Rows / WarpRows * kWarpsAcross * 32 == Threads);
};

// What a row of the table of math modes multiplies: Loaded is how the copies see an element of A and B. Fresh
// are sums of their own for a few depths.
struct Tf32 {
  using Loaded = float;
  using Output = float;
  static constexpr bool kExact = false, kPaired = false, kFresh = false;
};
struct Tf32x3 : Tf32 {
  static constexpr bool kExact = true, kFresh = true;
};
// 16-bit elements one by one, widened to tf32, which holds them all. D has no room for sums of pieces: so one
// sum may be any length.
template <typename Element>
struct Widened {
  using Loaded = Element;
  using Output = Element;
  static constexpr bool kExact = false, kPaired = false, kFresh = true;
};
// Two 16-bit elements of neighbouring depths in a word of the ring: what mma.m16n8k16 has in a register. For
// forward only, whose sums are not long.
template <typename Element>
struct Paired {
  using Loaded = float;
  using Output = Element;
  static constexpr bool kExact = false, kPaired = true, kFresh = false;
};

// An operand of the tensor cores; in 3xtf32 also what rounding to tf32 left of it.
template <int Count, typename Math>
struct Fragment {
  uint32_t high[Count];
  uint32_t rest[Math::kExact ? Count : 1];
  __device__ __forceinline__ void set(int i, float value) {
    constexpr bool rounds = sizeof(typename Math::Output) == 4;
    high[i] = rounds ? to_tf32(value) : __float_as_uint(value);
    if constexpr (Math::kExact) rest[i] = to_tf32(value - __uint_as_float(high[i]));
  }
};

template <typename Math>
__device__ __forceinline__ void multiply_add(float (&sums)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2]) {
  if constexpr (Math::kPaired)
    mma_m16n8k16<typename Math::Output>(sums, a, b, sums);
  else
    mma_m16n8k8_tf32(sums, a, b, sums);
}

// What a warp needs of eight depths of B: its kColumnTiles operands.
template <typename Shape, typename Math>
__device__ __forceinline__ void load_columns(Fragment<2, Math> (&of_b)[Shape::kColumnTiles],
                                             const float* right) {
  UNROLL
  for (int j = 0; j < Shape::kColumnTiles; ++j) UNROLL
  for (int h = 0; h < 2; ++h) of_b[j].set(h, right[4 * h * Shape::kColumnPitch + 8 * j]);
}

// And of A, of 16 rows.
template <typename Shape, typename Math>
__device__ __forceinline__ void load_rows(Fragment<4, Math>& of_a, const float* left) {
  UNROLL
  for (int h = 0; h < 4; ++h) of_a.set(h, left[h / 2 * 4 * Shape::kRowPitch + h % 2 * 8]);
}

// Adds a tile's products to a thread's sums; left and right are where its first operands lie. No two
// products in a row go to the same sums.
template <typename Shape, typename Math>
__device__ __forceinline__ void multiply_tile(float (&sums)[Shape::kRowTiles][Shape::kColumnTiles][4],
                                              const float* left, const float* right) {
  UNROLL
  for (int depth = 0; depth < Shape::kDepth; depth += 8) {
    Fragment<2, Math> of_b[Shape::kColumnTiles];
    load_columns<Shape, Math>(of_b, right + depth * Shape::kColumnPitch);
    UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) {
      Fragment<4, Math> of_a;
      load_rows<Shape, Math>(of_a, left + depth * Shape::kRowPitch + 16 * i);
      UNROLL
      for (int j = 0; j < Shape::kColumnTiles; ++j) multiply_add<Math>(sums[i][j], of_a.high, of_b[j].high);
    }
  }
}

// The same where a long sum must not be cut at every product, as a tensor core does (docs/emulator.md): a few
// depths have sums of their own, to which 3xtf32 adds the small products first, and those are added to the
// thread's with rounding. As many depths as the registers allow.
template <typename Shape, typename Math>
__device__ __forceinline__ void multiply_tile_freshly(float (&sums)[Shape::kRowTiles][Shape::kColumnTiles][4],
                                                      const float* left, const float* right) {
  constexpr int kEighths = Math::kExact ? Shape::kDepth / 8 : 1;
  UNROLL
  for (int depth = 0; depth < Shape::kDepth; depth += 8 * kEighths) {
    Fragment<2, Math> of_b[kEighths][Shape::kColumnTiles];
    UNROLL
    for (int e = 0; e < kEighths; ++e)
      load_columns<Shape, Math>(of_b[e], right + (depth + 8 * e) * Shape::kColumnPitch);
    UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) {
      Fragment<4, Math> of_a[kEighths];
      UNROLL
      for (int e = 0; e < kEighths; ++e)
        load_rows<Shape, Math>(of_a[e], left + (depth + 8 * e) * Shape::kRowPitch + 16 * i);
      float fresh[Shape::kColumnTiles][4] = {};
      if constexpr (Math::kExact) {
        UNROLL
        for (int e = 0; e < kEighths; ++e) {
          UNROLL
          for (int j = 0; j < Shape::kColumnTiles; ++j)
            multiply_add<Math>(fresh[j], of_a[e].rest, of_b[e][j].high);
          UNROLL
          for (int j = 0; j < Shape::kColumnTiles; ++j)
            multiply_add<Math>(fresh[j], of_a[e].high, of_b[e][j].rest);
        }
      }
      UNROLL
      for (int e = 0; e < kEighths; ++e) UNROLL
      for (int j = 0; j < Shape::kColumnTiles; ++j)
        multiply_add<Math>(fresh[j], of_a[e].high, of_b[e][j].high);
      UNROLL
      for (int j = 0; j < Shape::kColumnTiles; ++j) UNROLL
      for (int h = 0; h < 4; ++h) sums[i][j][h] += fresh[j][h];
    }
  }
}

template <typename Shape, typename Math>
__global__ void __launch_bounds__(Shape::kThreads, Shape::template blocks<Math::kExact>())
    tensor_product(const __grid_constant__ IndexMap map, const typename Math::Loaded* __restrict__ a,
                   const typename Math::Loaded* __restrict__ b, typename Math::Output* __restrict__ d,
                   float* __restrict__ partials, int splits, int piece, Finish finish) {
  auto& shared = *dynamic_smem<Shared<Shape>>();

  // As in the description of mma: lane = 4 * g + t.
  const int g = static_cast<int>(threadIdx.x) % 32 / 4, t = static_cast<int>(threadIdx.x) % 4;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / Shape::kWarpsAcross * Shape::kRowTiles * 16 + g;
  const int across = warp % Shape::kWarpsAcross;
  float sums[Shape::kRowTiles][Shape::kColumnTiles][4] = {};

  for_each_tile<Shape>(map, a, b, splits, piece, shared, [&](const float* a_tile, const float* b_tile) {
    const float* const left = a_tile + t * Shape::kRowPitch + row;
    const float* const right = b_tile + t * Shape::kColumnPitch + across * Shape::kWarpColumns + g;
    if constexpr (Math::kFresh)
      multiply_tile_freshly<Shape, Math>(sums, left, right);
    else
      multiply_tile<Shape, Math>(sums, left, right);
    constexpr int kTimes = Math::kExact ? 3 : Math::kPaired ? 2 : 1;
    tally_product(2 * kTimes * Shape::kRows * Shape::kColumns * Shape::kDepth / Shape::kThreads);
  });

  // Only now, so that the loop has its registers.
  const Writer<Shape, typename Math::Output> writer(map, d, partials, static_cast<int>(blockIdx.z) % splits,
                                                    piece, shared, finish);
  UNROLL
  for (int j = 0; j < Shape::kColumnTiles; ++j) {
    UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) UNROLL
    for (int h = 0; h < 4; ++h)
      shared.ring[(across * 8 + 2 * t + h % 2) * Writer<Shape, typename Math::Output>::kSlicePitch + row +
                  16 * i + h / 2 * 8] = sums[i][j][h];
    __syncthreads();
    writer.template store<Shape::kSlice, 8, Shape::kWarpColumns>(8 * j);
    __syncthreads();
  }
}

template <typename Shape, typename Math>
void launch_piece(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors, int piece,
                  Queue& queue) {
  using Loaded = typename Math::Loaded;
  const int splits = product.tiling.splits;
  launch(tensor_product<Shape, Math>, grid_of<Shape>(product.map, splits), Shape::kThreads,
         sizeof(Shared<Shape>), queue, product.map, static_cast<const Loaded*>(tensors.a),
         static_cast<const Loaded*>(tensors.b), static_cast<typename Math::Output*>(tensors.d),
         tensors.partials, splits, piece, finish_of(product.epilogue, tensors.bias));
}

using Large = TensorShape<128, 128, 256, 64>;
using Medium = TensorShape<128, 64, 128, 64>;
using Small = TensorShape<64, 64, 128, 32>;

template <typename Math>
void launch_f32(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors, Queue& queue) {
  const implicit_gemm::Tile& tile = product.tiling.tile;
  const auto in_tiles = [&]<typename Shape>() {
    for_each_piece<Shape>(product, [&](int piece, bool finishes) {
      (finishes ? launch_piece<Finishing<Shape>, Math> : launch_piece<Shape, Math>)(product, tensors, piece,
                                                                                    queue);
    });
  };
  if (tile.columns == 128) return in_tiles.template operator()<Large>();
  if (tile.rows == 128) return in_tiles.template operator()<Medium>();
  in_tiles.template operator()<Small>();
}

template <typename Element>
void launch_16(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors, Queue& queue) {
  if (!product.paired) return launch_piece<Medium, Widened<Element>>(product, tensors, kWhole, queue);
  if (product.tiling.tile.columns == 128)
    return launch_piece<Large, Paired<Element>>(product, tensors, kWhole, queue);
  launch_piece<Small, Paired<Element>>(product, tensors, kWhole, queue);
}

}  // namespace

void implicit_gemm_tensor(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors,
                          Queue& queue) {
  if (product.math == MathMode::tf32) return launch_f32<Tf32>(product, tensors, queue);
  if (product.math == MathMode::tf32x3) return launch_f32<Tf32x3>(product, tensors, queue);
  if (product.math == MathMode::fp16) return launch_16<__half>(product, tensors, queue);
  launch_16<__nv_bfloat16>(product, tensors, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS

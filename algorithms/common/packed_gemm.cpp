// The micro-kernel for each instruction set: an outer product a step, A broadcast, B in whole vectors, C in
// registers from the first step to the last. Start at Kernel; the exported functions are at the end.
#include "algorithms/common/packed_gemm.hpp"

#include <cstddef>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/common/packed_gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convscope::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

// Rows times two vectors of accumulators, two of B and one broadcast must fit in the register file: 32
// registers for AVX-512 and NEON, 16 for the others.
constexpr int kLanes = HWY_LANES(float);
constexpr int kRows = kLanes == 16 || HWY_ARCH_ARM_A64 ? 14 : 6;
constexpr int kVectors = 2;
constexpr int kColumns = kVectors * kLanes;
constexpr int kLine = 16;  // floats

struct Block {
  const float* a;
  const float* b;
  float* c;
  int64_t a_stride, c_stride;
  int64_t depth;
  GemmMode mode;
  const float* ahead;  // fetched into the second cache meanwhile, `ahead_step` floats a step of depth
  int64_t ahead_step;
};

HWY_INLINE void store(Vector value, float* to, GemmMode mode) {
  const Tag tag;
  if (mode == GemmMode::add) value = hn::Add(hn::LoadU(tag, to), value);
  if (mode == GemmMode::subtract) value = hn::Sub(hn::LoadU(tag, to), value);
  hn::StoreU(value, tag, to);
}

// A register block of Rows x kColumns. Contiguous: the rows of A lie side by side (a[k * a_stride + row]),
// otherwise one after the other (a[row * a_stride + k]).
template <int Rows, bool Contiguous>
HWY_NOINLINE void kernel(const Block& block) {
  const Tag tag;
  Vector sum[Rows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) sum[i][0] = sum[i][1] = hn::Zero(tag);

  for (int i = 0; i < Rows; ++i)  // C is on its way while the sums are made
    for (const int at : {0, kLanes, kColumns - 1}) __builtin_prefetch(block.c + i * block.c_stride + at, 1);

  const float* HWY_RESTRICT a = block.a;
  const float* HWY_RESTRICT b = block.b;
  const float* ahead = block.ahead;
  const int64_t stride = block.a_stride;
  for (int64_t k = 0; k < block.depth; ++k) {
    const Vector b0 = hn::Load(tag, b), b1 = hn::Load(tag, b + kLanes);
    b += kColumns;
    __builtin_prefetch(ahead, 0, 2);
    ahead += block.ahead_step;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vector value = hn::Set(tag, Contiguous ? a[i] : a[i * stride]);
      sum[i][0] = hn::MulAdd(value, b0, sum[i][0]);
      sum[i][1] = hn::MulAdd(value, b1, sum[i][1]);
    }
    a += Contiguous ? stride : 1;
  }

#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    store(sum[i][0], block.c + i * block.c_stride, block.mode);
    store(sum[i][1], block.c + i * block.c_stride + kLanes, block.mode);
  }
}

using Kernel = void (*)(const Block&);
template <bool Contiguous>
struct Kernels {
  template <size_t... I>
  explicit constexpr Kernels(std::index_sequence<I...>)
      : of{kernel<static_cast<int>(I) + 1, Contiguous>...} {}
  Kernel of[kRows];  // of[n - 1] computes n rows
};
constexpr Kernels<true> kContiguous{std::make_index_sequence<kRows>{}};
constexpr Kernels<false> kStrided{std::make_index_sequence<kRows>{}};

// The last panel where it is not full: the block goes to the stack and its used columns from there to C.
HWY_NOINLINE void edge(Kernel kernel_of_rows, const Block& block, int64_t rows, int64_t columns) {
  HWY_ALIGN float whole[kRows * kColumns];
  kernel_of_rows({block.a, block.b, whole, block.a_stride, int64_t{kColumns}, block.depth,
                  GemmMode::overwrite, block.ahead, block.ahead_step});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const float value = whole[i * kColumns + j];
      float& to = block.c[i * block.c_stride + j];
      to = block.mode == GemmMode::overwrite ? value : block.mode == GemmMode::add ? to + value : to - value;
    }
}

GemmShape shape() {
  return {kRows, kColumns};
}

// A as rows a[row][k] or, transposed, a[k][row]. Its blocks are dealt out evenly: 16 rows as 8 + 8 rather
// than 14 + 2. While a panel is multiplied the one behind it in memory is fetched, a share with each block;
// callers go on there, so that holds for the last panel too.
void product(const float* a, int64_t a_stride, bool transposed, const float* b, float* c, int64_t c_stride,
             int64_t rows, int64_t columns, int64_t depth, GemmMode mode, Ahead ahead) {
  const Kernel* const kernel_of = transposed ? kContiguous.of : kStrided.of;
  const int64_t row_step = transposed ? 1 : a_stride;
  const int64_t blocks = (rows + kRows - 1) / kRows;
  for (int64_t j = 0; j < columns; j += kColumns) {
    const int64_t width = HWY_MIN(int64_t{kColumns}, columns - j);
    for (int64_t n = 0; n < blocks; ++n) {
      const int64_t begin = n * rows / blocks, end = (n + 1) * rows / blocks;
      const Kernel kernel_of_rows = kernel_of[end - begin - 1];
      const int64_t share = kColumns / blocks;
      const Ahead next = ahead.from != nullptr
                             ? Ahead{ahead.from + (j / kColumns * blocks + n) * kLine, ahead.step}
                             : Ahead{b + (j + kColumns) * depth + n * depth * share, share};
      const Block block{a + begin * row_step,
                        b + j * depth,
                        c + begin * c_stride + j,
                        a_stride,
                        c_stride,
                        depth,
                        mode,
                        next.from,
                        next.step};
      if (width == kColumns)
        kernel_of_rows(block);
      else
        edge(kernel_of_rows, block, end - begin, width);
    }
  }
}

}  // namespace
}  // namespace convscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {

HWY_EXPORT(shape);
HWY_EXPORT(product);

GemmShape gemm_shape() {
  return HWY_DYNAMIC_DISPATCH(shape)();
}

void gemm_rows(const float* a, int64_t a_stride, const float* b, float* c, int64_t c_stride, int64_t rows,
               int64_t columns, int64_t depth, GemmMode mode, Ahead ahead) {
  HWY_DYNAMIC_DISPATCH(product)
  (a, a_stride, false, b, c, c_stride, rows, columns, depth, mode, ahead);
}

void gemm_columns(const float* a, int64_t a_stride, const float* b, float* c, int64_t c_stride, int64_t rows,
                  int64_t columns, int64_t depth, GemmMode mode, Ahead ahead) {
  HWY_DYNAMIC_DISPATCH(product)
  (a, a_stride, true, b, c, c_stride, rows, columns, depth, mode, ahead);
}

}  // namespace convscope
#endif  // HWY_ONCE

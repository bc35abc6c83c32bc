// The micro-kernel for each instruction set: an outer product a step, A broadcast, B in whole vectors, C in
// registers from the first step to the last. Start at Kernel; the exported functions are at the end.
#include "algorithms/common/packed_gemm.hpp"

#include <cstddef>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/common/packed_gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "algorithms/common/partial_vectors-inl.hpp"

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
// Rows of B that are fetched into the first cache before they are needed.
constexpr int kRowsAhead = 16;

struct Block {
  const float* a;
  const float* b;
  float* c;
  int64_t a_stride, b_stride, c_stride;
  int64_t depth;
  size_t columns;  // used, of the panel
  GemmMode mode;
  const float* ahead;  // fetched into the second cache meanwhile, `ahead_step` floats a step of depth
  int64_t ahead_step;
};

HWY_INLINE void store(Vector value, float* to, size_t count, GemmMode mode) {
  const Tag tag;
  const bool whole = count == kLanes;
  if (mode != GemmMode::overwrite) {
    const Vector before = whole ? hn::LoadU(tag, to) : load_partial(tag, to, count);
    value = mode == GemmMode::add ? hn::Add(before, value) : hn::Sub(before, value);
  }
  if (whole)
    hn::StoreU(value, tag, to);
  else
    store_partial(value, tag, to, count);
}

// What is read of a panel: whole vectors, or its used columns only, in two vectors or in one.
enum class Reads { panel, two_vectors, one_vector };

// A register block of Rows x kColumns or less. Contiguous: the rows of A lie side by side
// (a[k * a_stride + row]), otherwise one after the other (a[row * a_stride + k]).
template <int Rows, bool Contiguous, Reads Width>
HWY_NOINLINE void kernel(const Block& block) {
  constexpr bool two = Width != Reads::one_vector;
  const Tag tag;
  Vector sum[Rows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) sum[i][0] = sum[i][1] = hn::Zero(tag);

  const size_t first = HWY_MIN(block.columns, size_t{kLanes}), second = block.columns - first;
  // C is on its way while the sums are made, a row at a time: all at once would hold up the loads of A and B.
  const float* c_ahead = block.c;
  const float* const c_end = block.c + Rows * block.c_stride;
  const int64_t c_wait = HWY_MAX(block.depth / (2 * Rows), int64_t{1});
  int64_t c_next = 0;

  const float* HWY_RESTRICT b = block.b;
  const float* ahead = block.ahead;
  // Five rows from each of these, so that the addresses fit into the registers.
  const int64_t stride = block.a_stride;
  const float *a = block.a, *a5 = a + 5 * stride, *a10 = a5 + 5 * stride;
  const int64_t b_ahead = kRowsAhead * block.b_stride;
  for (int64_t k = 0; k < block.depth; ++k) {
    const Vector b0 = two ? hn::LoadU(tag, b) : load_partial(tag, b, first);
    Vector b1 = b0;
    if constexpr (Width == Reads::panel) b1 = hn::LoadU(tag, b + kLanes);
    if constexpr (Width == Reads::two_vectors) b1 = load_partial(tag, b + kLanes, second);
    __builtin_prefetch(b + b_ahead);
    __builtin_prefetch(b + b_ahead + kColumns - 1);
    b += block.b_stride;
    __builtin_prefetch(ahead, 0, 2);
    ahead += block.ahead_step;
    if (k == c_next) {
      for (const size_t at : {size_t{0}, first, block.columns - 1}) __builtin_prefetch(c_ahead + at, 1);
      c_ahead += block.c_stride;
      c_next = c_ahead == c_end ? -1 : k + c_wait;
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const float* const row = i < 5 ? a : i < 10 ? a5 : a10;
      const Vector value = hn::Set(tag, Contiguous ? a[i] : row[i % 5 * stride]);
      sum[i][0] = hn::MulAdd(value, b0, sum[i][0]);
      if constexpr (two) sum[i][1] = hn::MulAdd(value, b1, sum[i][1]);
    }
    a += Contiguous ? stride : 1;
    ++a5;
    ++a10;
  }

#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    float* const c = block.c + i * block.c_stride;
    store(sum[i][0], c, first, block.mode);
    if (two && second > 0) store(sum[i][1], c + kLanes, second, block.mode);
  }
}

using Kernel = void (*)(const Block&);
template <bool Contiguous, Reads Width>
struct Kernels {
  template <size_t... I>
  explicit constexpr Kernels(std::index_sequence<I...>)
      : of{kernel<static_cast<int>(I) + 1, Contiguous, Width>...} {}
  Kernel of[kRows];  // of[n - 1] computes n rows
};
template <bool Contiguous, Reads Width>
constexpr Kernels<Contiguous, Width> kKernels{std::make_index_sequence<kRows>{}};

template <bool Contiguous>
const Kernel* kernels(Reads width) {
  switch (width) {
    case Reads::panel:
      return kKernels<Contiguous, Reads::panel>.of;
    case Reads::two_vectors:
      return kKernels<Contiguous, Reads::two_vectors>.of;
    case Reads::one_vector:
      return kKernels<Contiguous, Reads::one_vector>.of;
  }
  return nullptr;
}

// A packed panel is whole in memory.
Reads reads(int64_t columns, bool packed) {
  if (columns == kColumns || (packed && !kMasks)) return Reads::panel;
  return columns > kLanes ? Reads::two_vectors : Reads::one_vector;
}

GemmShape shape() {
  return {kRows, kColumns};
}

// A as rows a[row][k] or, transposed, a[k][row]. Its blocks are dealt out evenly: 16 rows as 8 + 8 rather
// than 14 + 2. While a panel is multiplied the next one is fetched, a share with each block; callers go on
// there, so that holds for the last panel too.
void product(const float* a, int64_t a_stride, bool transposed, GemmPanels panels, float* c, int64_t c_stride,
             int64_t rows, int64_t columns, int64_t depth, GemmMode mode, Ahead ahead) {
  const bool packed = panels.stride == 0;
  const int64_t row_step = transposed ? 1 : a_stride, b_stride = packed ? kColumns : panels.stride;
  const int64_t panel_step = packed ? kColumns * depth : kColumns;
  const int64_t blocks = (rows + kRows - 1) / kRows;
  for (int64_t j = 0, panel = 0; j < columns; j += kColumns, ++panel) {
    const int64_t width = HWY_MIN(int64_t{kColumns}, columns - j);
    const Reads read = reads(width, packed);
    const Kernel* const kernel_of = transposed ? kernels<true>(read) : kernels<false>(read);
    const float* const b = panels.data + panel * panel_step;
    for (int64_t n = 0; n < blocks; ++n) {
      const int64_t begin = n * rows / blocks, end = (n + 1) * rows / blocks;
      const int64_t share = kColumns / blocks;
      const Ahead next = ahead.from != nullptr ? Ahead{ahead.from + (panel * blocks + n) * kLine, ahead.step}
                         : packed              ? Ahead{b + panel_step + n * depth * share, share}
                                               : Ahead{b + panel_step + n * kLine, b_stride};
      kernel_of[end - begin - 1]({a + begin * row_step, b, c + begin * c_stride + j, a_stride, b_stride,
                                  c_stride, depth, static_cast<size_t>(width), mode, next.from, next.step});
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

void gemm_rows(const float* a, int64_t a_stride, GemmPanels b, float* c, int64_t c_stride, int64_t rows,
               int64_t columns, int64_t depth, GemmMode mode, Ahead ahead) {
  HWY_DYNAMIC_DISPATCH(product)
  (a, a_stride, false, b, c, c_stride, rows, columns, depth, mode, ahead);
}

void gemm_columns(const float* a, int64_t a_stride, GemmPanels b, float* c, int64_t c_stride, int64_t rows,
                  int64_t columns, int64_t depth, GemmMode mode, Ahead ahead) {
  HWY_DYNAMIC_DISPATCH(product)
  (a, a_stride, true, b, c, c_stride, rows, columns, depth, mode, ahead);
}

}  // namespace convscope
#endif  // HWY_ONCE

// The micro-kernel for each instruction set: one outer product per step of the depth, A broadcast, B in whole
// vectors, C in registers from the first step to the last. Start at kernel(); the exported functions are at
// the end.
#include "algorithms/common/packed_gemm.hpp"

#include <cstddef>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/common/packed_gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "algorithms/common/partial_vectors-inl.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/common/tally.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

// Rows times vectors of accumulators, the vectors of B and one broadcast must fit in the register file: 32
// registers for AVX-512 and NEON, 16 for the others.
constexpr int kLanes = HWY_LANES(float);
constexpr int kRegisters = kLanes == 16 || HWY_ARCH_ARM_A64 ? 32 : 16;
constexpr int kVectors = 2;  // of a packed panel
constexpr int kColumns = kVectors * kLanes;
constexpr int kRows = (kRegisters - 1 - kVectors) / kVectors;
constexpr int max_rows(int vectors) {
  return HWY_MIN(kRows, (kRegisters - 1 - vectors) / vectors);
}
// Vectors of a B in rows where A is in rows too: each more of them reads A once less. With four of 16
// registers two rows would be left, too few multiply-adds for each load.
constexpr int kMaxVectors = kRegisters == 32 ? 4 : 3;
// Rows that are multiplied with all columns of such a B before the next rows, where the columns are several
// groups: some register tiles of each width.
constexpr int64_t kRowsTogether = 18;
constexpr int kLine = 16;  // floats
// The distance, in rows of B, of the prefetches into L1.
constexpr int kPrefetchedRows = 16;

// How a kernel loads B.
enum class Loads {
  prefetched,       // into L1, and into L2 what the caller asks for
  masked,           // likewise; of the last vector only the used columns
  streamed,         // without the prefetches into L1
  resident,         // without either
  masked_resident,  // both: masked, and without prefetches
};
constexpr bool is_masked(Loads how) {
  return how == Loads::masked || how == Loads::masked_resident;
}
constexpr bool is_resident(Loads how) {
  return how == Loads::resident || how == Loads::masked_resident;
}
// With 16 registers a step has 12 multiply-adds and 8 loads. Three prefetches more make it slower where
// another thread takes every second slot of the core, and a packed B is in L1 or a stream that the hardware
// follows.
constexpr bool kPrefetchesPacked = kRegisters == 32;

struct Block {
  const float* a;
  const float* b;
  float* c;
  int64_t a_stride, b_stride, c_stride;
  int64_t depth;
  size_t columns;  // used, of the panel
  GemmMode mode;
  const float* prefetched;  // into L2, `prefetch_step` floats per step of the depth
  int64_t prefetch_step;
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

// `last`: used columns of the last vector.
template <int Rows, int Vectors>
HWY_INLINE void store_tile(const Vector (&sum)[Rows][Vectors], const Block& block, size_t last) {
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      store(sum[i][v], block.c + i * block.c_stride + v * kLanes, v == Vectors - 1 ? last : size_t{kLanes},
            block.mode);
}

// A register tile of Rows x Vectors. Contiguous: neighbouring rows of A are neighbours in memory
// (a[k * a_stride + row]), otherwise neighbouring k are (a[row * a_stride + k]).
template <int Rows, int Vectors, bool Contiguous, Loads How>
HWY_NOINLINE void kernel(const Block& block) {
  tally_product(int64_t{2} * Rows * Vectors * kLanes * block.depth);
  const Tag tag;
  Vector sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sum[i][v] = hn::Zero(tag);

  constexpr bool kPrefetchesB = How == Loads::prefetched || How == Loads::masked;
  constexpr int kLast = (Vectors - 1) * kLanes;
  const size_t last = block.columns - size_t{kLast};
  const float* HWY_RESTRICT b = block.b;
  const float* prefetched = block.prefetched;
  // Five rows from each of these, so that the addresses fit into the registers.
  const int64_t stride = block.a_stride;
  const float *a = block.a, *a5 = a + 5 * stride, *a10 = a5 + 5 * stride;
  const int64_t b_distance = kPrefetchedRows * block.b_stride;
  const auto step = [&]() HWY_ATTR __attribute__((always_inline)) {
    Vector b_of[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      const float* const from = b + v * kLanes;
      b_of[v] = is_masked(How) && v == Vectors - 1 ? load_partial(tag, from, last) : hn::LoadU(tag, from);
      if (kPrefetchesB && v * kLanes % kLine == 0) __builtin_prefetch(from + b_distance);  // once a line
    }
    if constexpr (kPrefetchesB) __builtin_prefetch(b + b_distance + kLast + kLanes - 1);
    b += block.b_stride;
    if constexpr (!is_resident(How)) {
      __builtin_prefetch(prefetched, 0, 2);
      prefetched += block.prefetch_step;
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const float* const row = i < 5 ? a : i < 10 ? a5 : a10;
      const Vector value = hn::Set(tag, Contiguous ? a[i] : row[i % 5 * stride]);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sum[i][v] = hn::MulAdd(value, b_of[v], sum[i][v]);
    }
    a += Contiguous ? stride : 1;
    ++a5;
    ++a10;
  };
  // C is prefetched during the first steps, one vector per step: more at once would delay the loads of A and
  // B.
  const float* row = block.c;
  int64_t left = block.depth;
  for (int i = 0; i < Rows && left >= Vectors; ++i, row += block.c_stride, left -= Vectors) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      __builtin_prefetch(row + v * kLanes, 1);
      step();
    }
    __builtin_prefetch(row + block.columns - 1, 1);
  }
  for (; left > 0; --left) step();
  store_tile(sum, block, last);
}

using Kernel = void (*)(const Block&);
template <int Vectors, bool Contiguous, Loads How>
struct Kernels {
  template <size_t... I>
  explicit constexpr Kernels(std::index_sequence<I...>)
      : of{kernel<static_cast<int>(I) + 1, Vectors, Contiguous, How>...} {}
  Kernel of[max_rows(Vectors)];  // of[n - 1] computes n rows
};
template <int Vectors, bool Contiguous, Loads How>
constexpr Kernels<Vectors, Contiguous, How> kKernels{std::make_index_sequence<max_rows(Vectors)>{}};

// kernels(v)[n - 1] computes n rows of v vectors.
template <bool Contiguous, Loads How>
const Kernel* kernels(int64_t vectors) {
  if constexpr (!Contiguous) {
    if (vectors == 4) return kKernels<4, false, How>.of;
    if (vectors == 3) return kKernels<3, false, How>.of;
  }
  return vectors == 2 ? kKernels<2, Contiguous, How>.of : kKernels<1, Contiguous, How>.of;
}

template <bool Contiguous>
const Kernel* kernels(Loads how, int64_t vectors) {
  if (how == Loads::masked) return kernels<Contiguous, Loads::masked>(vectors);
  if constexpr (!kPrefetchesPacked) {
    if (how == Loads::streamed) return kernels<Contiguous, Loads::streamed>(vectors);
    if (how == Loads::resident) return kernels<Contiguous, Loads::resident>(vectors);
    if (how == Loads::masked_resident) return kernels<Contiguous, Loads::masked_resident>(vectors);
  }
  return kernels<Contiguous, Loads::prefetched>(vectors);
}

const Kernel* kernels(bool contiguous, Loads how, int64_t vectors) {
  return contiguous ? kernels<true>(how, vectors) : kernels<false>(how, vectors);
}

Loads loads_of_packed(const Prefetch& prefetch) {
  if (kPrefetchesPacked) return Loads::prefetched;
  return prefetch.from != nullptr && prefetch.step == 0 ? Loads::resident : Loads::streamed;
}
// Of a B in rows with `width` columns left, which a register tile before this one may have loaded.
Loads loads_of_rows(int64_t width, bool again) {
  const bool masked = width % kLanes != 0;
  if (again && !kPrefetchesPacked) return masked ? Loads::masked_resident : Loads::resident;
  return masked ? Loads::masked : Loads::prefetched;
}

GemmShape shape() {
  return {kRows, kColumns};
}

// A as rows a[row][k] or, transposed, a[k][row], in register blocks where `a_stride` is 0. Its rows are dealt
// out evenly to register tiles: 16 rows as 8 + 8 rather than 14 + 2. While a panel is multiplied the next one
// is prefetched, a share with each tile, or all with the first where the others make no prefetches; after
// the last panel too, as callers continue there.
void by_panels(const float* a, int64_t a_stride, bool transposed, GemmPanels panels, float* c,
               int64_t c_stride, int64_t rows, int64_t columns, int64_t depth, GemmMode mode,
               Prefetch prefetch) {
  const bool packed = panels.stride == 0, in_blocks = transposed && a_stride == 0;
  const int64_t row_step = in_blocks ? depth : transposed ? 1 : a_stride;
  const int64_t b_stride = packed ? kColumns : panels.stride;
  const int64_t panel_step = packed ? kColumns * depth : kColumns;
  const int64_t blocks = ceil_div(rows, kRows), share = ceil_div(kColumns, blocks);
  // Block n begins at row n * rows / blocks; with a small depth a division each would show.
  const int64_t min_count = rows / blocks, rest = rows % blocks;
  for (int64_t j = 0, panel = 0; j < columns; j += kColumns, ++panel) {
    const int64_t width = HWY_MIN(int64_t{kColumns}, columns - j), vectors = ceil_div(width, kLanes);
    const auto kernels_of = [&](bool again) {
      // A packed panel is whole in memory.
      return kernels(transposed, packed ? loads_of_packed(prefetch) : loads_of_rows(width, again), vectors);
    };
    const Kernel *const first = kernels_of(false), *const others = kernels_of(true);
    const float* const b = panels.data + panel * panel_step;
    for (int64_t n = 0, begin = 0, dealt = 0; n < blocks; ++n) {
      dealt += rest;
      const bool one_more = dealt >= blocks;
      if (one_more) dealt -= blocks;
      const int64_t count = min_count + (one_more ? 1 : 0);
      const Prefetch next =
          prefetch.from != nullptr
              ? Prefetch{prefetch.from + (panel * blocks + n) * prefetch.block, prefetch.step}
          : packed ? Prefetch{b + panel_step + n * depth * share, share}
                   : Prefetch{b + panel_step + n * kLine, b_stride};
      const Kernel* const kernel_of = n == 0 ? first : others;
      kernel_of[count - 1]({a + begin * row_step, b, c + begin * c_stride + j, in_blocks ? count : a_stride,
                            b_stride, c_stride, depth, static_cast<size_t>(width), mode, next.from,
                            next.step});
      begin += count;
    }
  }
}

// A and B in rows, neither packed: few rows of A at a time are multiplied with all columns, so that A is read
// from memory once and in long stretches, and B, which should fit in L2, once per register tile. The next
// rows of A are prefetched where the depth is their whole length.
void by_rows(const float* a, int64_t a_stride, GemmPanels b, float* c, int64_t c_stride, int64_t rows,
             int64_t columns, int64_t depth, GemmMode mode) {
  const int64_t vectors = ceil_div(columns, kLanes), groups = ceil_div(vectors, kMaxVectors);
  const int64_t row_step = groups == 1 ? rows : kRowsTogether;
  for (int64_t top = 0; top < rows; top += row_step) {
    const int64_t together = HWY_MIN(row_step, rows - top);
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t j = g * vectors / groups * kLanes;
      const int64_t width = HWY_MIN((g + 1) * vectors / groups * kLanes, columns) - j;
      const int64_t in_vectors = ceil_div(width, kLanes);
      const Kernel* const kernel_of = kernels(false, loads_of_rows(width, false), in_vectors);
      const int64_t blocks = ceil_div(together, max_rows(static_cast<int>(in_vectors)));
      for (int64_t n = 0; n < blocks; ++n) {
        const int64_t begin = top + n * together / blocks, end = top + (n + 1) * together / blocks;
        const float* const from = a + begin * a_stride;
        const int64_t prefetch_step = depth == a_stride && groups == 1 ? end - begin : 0;
        kernel_of[end - begin - 1]({from, b.data + j, c + begin * c_stride + j, a_stride, b.stride, c_stride,
                                    depth, static_cast<size_t>(width), mode, from + (end - begin) * a_stride,
                                    prefetch_step});
      }
    }
  }
}

void product(const float* a, int64_t a_stride, bool transposed, GemmPanels b, float* c, int64_t c_stride,
             int64_t rows, int64_t columns, int64_t depth, GemmMode mode, Prefetch prefetch) {
  if (!transposed && b.stride != 0)
    by_rows(a, a_stride, b, c, c_stride, rows, columns, depth, mode);
  else
    by_panels(a, a_stride, transposed, b, c, c_stride, rows, columns, depth, mode, prefetch);
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
               int64_t columns, int64_t depth, GemmMode mode, Prefetch prefetch) {
  HWY_DYNAMIC_DISPATCH(product)
  (a, a_stride, false, b, c, c_stride, rows, columns, depth, mode, prefetch);
}

void gemm_columns(const float* a, int64_t a_stride, GemmPanels b, float* c, int64_t c_stride, int64_t rows,
                  int64_t columns, int64_t depth, GemmMode mode, Prefetch prefetch) {
  HWY_DYNAMIC_DISPATCH(product)
  (a, a_stride, true, b, c, c_stride, rows, columns, depth, mode, prefetch);
}

}  // namespace convscope
#endif  // HWY_ONCE

// Our SGEMM: operands are packed into the panels of algorithms/common/packed_gemm, a block of A for L2 and a
// few panels of B for L1, unless the micro-kernel can read them in place. The loops around the micro-kernel
// are those of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008). What is
// packed and which thread does what is decided in sgemm_schedule. Start at Part::run.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/common/transpose.hpp"
#include "algorithms/im2col_gemm/cpu/gemm.hpp"
#include "algorithms/im2col_gemm/cpu/matrix_vector.hpp"
#include "algorithms/im2col_gemm/cpu/panels.hpp"
#include "algorithms/im2col_gemm/cpu/sgemm_schedule.hpp"

namespace convscope::im2col_gemm {
namespace {

constexpr int64_t kFloat = sizeof(float);
// A panel of B of this depth fills L1.
constexpr int64_t kMaxDepth = 256;
// Panels of B that are packed together, more where they are less deep. With few, C is written in short
// pieces; with many, B leaves L1 and L2 before it is used.
constexpr int64_t kWideGroup = 3;
// Narrow ones are multiplied one at a time, which stays in L1, and packed in long pieces of B's rows.
constexpr int64_t kNarrowGroup = 8;
// At this depth or less the writes of C bound a product. Each register block of rows is then multiplied with
// all panels, so that C is written in long pieces; B comes from L2.
constexpr int64_t kMaxDepthByBlocks = 48;
// Rows in a packed block of A: half of L2.
constexpr int64_t kMaxRows = 504;
// Of small images whose columns are one matrix: eight images of 7x7.
constexpr int64_t kMaxColumnsTogether = 392;
// Elements of a B whose rows are read in place together with those of A: half of L2.
constexpr int64_t kMaxElementsByRows = 1 << 17;

// One thread's share of a product.
class Part {
 public:
  // With `c_transposed` C is stored as its transpose, and images are together or in the depth.
  Part(const MatrixProduct& product, bool c_transposed, const Share& share, int64_t scratch_bytes)
      : p_(product),
        c_transposed_(c_transposed),
        share_(share),
        has_narrow_panels_(has_narrow_panels()),
        panel_(gemm_shape().columns_per_panel),
        column_pixels_(product.images == Images::in_columns ? product.image_pixels : 0),
        depth_pixels_(product.images == Images::in_depth ? product.image_pixels : 0) {
    const int64_t floats = scratch_bytes / kFloat;
    const bool has_room = floats >= scratch_floats(group_panels(), kMaxRows / 4);
    const int64_t panels = has_room ? group_panels() : 1;
    group_floats_ = panels * deep_panel();
    // To add to a transposed C is slow.
    const int64_t max_depth = c_transposed ? panels * kMaxDepth : kMaxDepth;
    depth_ = evenly(share.depth.count(), max_depth);
    b_in_place_ = b_in_place(product);
    // A is not worth packing for so few panels.
    const int64_t few = has_narrow_panels_ && !product.a.transposed ? 2 : 1;
    a_in_place_ =
        a_in_place(product) || (product.images == Images::together && share.columns.count() <= few * panel_);
    // In place as many as L1 holds: there is nothing to gain from more.
    panels_ = b_in_place_ ? std::max<int64_t>(1, kMaxDepth / depth_) : group_floats_ / (depth_ * panel_);
    rows_ = (floats - scratch_floats(panels, 0)) / depth_;
  }

  static int64_t group_panels() { return has_narrow_panels() ? kNarrowGroup : kWideGroup; }
  // Panels of B, rows of A, tiles of C.
  static int64_t scratch_floats(int64_t panels, int64_t rows) {
    return tile_floats() + panels * deep_panel() + rows * kMaxDepth;
  }

  SumLevels levels() const {
    // Whether rows of A are read in place, and in which parts, depends on a thread's share of the columns.
    const bool whole = !c_transposed_ && by_rows(p_, share_.columns.count());
    return in_chains(share_.depth.count(), whole ? share_.depth.count() : depth_);
  }

  void run(float* scratch) const {
    if (share_.rows.count() == 0 || share_.columns.count() == 0) return;
    if (!c_transposed_ && by_rows(p_, share_.columns.count())) return run_by_rows();
    float* const tile = scratch;
    float* const b = tile + tile_floats();
    float* const a = b + group_floats_;
    const Range &rows = share_.rows, &columns = share_.columns;
    const int64_t row_step = evenly(rows.count(), rows_);
    for (int64_t k = share_.depth.begin; k < share_.depth.end; k += depth_)
      for (int64_t i = rows.begin; i < rows.end; i += row_step) {
        const int64_t together = std::min(row_step, rows.end - i);
        const Block block{i, together, k, std::min(depth_, share_.depth.end - k), row_blocks(together)};
        if (!a_in_place_) pack_rows(p_.a, {i, i + block.rows}, {k, k + block.depth}, depth_pixels_, a);
        for (int64_t j = columns.begin; j < columns.end; j += panels_ * panel_) {
          const int64_t count = std::min(panels_ * panel_, columns.end - j);
          if (!b_in_place_)
            pack_columns(p_.b, {j, j + count}, {k, k + block.depth}, {column_pixels_, depth_pixels_}, b);
          multiply_group(block, a, b, j, count, tile);
        }
      }
  }

 private:
  void run_by_rows() const {
    const auto [rows, columns, depth] = share_;
    const int64_t step =
        ceil_div(depth.count(), ceil_div(depth.count() * columns.count(), kMaxElementsByRows));
    for (int64_t k = depth.begin; k < depth.end; k += step)
      gemm_rows(p_.a.data + rows.begin * p_.a.stride + k, p_.a.stride,
                {p_.b.data + k * p_.b.stride + columns.begin, p_.b.stride},
                p_.c + rows.begin * p_.c_stride + columns.begin, p_.c_stride, rows.count(), columns.count(),
                std::min(step, depth.end - k), mode(k));
  }

  // Rows [row, row + rows) of A at the depth [k, k + depth), in register blocks.
  struct Block {
    int64_t row, rows, k, depth, blocks;
  };
  // Of the part of the depth that begins at `k`.
  GemmMode mode(int64_t k) const {
    return k > share_.depth.begin || p_.accumulate ? GemmMode::add : GemmMode::overwrite;
  }

  // A tile of C, and its transpose.
  static int64_t tile_floats() {
    return 2 * round_up(gemm_shape().rows_per_block * gemm_shape().columns_per_panel, 16);
  }
  static int64_t deep_panel() { return kMaxDepth * gemm_shape().columns_per_panel; }

  // What register block `n` prefetches: A for the next block where that is read in place for the first time,
  // otherwise the next columns of B; the rows of either are too far apart for the hardware prefetcher.
  // Nothing where narrow panels are packed, whose copying reads long pieces of B.
  Prefetch prefetched(const Block& block, int64_t n, int64_t j, int64_t columns) const {
    constexpr int64_t kLine = 16;
    if (a_in_place_ && p_.a.transposed && j == share_.columns.begin && n + 1 < block.blocks) {
      const RowBlock rows = row_block(block.rows, block.blocks, n + 1);
      const int64_t last = block.row + rows.begin + rows.count - 1;
      return {p_.a.data + block.k * p_.a.stride + last, p_.a.stride};
    }
    const int64_t next = j + columns + n * panels_ * kLine;
    if (p_.b.transposed || (has_narrow_panels_ && !b_in_place_) ||
        next >= std::min(j + 2 * columns, p_.columns))
      return {p_.b.data, 0};
    const int64_t image = column_pixels_ == 0 ? 0 : next / column_pixels_;
    return {p_.b.data + block.k * p_.b.stride + image * p_.b.image_step + next - image * column_pixels_,
            p_.b.stride};
  }

  // A block of rows times a group of panels; `a` and `b` are what is packed.
  void multiply_group(const Block& block, const float* a, const float* b, int64_t j, int64_t columns,
                      float* tile) const {
    if (has_narrow_panels_ && column_pixels_ == 0 && !b_in_place_ && block.depth <= kMaxDepthByBlocks) {
      for (int64_t n = 0; n < block.blocks; ++n)
        multiply(block, row_block(block.rows, block.blocks, n), a, b, j, columns, {p_.b.data, 0}, tile);
      return;
    }
    // The micro-kernel goes panel by panel itself: a call for each register block would show.
    if (has_narrow_panels_ && column_pixels_ == 0)
      return multiply(block, {0, block.rows}, a, b, j, columns,
                      b_in_place_ ? Prefetch{} : Prefetch{p_.b.data, 0}, tile);
    const int64_t together = has_narrow_panels_ && !b_in_place_ ? panel_ : columns;
    for (const int64_t end = j + columns; j < end; j += together, b += together * block.depth) {
      const int64_t count = std::min(together, end - j);
      for (int64_t n = 0; n < block.blocks; ++n)
        multiply(block, row_block(block.rows, block.blocks, n), a, b, j, count,
                 prefetched(block, n, j, count), tile);
    }
  }

  // Some rows of a block, where C passes through a tile those of one register block, times some panels.
  void multiply(const Block& block, RowBlock rows, const float* a, const float* b, int64_t j, int64_t columns,
                Prefetch prefetch, float* tile) const {
    const GemmMode mode = this->mode(block.k);
    const int64_t i = block.row + rows.begin, depth = block.depth;
    const auto gemm = a_in_place_ && !p_.a.transposed ? gemm_rows : gemm_columns;
    const int64_t a_stride = a_in_place_ ? p_.a.stride : 0;
    if (a_in_place_)
      a = p_.a.data + (p_.a.transposed ? block.k * a_stride + i : i * a_stride + block.k);
    else
      a += rows.begin * depth;
    GemmPanels panels{b};
    if (b_in_place_) panels = {p_.b.data + block.k * p_.b.stride + j, p_.b.stride};
    float* const c = p_.c + i * p_.c_stride;
    if (!c_transposed_ && column_pixels_ == 0) {
      gemm(a, a_stride, panels, c + j, p_.c_stride, rows.count, columns, depth, mode, prefetch);
      return;
    }
    for (const int64_t end = j + columns; j < end;
         j += panel_, panels.data += b_in_place_ ? panel_ : depth * panel_, prefetch.from += panel_ / 2) {
      const int64_t width = std::min(panel_, end - j);
      const auto product = [&](float* to, int64_t stride, GemmMode how) {
        gemm(a, a_stride, panels, to, stride, rows.count, width, depth, how, prefetch);
      };
      if (c_transposed_) {
        for (int64_t column = j; column < j + width; ++column)
          __builtin_prefetch(p_.c + column * p_.c_stride + i, 1);
        product(tile, panel_, GemmMode::overwrite);
        store_transposed(tile, rows.count, width, mode, p_.c + j * p_.c_stride + i);
        continue;
      }
      const int64_t image = j / column_pixels_, pixel = j % column_pixels_;
      if (pixel + width <= column_pixels_) {
        product(c + image * p_.c_image_step + pixel, p_.c_stride, mode);
        continue;
      }
      // Several images share this panel.
      product(tile, panel_, GemmMode::overwrite);
      for_each_stretch(
          j, j + width, column_pixels_, p_.c_image_step, [&](int64_t first, int64_t count, int64_t offset) {
            for (int64_t row = 0; row < rows.count; ++row)
              store(tile + row * panel_ + first - j, count, mode, c + row * p_.c_stride + offset);
          });
    }
  }

  void store_transposed(float* tile, int64_t rows, int64_t columns, GemmMode mode, float* to) const {
    if (mode == GemmMode::overwrite) {
      transpose(tile, panel_, to, p_.c_stride, rows, columns);
      return;
    }
    float* const tile_transposed = tile + tile_floats() / 2;
    transpose(tile, panel_, tile_transposed, rows, rows, columns);
    for (int64_t column = 0; column < columns; ++column)
      store(tile_transposed + column * rows, rows, mode, to + column * p_.c_stride);
  }

  static void store(const float* from, int64_t count, GemmMode mode, float* to) {
    if (mode == GemmMode::overwrite)
      std::memcpy(to, from, count * kFloat);
    else
      for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  }

  const MatrixProduct p_;
  const bool c_transposed_;
  const Share share_;
  bool a_in_place_ = false, b_in_place_ = false;
  const bool has_narrow_panels_;
  const int64_t panel_;
  const int64_t column_pixels_, depth_pixels_;  // 0 where that index runs over one matrix
  int64_t depth_ = 0, rows_ = 0;                // the largest of a block of A
  int64_t panels_ = 0, group_floats_ = 0;       // of a group of panels
};

// One image of a product whose images are multiplied one by one.
MatrixProduct of_image(MatrixProduct product, int64_t image) {
  product.images = Images::together;
  product.columns = product.image_pixels;
  product.b.data += image * product.b.image_step;
  product.c += image * product.c_image_step;
  return product;
}

// What one thread computes of a product, in `scratch`.
void run_share(const MatrixProduct& product, bool c_transposed, const Share& share, int64_t scratch_bytes,
               float* scratch) {
  if (!one_by_one(product)) return Part(product, c_transposed, share, scratch_bytes).run(scratch);
  for_each_stretch(share.columns.begin, share.columns.end, product.image_pixels, product.image_pixels,
                   [&](int64_t first, int64_t count, int64_t) {
                     const int64_t image = first / product.image_pixels, pixel = first % product.image_pixels;
                     const Share part{share.rows, {pixel, pixel + count}, share.depth};
                     Part(of_image(product, image), c_transposed, part, scratch_bytes).run(scratch);
                   });
}

class Packed final : public Gemm {
 public:
  std::string name() const override {
    const GemmShape shape = gemm_shape();
    return std::to_string(shape.rows_per_block) + "x" + std::to_string(shape.columns_per_panel);
  }
  SumLevels levels(const MatrixProduct& asked, int64_t scratch_bytes) const override {
    // By rows each lane has a sum and the lanes are added at the end; by lines each line is added to C in
    // turn.
    if (const auto vectors = as_vectors(asked))
      return vectors->transposed ? SumLevels{0, asked.depth}
                                 : SumLevels{ceil_div(asked.depth, lanes()) + lanes(), 1};
    const bool exchange = better_exchanged(asked);
    MatrixProduct product = exchange ? exchanged(asked) : asked;
    if (one_by_one(product)) product = of_image(product, 0);
    return Part(product, exchange, share_of(product, {}, 0), scratch_bytes).levels();
  }
  double executed_flops(const MatrixProduct& product, int threads) const override {
    return im2col_gemm::executed_flops(product, threads);
  }
  bool takes_images() const override { return true; }
  int64_t max_columns_together() const override { return kMaxColumnsTogether; }
  int64_t scratch_bytes(int64_t cap) const override {
    const int64_t smallest = Part::scratch_floats(1, gemm_shape().rows_per_block) * kFloat;
    return round_up(std::clamp(cap, smallest, Part::scratch_floats(Part::group_panels(), kMaxRows) * kFloat),
                    64);
  }

  void multiply(const MatrixProduct& asked, int max_threads, float* scratch,
                int64_t scratch_bytes) const override {
    if (const auto vectors = as_vectors(asked)) {
      if (omp_in_parallel()) return multiply_vectors(*vectors, 0, vectors->rows);
#pragma omp parallel num_threads(max_threads)
      {
        const Range rows = part(vectors->rows, omp_get_num_threads(), omp_get_thread_num(), lanes());
        multiply_vectors(*vectors, rows.begin, rows.end);
      }
      return;
    }
    const bool exchange = better_exchanged(asked);
    const MatrixProduct product = exchange ? exchanged(asked) : asked;
    if (omp_in_parallel())
      return run_share(product, exchange, share_of(product, {}, 0), scratch_bytes, scratch);
    const int64_t floats = scratch_bytes / kFloat;
    // A part of the depth makes a C of its own, at the end of the scratch; the first one makes it in place.
    const int64_t partial_floats = round_up(asked.rows * asked.columns, 16);
#pragma omp parallel num_threads(max_threads)
    {
      const int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
      const Split split = split_for_threads(product, threads, floats / 8);
      const Share share = share_of(product, split, thread);
      float* const own = scratch + thread * floats;
      if (split.depth == 1) {
        run_share(product, exchange, share, scratch_bytes, own);
      } else {
        MatrixProduct part = product;
        if (thread > 0) {
          part.c = own + floats - partial_floats;
          part.c_stride = asked.columns;
          part.accumulate = false;
        }
        Part(part, exchange, share, scratch_bytes - partial_floats * kFloat).run(own);
#pragma omp barrier
        for (int64_t row = thread * asked.rows / threads; row < (thread + 1) * asked.rows / threads; ++row)
          for (int64_t other = 1; other < threads; ++other)
            add(scratch + (other + 1) * floats - partial_floats + row * asked.columns, asked.columns,
                asked.c + row * asked.c_stride);
      }
    }
  }

 private:
  static void add(const float* from, int64_t count, float* to) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  }
};

}  // namespace

const Gemm& packed() {
  static const Packed gemm;
  return gemm;
}

}  // namespace convscope::im2col_gemm

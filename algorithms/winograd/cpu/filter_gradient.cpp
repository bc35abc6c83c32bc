// The run of the filter's gradient; start at run().
#include "algorithms/winograd/cpu/filter_gradient.hpp"

#include <omp.h>

#include <algorithm>

#include "algorithms/common/packed_gemm.hpp"

namespace convscope::winograd {

FilterGradientPlan::Work FilterGradientPlan::work(const ConvArgs& args, int64_t group, int64_t slice,
                                                  int64_t block) const {
  float* const workspace = static_cast<float*>(args.workspace);
  float* const gradients = workspace + planes_at_ + slice * planes_floats_;
  const TensorView &input = geometry_.input_view, &output = geometry_.output_view;
  return {blocks_[static_cast<size_t>(block)],
          starts(slice, block),
          static_cast<const float*>(args.input) + group * input.channels * input.shape.stride[1],
          static_cast<const float*>(args.output) + group * output.channels * output.shape.stride[1],
          gradients,
          gradients + gradients_.plane * geometry_.planes(),
          workspace + products_at_ + slice * product_floats_,
          scratch_.of_thread(workspace, omp_get_thread_num())};
}

void FilterGradientPlan::transform_data(const Work& work, int64_t index) const {
  const auto [rows, vector] = vector_unit(work.block, together_, input_vectors_, index);
  transform_tiles(kernels_, geometry_, TileOperand::data, geometry_.input_view, work.input, work.block, rows,
                  vector, data_, work.data, work.scratch);
}

void FilterGradientPlan::transform_gradients(const Work& work, int64_t index) const {
  const auto [rows, vector] = vector_unit(work.block, together_, output_vectors_, index);
  transform_tiles(kernels_, geometry_, TileOperand::coefficients, geometry_.output_view, work.output,
                  work.block, rows, vector, gradients_, work.gradients, work.scratch);
}

// One panel of columns by one of rows in one plane, over the tiles of the block that have this point. Both
// operands lie in panels, so that a pair of them streams through L1.
void FilterGradientPlan::multiply(const Work& work, int64_t plane, int64_t panel, int64_t row_panel,
                                  float* c) const {
  const int i = static_cast<int>(plane / geometry_.points_w()),
            j = static_cast<int>(plane % geometry_.points_w());
  const float* const a = work.data + plane * data_.plane + row_panel * data_.panel;
  const float* const b = work.gradients + plane * gradients_.plane + panel * gradients_.panel;
  const int64_t rows = std::min(panel_columns_, rows_ - row_panel * panel_columns_);

  const TileOrder::Range tiles = TileOrder(geometry_, work.block).with(i, j);
  if (tiles.count == 0) {
    // Only the first rows of tiles are tall enough for every point, and a slice may start after them.
    if (work.first)
      for (int64_t row = 0; row < rows; ++row) std::fill_n(c + row * products_.row, panel_columns_, 0.0f);
    return;
  }
  const int64_t run = ceil_div(tiles.count, ceil_div(tiles.count, kLongestRun));
  for (int64_t from = 0; from < tiles.count; from += run) {
    const int64_t at = (tiles.begin + from) * panel_columns_;
    gemm_columns(a + at, panel_columns_, {b + at}, c, products_.row, rows, panel_columns_,
                 std::min(run, tiles.count - from),
                 work.first && from == 0 ? GemmMode::overwrite : GemmMode::add);
  }
}

void FilterGradientPlan::multiply(const Work& work, int64_t index) const {
  const int64_t plane = index / panels_, panel = index % panels_;
  float* const c = work.products + plane * products_.plane + panel * panel_columns_;
  for (int64_t row = 0; row < row_panels_; ++row)
    multiply(work, plane, panel, row, c + row * panel_columns_ * products_.row);
}

void FilterGradientPlan::invert(const float* products, int64_t index, float* filter,
                                const Scratch& scratch) const {
  const int64_t lane = index / output_vectors_ * FilterTransform::kDepthChunk;
  const int64_t end = std::min(lane + FilterTransform::kDepthChunk, rows_), vector = index % output_vectors_;
  filter_transform_.inverse(products + lane * products_.row + products_.offset(vector, kernels_.lanes),
                            products_.row, products_.plane, lane, end, vector, filter, scratch);
}

// A unit of products from all tiles, and its part of the filter's gradient.
void FilterGradientPlan::multiply_and_invert(const Work& work, int64_t index, float* filter) const {
  const int64_t panel = index / row_panels_, row_panel = index % row_panels_;
  const int64_t first = row_panel * panel_columns_, end = std::min(first + panel_columns_, rows_);
  for (int64_t plane = 0; plane < geometry_.planes(); ++plane)
    multiply(work, plane, panel, row_panel, work.products + plane * products_.plane);
  const int64_t vectors_end = std::min(2 * panel + 2, output_vectors_);
  for (int64_t vector = 2 * panel; vector < vectors_end; ++vector)
    for (int64_t lane = first; lane < end; lane += FilterTransform::kDepthChunk)
      filter_transform_.inverse(work.products + (lane - first) * products_.row + vector % 2 * kernels_.lanes,
                                products_.row, products_.plane, lane,
                                std::min(lane + FilterTransform::kDepthChunk, end), vector, filter,
                                work.scratch);
}

// Adds the floats [begin, end) of a slice's products to its totals.
void FilterGradientPlan::add_to_totals(float* workspace, int64_t slice, int64_t block, int64_t begin,
                                       int64_t end) const {
  const float* const products = workspace + products_at_ + slice * product_floats_;
  float* const totals = workspace + totals_at_ + slice * product_floats_;
  const bool first = block - first_block(slice) < together_blocks_;
  for (int64_t i = begin; i < end; ++i) totals[i] = first ? products[i] : totals[i] + products[i];
}

// In the order of the slices, so that a given number of threads gives the same bits.
void FilterGradientPlan::add_slices(float* products) const {
#pragma omp for schedule(static)
  for (int64_t i = 0; i < product_floats_; ++i)
    for (int64_t slice = 1; slice < slices_; ++slice) products[i] += products[slice * product_floats_ + i];
}

void FilterGradientPlan::run_slices(const ConvArgs& args, int64_t group) const {
  float* const workspace = static_cast<float*>(args.workspace);
#pragma omp for schedule(static)
  for (int64_t slice = 0; slice < slices_; ++slice)
    for (int64_t n = first_block(slice); n < first_block(slice + 1); ++n) {
      const Work own = work(args, group, slice, n);
      for (int64_t i = 0; i < units_of_data(own.block); ++i) transform_data(own, i);
      for (int64_t i = 0; i < units_of_gradients(own.block); ++i) transform_gradients(own, i);
      for (int64_t i = 0; i < units_multiplied(); ++i) multiply(own, i);
      if (is_total(slice, n)) add_to_totals(workspace, slice, n, 0, product_floats_);
    }
  add_slices(workspace + sums_at());
}

void FilterGradientPlan::run_shared(const ConvArgs& args, int64_t group, float* filter) const {
  constexpr int64_t kFloatsTogether = 4096;
  for (int64_t n = 0; n < first_block(1); ++n) {
    Work shared = work(args, group, 0, n);
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < units_of_data(shared.block); ++i) transform_data(shared, i);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < units_of_gradients(shared.block); ++i) transform_gradients(shared, i);
    if (products_in_private_cache_) {
      shared.products += omp_get_thread_num() * product_floats_;
#pragma omp for schedule(static)
      for (int64_t i = 0; i < units_of_products(); ++i) multiply_and_invert(shared, i, filter);
    } else {
#pragma omp for schedule(dynamic, 4)
      for (int64_t i = 0; i < units_multiplied(); ++i) multiply(shared, i);
    }
    if (!is_total(0, n)) continue;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < product_floats_; i += kFloatsTogether)
      add_to_totals(static_cast<float*>(args.workspace), 0, n, i,
                    std::min(i + kFloatsTogether, product_floats_));
  }
}

void FilterGradientPlan::run(const ConvArgs& args, Queue&) {
  float* const workspace = static_cast<float*>(args.workspace);
  const ConvProblem& problem = geometry_.problem;
  const int64_t filter_group = problem.elements(Role::filter) / problem.groups;
#pragma omp parallel num_threads(threads_)
  for (int64_t group = 0; group < problem.groups; ++group) {
    float* const filter = static_cast<float*>(args.filter) + group * filter_group;
    if (slices_ > 1)
      run_slices(args, group);
    else
      run_shared(args, group, filter);
    if (products_in_private_cache_) continue;
    const Scratch scratch = scratch_.of_thread(workspace, omp_get_thread_num());
#pragma omp for schedule(static)
    for (int64_t i = 0; i < ceil_div(rows_, FilterTransform::kDepthChunk) * output_vectors_; ++i)
      invert(workspace + sums_at(), i, filter, scratch);
  }
}

}  // namespace convscope::winograd

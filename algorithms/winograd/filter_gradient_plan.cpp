// Backward-filter, the same algorithm with the roles exchanged: the output's gradient is the "filter" of a
// correlation with as many outputs as the filter has taps. Plane (i, j) holds, summed over the tiles,
//   gradients[tile][k]^T  *  data[tile][image lane]  ->  products[k][image lane]
// The threads share the work of each block, or each has blocks and products of its own, which are added up in
// a fixed order: a given number of threads gives the same bits. Start at run().
#include <omp.h>

#include <algorithm>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/winograd/block_plan.hpp"
#include "algorithms/winograd/filter_transform.hpp"
#include "algorithms/winograd/plans.hpp"

namespace convscope::winograd {
namespace {

class FilterGradientPlan final : public Plan {
 public:
  FilterGradientPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);

  int64_t workspace_bytes() const override { return arena_.bytes(); }
  std::string implementation() const override { return geometry_.describe(); }
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  // One group's block: its tensors, planes and sums.
  struct Work {
    const Block& block;
    bool first;  // whether the sums start with it
    const float *input, *output;
    float *gradients, *data, *products;
    Scratch scratch;
  };
  Work work(const ConvArgs& args, int64_t group, int64_t slice, int64_t block) const;
  // The blocks that are added up in one slice of products: all, or of several slices each thread has its own.
  int64_t first_block(int64_t slice) const { return slice * static_cast<int64_t>(blocks_.size()) / slices_; }
  // The three steps of a block, each of so many units that can be done in any order.
  int64_t units_of_data(const Block& block) const { return units(block, together_) * image_vectors_; }
  int64_t units_of_gradients(const Block& block) const { return units(block, together_) * signal_vectors_; }
  int64_t units_multiplied() const { return geometry_.planes() * panels_; }
  void transform_data(const Work& work, int64_t index) const;
  void transform_gradients(const Work& work, int64_t index) const;
  void multiply(const Work& work, int64_t index) const;
  void add_slices(float* products) const;

  const Geometry geometry_;
  const VectorKernels& kernels_;
  const FilterTransform filter_transform_;
  const int threads_;
  const int64_t rows_, columns_, signal_vectors_, image_vectors_, panel_columns_, panels_, row_panels_;
  PlaneLayout gradients_, data_, products_;
  int64_t planes_at_ = 0, planes_floats_ = 0;  // of the gradients and data of one block
  int64_t products_at_ = 0, product_floats_ = 0;
  int64_t together_;
  std::vector<Block> blocks_;
  int64_t slices_ = 1;
  ScratchPart scratch_;
  Arena arena_;
};

FilterGradientPlan::FilterGradientPlan(const Geometry& geometry, const DeviceInfo& device,
                                       const PlanOptions& options)
    : geometry_(geometry),
      kernels_(vector_kernels()),
      filter_transform_(kernels_, geometry_),
      threads_(options.threads),
      rows_(geometry.signal.lanes()),
      columns_(geometry.image.lanes()),
      signal_vectors_(ceil_div(rows_, kernels_.lanes)),
      image_vectors_(ceil_div(columns_, kernels_.lanes)),
      panel_columns_(gemm_shape().columns_per_panel),
      panels_(ceil_div(columns_, panel_columns_)),
      row_panels_(ceil_div(rows_, panel_columns_)),
      together_(rows_together(geometry_, kernels_.lanes, threads_)) {
  products_.panel = 2 * kernels_.lanes;
  products_.row = odd_lines(panels_ * panel_columns_);
  products_.plane = odd_lines(rows_ * products_.row);
  product_floats_ = products_.plane * geometry_.planes();
  scratch_ = take_scratch(arena_, geometry_, together_, kernels_.lanes, threads_);

  data_.row = gradients_.row = panel_columns_;
  const int64_t strip_floats =
      geometry_.planes() * geometry_.tile_columns() * (row_panels_ + panels_) * panel_columns_;
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  // Panels are rounded, and then the planes of them.
  const int64_t padding_floats = geometry_.planes() * (row_panels_ + panels_ + 2) * kOddLinesPadding;
  BlockBytes bytes{.strip = strip_floats * kFloat,
                   .stationary = product_floats_ * kFloat,
                   .fixed = arena_.bytes() + threads_ * product_floats_ * kFloat,
                   .padding = padding_floats * kFloat};
  // A slice is written, and read again when it is added: little of what a thread does only if it has many
  // tiles.
  constexpr int64_t kLeastTiles = 8;  // in bytes of planes, times a slice
  const int64_t all_tiles = geometry_.problem.batch * geometry_.tile_rows() * bytes.strip;
  if (kLeastTiles * threads_ * bytes.stationary <= all_tiles)
    blocks_ = cut_for_each_thread(geometry_, bytes, device, options);
  if (!blocks_.empty()) {
    slices_ = threads_;
  } else {
    bytes.fixed = arena_.bytes() + product_floats_ * kFloat;
    blocks_ = cut_into_blocks(geometry_, bytes, device, options);
  }
  const int64_t tiles = blocks_.front().strips() * geometry_.tile_columns();
  data_.panel = gradients_.panel = odd_lines(tiles * panel_columns_);
  data_.plane = odd_lines(panels_ * data_.panel);
  gradients_.plane = odd_lines(row_panels_ * gradients_.panel);
  planes_floats_ = (gradients_.plane + data_.plane) * geometry_.planes();
  products_at_ = arena_.take(product_floats_ * slices_);
  planes_at_ = arena_.take(planes_floats_ * slices_);
}

FilterGradientPlan::Work FilterGradientPlan::work(const ConvArgs& args, int64_t group, int64_t slice,
                                                  int64_t block) const {
  float* const workspace = static_cast<float*>(args.workspace);
  float* const gradients = workspace + planes_at_ + slice * planes_floats_;
  const TensorView &image = geometry_.image, &signal = geometry_.signal;
  return {blocks_[static_cast<size_t>(block)],
          block == first_block(slice),
          static_cast<const float*>(args.input) + group * image.channels * image.shape.stride[1],
          static_cast<const float*>(args.output) + group * signal.channels * signal.shape.stride[1],
          gradients,
          gradients + gradients_.plane * geometry_.planes(),
          workspace + products_at_ + slice * product_floats_,
          scratch_.of_thread(workspace, omp_get_thread_num())};
}

void FilterGradientPlan::transform_data(const Work& work, int64_t index) const {
  transform_tiles(kernels_, geometry_, TileOperand::data, geometry_.image, work.input, work.block,
                  unit(work.block, together_, index / image_vectors_), index % image_vectors_, data_,
                  work.data, work.scratch);
}

void FilterGradientPlan::transform_gradients(const Work& work, int64_t index) const {
  transform_tiles(kernels_, geometry_, TileOperand::gradient, geometry_.signal, work.output, work.block,
                  unit(work.block, together_, index / signal_vectors_), index % signal_vectors_, gradients_,
                  work.gradients, work.scratch);
}

// One panel of columns in one plane, over the tiles of the block that have this point. Both operands lie in
// panels, so that a pair of them streams through the first cache level.
void FilterGradientPlan::multiply(const Work& work, int64_t index) const {
  const Block& block = work.block;
  const int64_t plane = index / panels_, panel = index % panels_;
  const int i = static_cast<int>(plane / geometry_.points_w()),
            j = static_cast<int>(plane % geometry_.points_w());
  const float* const a = work.gradients + plane * gradients_.plane;
  const float* const b = work.data + plane * data_.plane + panel * data_.panel;
  float* const c = work.products + plane * products_.plane + panel * panel_columns_;

  const int64_t strips = block.strips_with(geometry_, i), tile_columns = geometry_.w.tiles_with(j);
  const bool whole = strips == block.strips();
  const int64_t depth = whole ? strips * tile_columns : strips;
  if (depth == 0) {
    // Only the first rows of tiles are tall enough for every point, and a slice may start behind them.
    if (work.first)
      for (int64_t k = 0; k < rows_; ++k) std::fill_n(c + k * products_.row, panel_columns_, 0.0f);
    return;
  }
  for (int64_t k = 0; k < rows_; k += panel_columns_)
    for (int64_t column = 0; column < (whole ? 1 : tile_columns); ++column) {
      const int64_t tile = column * block.strips() * panel_columns_;
      gemm_columns(a + k / panel_columns_ * gradients_.panel + tile, panel_columns_, {b + tile},
                   c + k * products_.row, products_.row, std::min(panel_columns_, rows_ - k), panel_columns_,
                   depth, work.first && column == 0 ? GemmMode::overwrite : GemmMode::add);
    }
}

// In the order of the slices, so that a given number of threads gives the same bits.
void FilterGradientPlan::add_slices(float* products) const {
#pragma omp for schedule(static)
  for (int64_t i = 0; i < product_floats_; ++i)
    for (int64_t slice = 1; slice < slices_; ++slice) products[i] += products[slice * product_floats_ + i];
}

void FilterGradientPlan::run(const ConvArgs& args, Queue&) {
  float* const products = static_cast<float*>(args.workspace) + products_at_;
  auto* const filter = static_cast<float*>(args.filter);
  const ConvProblem& problem = geometry_.problem;
  const int64_t filter_group = problem.elements(Role::filter) / problem.groups;
#pragma omp parallel num_threads(threads_)
  for (int64_t group = 0; group < problem.groups; ++group) {
    if (slices_ > 1) {
#pragma omp for schedule(static)
      for (int64_t slice = 0; slice < slices_; ++slice)
        for (int64_t n = first_block(slice); n < first_block(slice + 1); ++n) {
          const Work own = work(args, group, slice, n);
          for (int64_t i = 0; i < units_of_data(own.block); ++i) transform_data(own, i);
          for (int64_t i = 0; i < units_of_gradients(own.block); ++i) transform_gradients(own, i);
          for (int64_t i = 0; i < units_multiplied(); ++i) multiply(own, i);
        }
      add_slices(products);
    } else {
      for (int64_t n = 0; n < first_block(1); ++n) {
        const Work shared = work(args, group, 0, n);
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < units_of_data(shared.block); ++i) transform_data(shared, i);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < units_of_gradients(shared.block); ++i) transform_gradients(shared, i);
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < units_multiplied(); ++i) multiply(shared, i);
      }
    }
    const Scratch scratch = scratch_.of_thread(static_cast<float*>(args.workspace), omp_get_thread_num());
#pragma omp for schedule(static)
    for (int64_t i = 0; i < rows_ * image_vectors_; ++i)
      filter_transform_.inverse(products, products_, i / image_vectors_, i % image_vectors_,
                                filter + group * filter_group, scratch);
  }
}

}  // namespace

std::unique_ptr<Plan> make_filter_gradient_plan(const Geometry& geometry, const DeviceInfo& device,
                                                const PlanOptions& options) {
  return std::make_unique<FilterGradientPlan>(geometry, device, options);
}

std::unique_ptr<Plan> make_plan(const Geometry& geometry, const DeviceInfo& device,
                                const PlanOptions& options) {
  return geometry.problem.pass == Pass::backward_filter ? make_filter_gradient_plan(geometry, device, options)
                                                        : make_convolution_plan(geometry, device, options);
}

}  // namespace convscope::winograd

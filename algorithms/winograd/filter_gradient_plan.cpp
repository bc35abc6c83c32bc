// Backward-filter, the same algorithm with the roles exchanged: the output's gradient is the "filter" of a
// correlation with as many outputs as the filter has taps. Plane (i, j) holds, summed over the tiles,
//   gradients[tile][k]^T  *  data[tile][image lane]  ->  products[k][image lane]
// The sum over tiles runs in one thread for each part of the product, so any thread count gives the same
// bits.
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
  void multiply(const Block& block, int64_t plane, int64_t panel, float* workspace) const;

  const Geometry geometry_;
  const VectorKernels& kernels_;
  const FilterTransform filter_transform_;
  const int threads_;
  const int64_t rows_, columns_, panel_columns_, panels_, row_panels_;
  PlaneLayout gradients_, data_, products_;
  int64_t gradients_at_ = 0, data_at_ = 0, products_at_ = 0;
  int64_t together_;
  std::vector<Block> blocks_;
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
      panel_columns_(gemm_shape().columns_per_panel),
      panels_(ceil_div(columns_, panel_columns_)),
      row_panels_(ceil_div(rows_, panel_columns_)),
      together_(rows_together(geometry_, kernels_.lanes, threads_)) {
  products_.panel = 2 * kernels_.lanes;
  products_.row = odd_lines(panels_ * panel_columns_);
  products_.plane = odd_lines(rows_ * products_.row);
  products_at_ = arena_.take(products_.plane * geometry_.planes());
  scratch_ = take_scratch(arena_, geometry_, together_, kernels_.lanes, threads_);

  data_.row = gradients_.row = panel_columns_;
  const int64_t strip_floats =
      geometry_.planes() * geometry_.tile_columns() * (row_panels_ + panels_) * panel_columns_;
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  // Panels are rounded, and then the planes of them.
  const int64_t padding_floats = geometry_.planes() * (row_panels_ + panels_ + 2) * kOddLinesPadding;
  blocks_ = cut_into_blocks(geometry_, strip_floats * kFloat, products_.plane * geometry_.planes() * kFloat,
                            arena_.bytes(), padding_floats * kFloat, device, options);
  const int64_t tiles = blocks_.front().strips() * geometry_.tile_columns();
  data_.panel = gradients_.panel = odd_lines(tiles * panel_columns_);
  data_.plane = odd_lines(panels_ * data_.panel);
  gradients_.plane = odd_lines(row_panels_ * gradients_.panel);
  gradients_at_ = arena_.take(gradients_.plane * geometry_.planes());
  data_at_ = arena_.take(data_.plane * geometry_.planes());
}

// One panel of columns in one plane, over the tiles of the block that have this point. Both operands lie in
// panels, so that a pair of them streams through the first cache level.
void FilterGradientPlan::multiply(const Block& block, int64_t plane, int64_t panel, float* workspace) const {
  const int i = static_cast<int>(plane / geometry_.points_w()),
            j = static_cast<int>(plane % geometry_.points_w());
  const float* const a = workspace + gradients_at_ + plane * gradients_.plane;
  const float* const b = workspace + data_at_ + plane * data_.plane + panel * data_.panel;
  float* const c = workspace + products_at_ + plane * products_.plane + panel * panel_columns_;

  // The tallest tiles come first, so a plane that has tiles at all has some in the first block.
  const int64_t strips = block.strips_with(geometry_, i), tile_columns = geometry_.w.tiles_with(j);
  const bool whole = strips == block.strips();
  const int64_t depth = whole ? strips * tile_columns : strips;
  if (depth == 0) return;
  for (int64_t k = 0; k < rows_; k += panel_columns_)
    for (int64_t column = 0; column < (whole ? 1 : tile_columns); ++column) {
      const int64_t tile = column * block.strips() * panel_columns_;
      gemm_columns(a + k / panel_columns_ * gradients_.panel + tile, panel_columns_, {b + tile},
                   c + k * products_.row, products_.row, std::min(panel_columns_, rows_ - k), panel_columns_,
                   depth, &block == &blocks_.front() && column == 0 ? GemmMode::overwrite : GemmMode::add);
    }
}

void FilterGradientPlan::run(const ConvArgs& args, Queue&) {
  float* const workspace = static_cast<float*>(args.workspace);
  const auto* const input = static_cast<const float*>(args.input);
  const auto* const output = static_cast<const float*>(args.output);
  auto* const filter = static_cast<float*>(args.filter);
  const ConvProblem& problem = geometry_.problem;
  const int64_t image_group = geometry_.image.channels * geometry_.image.shape.stride[1];
  const int64_t signal_group = geometry_.signal.channels * geometry_.signal.shape.stride[1];
  const int64_t filter_group = problem.elements(Role::filter) / problem.groups;
  const int64_t image_vectors = ceil_div(columns_, kernels_.lanes);
  const int64_t signal_vectors = ceil_div(rows_, kernels_.lanes);
#pragma omp parallel num_threads(threads_)
  {
    const Scratch scratch = scratch_.of_thread(workspace, omp_get_thread_num());
    for (int64_t group = 0; group < problem.groups; ++group) {
      for (const Block& block : blocks_) {
        const int64_t rows = units(block, together_);
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < rows * image_vectors; ++i)
          transform_tiles(kernels_, geometry_, TileOperand::data, geometry_.image,
                          input + group * image_group, block, unit(block, together_, i / image_vectors),
                          i % image_vectors, data_, workspace + data_at_, scratch);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows * signal_vectors; ++i)
          transform_tiles(kernels_, geometry_, TileOperand::gradient, geometry_.signal,
                          output + group * signal_group, block, unit(block, together_, i / signal_vectors),
                          i % signal_vectors, gradients_, workspace + gradients_at_, scratch);
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < geometry_.planes() * panels_; ++i)
          multiply(block, i / panels_, i % panels_, workspace);
      }
#pragma omp for schedule(static)
      for (int64_t i = 0; i < rows_ * image_vectors; ++i)
        filter_transform_.inverse(workspace + products_at_, products_, i / image_vectors, i % image_vectors,
                                  filter + group * filter_group, scratch);
    }
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

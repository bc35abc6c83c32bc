// Forward and backward-data where all tiles are one block and the transformed filters are larger than it.
// Each panel of filters is transformed right before its products, some depths at a time, and never leaves the
// private caches; there is nothing to prepare. The threads share the tiles, each has panels of its own. It
// reads the filters from memory once, untransformed, instead of writing and reading 16 to 64 planes of them.
// Start at run().
#include <omp.h>

#include <algorithm>

#include "algorithms/winograd/cpu/convolution_plan.hpp"

namespace convscope::winograd {
namespace {

class FiltersOnTheFlyPlan final : public ConvolutionPlan {
 public:
  FiltersOnTheFlyPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);
  bool is_profitable(const DeviceInfo& device, const PlanOptions& options) const;
  void run(const ConvArgs& args, Queue& queue) override;
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override {
    return static_cast<double>(std::min(depth_, depth_together_) + ceil_div(depth_, depth_together_));
  }

 private:
  int64_t filter_floats_together() const { return odd_lines(depth_together_ * panel_columns_); }
  Prefetch prefetched_filters(const float* filter, int64_t panel, int64_t depth, int64_t plane) const;
  // The filters' transform, products and inverse of one panel.
  void run_panel(const Work& work, const float* filter, int64_t panel, float* filters) const;

  int64_t depth_together_ = 0;                  // depths whose filters are transformed at once
  int64_t filters_at_ = 0, thread_floats_ = 0;  // of one thread's transformed filters
  int64_t planes_at_ = 0;
};

FiltersOnTheFlyPlan::FiltersOnTheFlyPlan(const Geometry& geometry, const DeviceInfo& device,
                                         const PlanOptions& options)
    : ConvolutionPlan(geometry, options) {
  constexpr int64_t kChunk = FilterTransform::kDepthChunk;
  const int64_t fit = device.l2_bytes / 2 / (geometry_.planes() * panel_columns_ * kFloat);
  depth_together_ = std::clamp(fit / kChunk * kChunk, kChunk, 4 * kChunk);
  blocks_ = {whole_block(geometry_)};
  shape_planes(blocks_.front());
  thread_floats_ = (geometry_.planes() + kPlanesApart) * filter_floats_together();
  filters_at_ = arena_.take(threads_ * thread_floats_);
  planes_at_ = arena_.take(planes_floats_);
}

// If the tiles fit in the LLC, the transformed filters do not fit in L2, and there are enough panels for the
// threads.
bool FiltersOnTheFlyPlan::is_profitable(const DeviceInfo& device, const PlanOptions& options) const {
  return geometry_.has_one_residue() && filter_floats() * kFloat > device.l2_bytes &&
         kMinFilterRatio * planes_floats_ <= filter_floats() &&
         planes_floats_ * kFloat <= shared_cache_bytes(device) && keeps_threads_busy(panels_, threads_) &&
         arena_.bytes() <= options.workspace_cap;
}

// What the product of a plane prefetches of the filters that are transformed next, whose runs are too short
// for the hardware's prefetcher. Forward with as many planes as columns: a whole column. With fewer: a line
// of every column, the next line with the next block of rows. Backward-data: a line of every depth.
Prefetch FiltersOnTheFlyPlan::prefetched_filters(const float* filter, int64_t panel, int64_t depth,
                                                 int64_t plane) const {
  constexpr int64_t kLine = 16;  // floats
  const TensorShape shape = geometry_.problem.shape(Role::filter);
  const int64_t column = std::min(panel * panel_columns_, columns_ - 1);
  if (!forward_) return {filter + shape.offset(depth, column, 0, 0) + plane * kLine, shape.stride[0]};
  const int64_t columns = std::min(panel_columns_, columns_ - column);
  if (geometry_.planes() < panel_columns_) {
    const int64_t rows = blocks_.front().strips() * geometry_.tile_columns();
    const int64_t lines = plane * ceil_div(rows, gemm_shape().rows_per_block);
    return {filter + shape.offset(column, depth, 0, 0) + lines * kLine, shape.stride[0]};
  }
  return {filter + shape.offset(column + plane * columns / geometry_.planes(), depth, 0, 0), kLine};
}

void FiltersOnTheFlyPlan::run_panel(const Work& work, const float* filter, int64_t panel,
                                    float* filters) const {
  for (int64_t from = 0; from < depth_; from += depth_together_) {
    const int64_t end = std::min(from + depth_together_, depth_);
    for (int64_t depth = from; depth < end; depth += FilterTransform::kDepthChunk)
      for (int64_t vector = 2 * panel; vector < vectors_end(panel); ++vector)
        filter_transform_.transform(filter, vector, depth,
                                    filters + vector % 2 * kernels_.lanes + (depth - from) * panel_columns_,
                                    panel_columns_, filter_floats_together(), false, work.scratch);
    const bool last = end == depth_;
    const int64_t next_panel = last ? panel + threads_ : panel, next = last ? 0 : end;
    for (int64_t plane = 0; plane < geometry_.planes(); ++plane)
      multiply(work, plane, panel, {filters, filter_floats_together(), from, end},
               prefetched_filters(filter, next_panel, next, plane));
  }
  write_panel(work, panel);
}

// The planes of the filters stay in the private caches.
std::optional<OperationCount> FiltersOnTheFlyPlan::operations() const {
  OperationCount count = count_tiles();
  count.transform_flops += transformed_filters() * filter_transform_.transform_flops();
  count.bytes += 2 * (tile_bytes() + product_bytes());
  count.cached_bytes = 2 * filter_bytes();
  return count;
}

void FiltersOnTheFlyPlan::run(const ConvArgs& args, Queue&) {
  float* const workspace = static_cast<float*>(args.workspace);
#pragma omp parallel num_threads(threads_)
  for (int64_t group = 0; group < groups_; ++group) {
    const Work shared = work(args, group, blocks_.front(), workspace + planes_at_);
    float* const filters = workspace + filters_at_ + omp_get_thread_num() * thread_floats_;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < units_read(shared.block); ++i) read(shared, i);
#pragma omp for schedule(dynamic)
    for (int64_t panel = 0; panel < panels_; ++panel)
      run_panel(shared, filter_of(args, group), panel, filters);
  }
}

}  // namespace

std::unique_ptr<Plan> make_filters_on_the_fly_plan(const Geometry& geometry, const DeviceInfo& device,
                                                   const PlanOptions& options) {
  auto plan = std::make_unique<FiltersOnTheFlyPlan>(geometry, device, options);
  if (!plan->is_profitable(device, options)) return nullptr;
  return plan;
}

}  // namespace convscope::winograd

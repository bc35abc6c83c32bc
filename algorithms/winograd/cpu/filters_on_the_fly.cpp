// Forward and backward-data where all tiles are one block and the transformed filters outweigh it: each panel
// of them is transformed right before its products, some depths at a time, and never leaves the private
// caches; there is nothing to prepare. Threads share the tiles, and have panels of their own. Start at run().
#include <omp.h>

#include <algorithm>

#include "algorithms/winograd/cpu/convolution_plan.hpp"

namespace convscope::winograd {
namespace {

class FewTilesPlan final : public ConvolutionPlan {
 public:
  FewTilesPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);
  bool pays(const DeviceInfo& device, const PlanOptions& options) const;
  void run(const ConvArgs& args, Queue& queue) override;
  double longest_sum() const override {
    return static_cast<double>(std::min(depth_, depth_together_) + ceil_div(depth_, depth_together_));
  }

 private:
  int64_t filter_floats_together() const { return odd_lines(depth_together_ * panel_columns_); }
  Ahead filters_ahead(const float* filter, int64_t panel, int64_t depth, int64_t plane) const;
  // The filters' transform, products and inverse of one panel.
  void run_panel(const Work& work, const float* filter, int64_t panel, float* filters) const;

  int64_t depth_together_ = 0;                  // depths whose filters are transformed at once
  int64_t filters_at_ = 0, thread_floats_ = 0;  // of a thread's transformed filters
  int64_t planes_at_ = 0;
};

FewTilesPlan::FewTilesPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options)
    : ConvolutionPlan(geometry, options) {
  constexpr int64_t kChunk = FilterTransform::kDepthChunk;
  const int64_t fit =
      device.l2_bytes / 2 / (geometry_.planes() * panel_columns_ * static_cast<int64_t>(sizeof(float)));
  depth_together_ = std::clamp(fit / kChunk * kChunk, kChunk, 4 * kChunk);
  blocks_ = {whole_block(geometry_)};
  shape_planes(blocks_.front());
  thread_floats_ = (geometry_.planes() + kPlanesApart) * filter_floats_together();
  filters_at_ = arena_.take(threads_ * thread_floats_);
  planes_at_ = arena_.take(planes_floats_);
}

// If the shared cache holds the tiles, the filters are worth keeping out of memory, and there are panels
// enough to occupy the threads.
bool FewTilesPlan::pays(const DeviceInfo& device, const PlanOptions& options) const {
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  return may_stay(geometry_) && filter_floats() * kFloat > device.l2_bytes &&
         kLeastFilters * planes_floats_ <= filter_floats() &&
         planes_floats_ * kFloat <= shared_cache_bytes(device) && occupies(panels_, threads_) &&
         arena_.bytes() <= options.workspace_cap;
}

// What a plane's product fetches of the filters that are transformed next, in runs too short for the hardware
// to follow. Forward with as many planes as columns: a column from end to end. With fewer: of every column a
// line, the next with the next block of rows. Backward-data: of every depth a line.
Ahead FewTilesPlan::filters_ahead(const float* filter, int64_t panel, int64_t depth, int64_t plane) const {
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

void FewTilesPlan::run_panel(const Work& work, const float* filter, int64_t panel, float* filters) const {
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
               filters_ahead(filter, next_panel, next, plane));
  }
  write_panel(work, panel);
}

void FewTilesPlan::run(const ConvArgs& args, Queue&) {
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

std::unique_ptr<Plan> make_few_tiles_plan(const Geometry& geometry, const DeviceInfo& device,
                                          const PlanOptions& options) {
  auto plan = std::make_unique<FewTilesPlan>(geometry, device, options);
  if (!plan->pays(device, options)) return nullptr;
  return plan;
}

}  // namespace convscope::winograd

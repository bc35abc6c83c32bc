// Forward and backward-data with all filters transformed in prepare(), into planes in the panels of the
// product, with streaming stores where they do not fit in L2. Each thread has blocks of its own, or all share
// the work of each block. Start at run().
#include <omp.h>

#include "algorithms/winograd/cpu/convolution_plan.hpp"

namespace convscope::winograd {
namespace {

class PretransformedPlan final : public ConvolutionPlan {
 public:
  PretransformedPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);
  bool has_prepare() const override { return true; }
  std::optional<OperationCount> operations() const override;
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  int64_t units_multiplied() const { return geometry_.planes() * panels_; }
  void multiply_unit(const Work& work, const float* filters, int64_t index) const {
    const int64_t plane = index / panels_, panel = index % panels_;
    multiply(work, plane, panel, {filters + panel * filters_.panel, filters_.plane, 0, depth_});
  }

  PlaneLayout filters_;
  int64_t filters_at_ = 0, planes_at_ = 0;
  bool stream_filters_;
  bool own_blocks_ = false;  // whether each thread has its own
};

PretransformedPlan::PretransformedPlan(const Geometry& geometry, const DeviceInfo& device,
                                       const PlanOptions& options)
    : ConvolutionPlan(geometry, options) {
  filters_ = {.plane = filter_plane_floats(), .row = panel_columns_, .panel = depth_ * panel_columns_};
  stream_filters_ = filter_floats() * kFloat > device.l2_bytes;
  filters_at_ = arena_.take(filter_floats() * groups_);
  const int64_t strip_floats = geometry_.planes() * geometry_.tile_columns() * (tiles_.row + products_.row);
  const int64_t padding_floats = 2 * geometry_.planes() * kOddLinesPadding;
  const BlockBytes bytes{.strip = strip_floats * kFloat,
                         .stationary = filter_floats() * kFloat,
                         .fixed = arena_.bytes(),
                         .padding = padding_floats * kFloat};
  blocks_ = cut_for_each_thread(geometry_, bytes, device, options);
  own_blocks_ = !blocks_.empty();
  if (!own_blocks_) blocks_ = cut_into_blocks(geometry_, bytes, device, options);
  shape_planes(blocks_.front());
  planes_at_ = arena_.take(planes_floats_ * (own_blocks_ ? threads_ : 1));
}

void PretransformedPlan::prepare(const ConvArgs& args, Queue&) {
  float* const workspace = static_cast<float*>(args.workspace);
  const int64_t chunks = ceil_div(depth_, FilterTransform::kDepthChunk);
  // The two vectors of a panel follow each other, as they lie side by side in every plane.
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int64_t unit = 0; unit < groups_ * written_vectors_ * chunks; ++unit) {
    const int64_t group = unit / (written_vectors_ * chunks), vector = unit % written_vectors_;
    const int64_t depth = unit / written_vectors_ % chunks * FilterTransform::kDepthChunk;
    const float* const filters = filter_of(args, group);
    const bool last = vector + 1 == written_vectors_;
    const float* const next = filter_transform_.first_of(filters, last ? 0 : vector + 1,
                                                         last ? depth + FilterTransform::kDepthChunk : depth);
    filter_transform_.transform(filters, vector, depth,
                                workspace + filters_at_ + group * filter_floats() +
                                    filters_.offset(vector, kernels_.lanes) + depth * filters_.row,
                                filters_.row, filters_.plane, stream_filters_,
                                scratch_.of_thread(workspace, omp_get_thread_num()), next);
  }
}

// Small filters leave room in the caches for blocks of the other planes.
std::optional<OperationCount> PretransformedPlan::operations() const {
  OperationCount count = count_tiles();
  count.transform_flops += transformed_filters() * filter_transform_.transform_flops();
  const double planes = 2 * (tile_bytes() + product_bytes() + filter_bytes());
  (filter_bytes() <= kMaxCachedFilterBytes ? count.cached_bytes : count.bytes) += planes;
  return count;
}

void PretransformedPlan::run(const ConvArgs& args, Queue&) {
  const auto blocks = static_cast<int64_t>(blocks_.size());
  float* const planes = static_cast<float*>(args.workspace) + planes_at_;
  const float* const filters = static_cast<const float*>(args.workspace) + filters_at_;
#pragma omp parallel num_threads(threads_)
  if (own_blocks_) {
#pragma omp for schedule(dynamic) collapse(2)
    for (int64_t group = 0; group < groups_; ++group)
      for (int64_t n = 0; n < blocks; ++n) {
        const Work own = work(args, group, blocks_[n], planes + omp_get_thread_num() * planes_floats_);
        for (int64_t i = 0; i < units_read(own.block); ++i) read(own, i);
        for (int64_t i = 0; i < units_multiplied(); ++i)
          multiply_unit(own, filters + group * filter_floats(), i);
        for (int64_t i = 0; i < units_written(own.block); ++i)
          write(own, vector_unit(own.block, together_, written_vectors_, i));
      }
  } else {
    for (int64_t group = 0; group < groups_; ++group)
      for (const Block& block : blocks_) {
        const Work shared = work(args, group, block, planes);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < units_read(block); ++i) read(shared, i);
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < units_multiplied(); ++i)
          multiply_unit(shared, filters + group * filter_floats(), i);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < units_written(block); ++i)
          write(shared, vector_unit(block, together_, written_vectors_, i));
      }
  }
}

}  // namespace

std::unique_ptr<Plan> make_pretransformed_plan(const Geometry& geometry, const DeviceInfo& device,
                                               const PlanOptions& options) {
  return std::make_unique<PretransformedPlan>(geometry, device, options);
}

}  // namespace convscope::winograd

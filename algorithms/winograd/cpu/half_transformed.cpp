// Forward and backward-data where the transformed filters do not fit in the caches and tiles are many.
// prepare() transforms only the columns of each filter, which takes half the memory of its planes or less.
// The rows are transformed right before their products, for one panel and one row of points at a time, into a
// buffer that fits in L2, where the products of the panel stay until they are transformed back. Each thread
// has blocks of its own. Kept besides pretransformed.cpp because it can take a sixth less time (AlexNet's
// conv3, forward, batch 16). Start at run().
#include <omp.h>

#include "algorithms/winograd/cpu/convolution_plan.hpp"

namespace convscope::winograd {
namespace {

class HalfTransformedPlan final : public ConvolutionPlan {
 public:
  HalfTransformedPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);
  bool is_profitable(const PlanOptions& options) const;
  bool has_prepare() const override { return true; }
  std::optional<OperationCount> operations() const override;
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  int64_t filter_panel_floats() const { return odd_lines(depth_ * panel_columns_); }
  // Of half-transformed filters: those of one panel and one row of points, and those of a group.
  int64_t half_floats() const { return 2 * filter_transform_.half_floats(); }
  int64_t group_floats() const { return panels_ * geometry_.points_h() * half_floats(); }
  void run_panel(const Work& work, const float* halves, int64_t panel, float* filters) const;

  int64_t halves_at_ = 0;
  int64_t filters_at_ = 0, thread_floats_ = 0;  // of one thread's transformed filters
  int64_t planes_at_ = 0;
};

HalfTransformedPlan::HalfTransformedPlan(const Geometry& geometry, const DeviceInfo& device,
                                         const PlanOptions& options)
    : ConvolutionPlan(geometry, options) {
  // Only one panel of products at a time.
  products_.row = panel_columns_;
  products_.panel = 0;
  thread_floats_ = (geometry_.points_w() + kPlanesApart) * filter_panel_floats();
  // A row of points of the filters, a panel of products, and the tiles of two planes.
  const int64_t l2_floats = device.l2_bytes / kFloat;
  const int64_t strip_floats =
      geometry_.tile_columns() * (geometry_.planes() * products_.row + 2 * tiles_.row);
  blocks_ = cut_to_fit(geometry_, (l2_floats - geometry_.points_w() * filter_panel_floats()) / strip_floats,
                       threads_);
  if (blocks_.empty()) return;
  shape_planes(blocks_.front());
  halves_at_ = arena_.take(groups_ * group_floats());
  filters_at_ = arena_.take(threads_ * thread_floats_);
  planes_at_ = arena_.take(threads_ * planes_floats_);
}

bool HalfTransformedPlan::is_profitable(const PlanOptions& options) const {
  // With fewer tiles the transform of the filters' rows is more than a tenth of the products' work.
  constexpr int64_t kMinTiles = 24;
  return geometry_.points_h() > 1 && geometry_.points_w() > 1 &&
         filter_floats() * kFloat > kMaxCachedFilterBytes && !blocks_.empty() &&
         blocks_.front().strips() * geometry_.tile_columns() >= kMinTiles &&
         arena_.bytes() <= options.workspace_cap;
}

void HalfTransformedPlan::prepare(const ConvArgs& args, Queue&) {
  float* const workspace = static_cast<float*>(args.workspace);
  const int64_t chunks = ceil_div(depth_, FilterTransform::kDepthChunk);
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int64_t unit = 0; unit < groups_ * written_vectors_ * chunks; ++unit) {
    const int64_t group = unit / (written_vectors_ * chunks), vector = unit / chunks % written_vectors_;
    const int64_t depth = unit % chunks * FilterTransform::kDepthChunk;
    const float* const filters = filter_of(args, group);
    const bool last = depth + FilterTransform::kDepthChunk >= depth_;
    const float* const next =
        filter_transform_.first_of(filters, last ? (vector + 1) % written_vectors_ : vector,
                                   last ? 0 : depth + FilterTransform::kDepthChunk);
    float* const halves = workspace + halves_at_ + group * group_floats() +
                          vector / 2 * geometry_.points_h() * half_floats() +
                          vector % 2 * filter_transform_.half_floats();
    filter_transform_.transform_columns(filters, vector, depth, halves, half_floats(),
                                        scratch_.of_thread(workspace, omp_get_thread_num()), next);
  }
}

void HalfTransformedPlan::run_panel(const Work& work, const float* halves, int64_t panel,
                                    float* filters) const {
  const int64_t points_w = geometry_.points_w();
  for (int64_t i = 0; i < geometry_.points_h(); ++i) {
    const float* const half = halves + (panel * geometry_.points_h() + i) * half_floats();
    for (int64_t vector = 0; vector < vectors_end(panel) - 2 * panel; ++vector)
      filter_transform_.transform_row(half + vector * filter_transform_.half_floats(),
                                      filters + vector * kernels_.lanes, panel_columns_,
                                      filter_panel_floats());
    for (int64_t plane = i * points_w; plane < (i + 1) * points_w; ++plane) {
      // Meanwhile the tiles of the next plane are prefetched, as they lie.
      const float* const next = work.tiles + (plane + 1) % geometry_.planes() * tiles_.plane;
      multiply(work, plane, panel, {filters, filter_panel_floats(), 0, depth_, i * points_w},
               prefetch_lines(next, depth_));
    }
  }
  write_panel(work, panel);
}

// Every block transforms the rows of all filters again. Half-transformed filters and tiles pass through
// memory; whole filters and products stay in the private caches.
std::optional<OperationCount> HalfTransformedPlan::operations() const {
  OperationCount count = count_tiles();
  const double blocks = static_cast<double>(blocks_.size());
  count.transform_flops +=
      transformed_filters() * (filter_transform_.columns_flops() + blocks * filter_transform_.rows_flops());
  const double half_bytes = filter_bytes() * geometry_.w.taps / geometry_.points_w();
  count.bytes += 2 * (tile_bytes() + half_bytes);
  count.cached_bytes = 2 * (filter_bytes() + product_bytes());
  return count;
}

void HalfTransformedPlan::run(const ConvArgs& args, Queue&) {
  float* const workspace = static_cast<float*>(args.workspace);
  const auto blocks = static_cast<int64_t>(blocks_.size());
#pragma omp parallel for schedule(dynamic) collapse(2) num_threads(threads_)
  for (int64_t group = 0; group < groups_; ++group)
    for (int64_t n = 0; n < blocks; ++n) {
      const int thread = omp_get_thread_num();
      const Work own = work(args, group, blocks_[n], workspace + planes_at_ + thread * planes_floats_);
      for (int64_t i = 0; i < units_read(own.block); ++i) read(own, i);
      for (int64_t panel = 0; panel < panels_; ++panel)
        run_panel(own, workspace + halves_at_ + group * group_floats(), panel,
                  workspace + filters_at_ + thread * thread_floats_);
    }
}

}  // namespace

std::unique_ptr<Plan> make_half_transformed_plan(const Geometry& geometry, const DeviceInfo& device,
                                                 const PlanOptions& options) {
  auto plan = std::make_unique<HalfTransformedPlan>(geometry, device, options);
  if (!plan->is_profitable(options)) return nullptr;
  return plan;
}

}  // namespace convscope::winograd

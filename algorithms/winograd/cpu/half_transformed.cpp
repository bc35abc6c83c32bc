// Forward and backward-data where the transformed filters are too large for the caches, and the tiles many:
// prepare() transforms the columns of each filter only, which makes a half or less of its planes. The rows
// are transformed right before their products, for one panel of columns and one row of points at a time, into
// a buffer of the thread's second cache, where the panel's products stay as well until they are inverted.
// Each thread has blocks of its own. Start at run().
#include <omp.h>

#include "algorithms/winograd/cpu/convolution_plan.hpp"

namespace convscope::winograd {
namespace {

class PointRowsPlan final : public ConvolutionPlan {
 public:
  PointRowsPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);
  bool pays(const PlanOptions& options) const;
  bool has_prepare() const override { return true; }
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  int64_t filter_panel_floats() const { return odd_lines(depth_ * panel_columns_); }
  // Of half-transformed filters: those of one panel and one row of points, and those of a group.
  int64_t half_floats() const { return 2 * filter_transform_.half_floats(); }
  int64_t group_floats() const { return panels_ * geometry_.points_h() * half_floats(); }
  void run_panel(const Work& work, const float* halves, int64_t panel, float* filters) const;

  int64_t halves_at_ = 0;
  int64_t filters_at_ = 0, thread_floats_ = 0;  // of a thread's transformed filters
  int64_t planes_at_ = 0;
};

PointRowsPlan::PointRowsPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options)
    : ConvolutionPlan(geometry, options) {
  // Only one panel of products at a time.
  products_.row = panel_columns_;
  products_.panel = 0;
  thread_floats_ = (geometry_.points_w() + kPlanesApart) * filter_panel_floats();
  // A row of points of the filters, a panel of products, and the tiles of two planes.
  const int64_t l2_floats = device.l2_bytes / static_cast<int64_t>(sizeof(float));
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

bool PointRowsPlan::pays(const PlanOptions& options) const {
  // Fewer tiles are multiplied in less than ten times what it takes to transform the rows of the filters.
  constexpr int64_t kLeastTiles = 24;
  return geometry_.points_h() > 1 && geometry_.points_w() > 1 &&
         filter_floats() * static_cast<int64_t>(sizeof(float)) > kMostCachedFilters && !blocks_.empty() &&
         blocks_.front().strips() * geometry_.tile_columns() >= kLeastTiles &&
         arena_.bytes() <= options.workspace_cap;
}

void PointRowsPlan::prepare(const ConvArgs& args, Queue&) {
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

void PointRowsPlan::run_panel(const Work& work, const float* halves, int64_t panel, float* filters) const {
  const int64_t points_w = geometry_.points_w();
  for (int64_t i = 0; i < geometry_.points_h(); ++i) {
    const float* const half = halves + (panel * geometry_.points_h() + i) * half_floats();
    for (int64_t vector = 0; vector < vectors_end(panel) - 2 * panel; ++vector)
      filter_transform_.transform_row(half + vector * filter_transform_.half_floats(),
                                      filters + vector * kernels_.lanes, panel_columns_,
                                      filter_panel_floats());
    for (int64_t plane = i * points_w; plane < (i + 1) * points_w; ++plane) {
      // Meanwhile the next plane's tiles are fetched, as they lie.
      const float* const next = work.tiles + (plane + 1) % geometry_.planes() * tiles_.plane;
      multiply(work, plane, panel, {filters, filter_panel_floats(), 0, depth_, i * points_w},
               lines_ahead(next, depth_));
    }
  }
  write_panel(work, panel);
}

void PointRowsPlan::run(const ConvArgs& args, Queue&) {
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

std::unique_ptr<Plan> make_point_rows_plan(const Geometry& geometry, const DeviceInfo& device,
                                           const PlanOptions& options) {
  auto plan = std::make_unique<PointRowsPlan>(geometry, device, options);
  if (!plan->pays(options)) return nullptr;
  return plan;
}

}  // namespace convscope::winograd

// What a plan of the filter's gradient decides before it runs: blocks, slices, where the products are, and
// the counts that follow. No kernel is called here.
#include <algorithm>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/winograd/cpu/filter_gradient.hpp"
#include "algorithms/winograd/error_growth.hpp"

namespace convscope::winograd {
namespace {

// So many runs of kLongestRun tiles are added to the products before these go to the totals and start again,
// where one chain of all runs would be too long.
constexpr int64_t kMaxAdditions = 256;

}  // namespace

FilterGradientPlan::FilterGradientPlan(const Geometry& geometry, const DeviceInfo& device,
                                       const PlanOptions& options)
    : geometry_(geometry),
      kernels_(vector_kernels()),
      filter_transform_(kernels_, geometry_),
      threads_(options.threads),
      rows_(geometry.input_view.lanes()),
      columns_(geometry.output_view.lanes()),
      input_vectors_(ceil_div(rows_, kernels_.lanes)),
      output_vectors_(ceil_div(columns_, kernels_.lanes)),
      panel_columns_(gemm_shape().columns_per_panel),
      panels_(ceil_div(columns_, panel_columns_)),
      row_panels_(ceil_div(rows_, panel_columns_)),
      together_(rows_together(geometry_, kernels_.lanes, threads_)) {
  scratch_ = take_scratch(arena_, geometry_, together_, kernels_.lanes, threads_);
  data_.row = gradients_.row = panel_columns_;
  shape_products(rows_, panels_);
  const BlockBytes bytes = block_bytes();
  const auto cut = [&](int64_t reserved) {
    PlanOptions left = options;
    left.workspace_cap -= reserved;
    cut_blocks(bytes, device, left);
  };
  cut(0);
  // A cap too small for the totals that it makes necessary is exceeded.
  if (!products_in_private_cache_ && longest_sum() > max_additions(geometry_)) {
    cut(product_floats_ * slices_ * kFloat);
    together_blocks_ = std::max<int64_t>(kMaxAdditions / additions_of_a_block(), 1);
  }
  products_at_ = arena_.take(product_floats_ * (products_in_private_cache_ ? threads_ : slices_));
  planes_at_ = arena_.take(planes_floats_ * slices_);
  if (together_blocks_ > 0) totals_at_ = arena_.take(product_floats_ * slices_);
}

BlockBytes FilterGradientPlan::block_bytes() const {
  const int64_t strip_floats =
      geometry_.planes() * geometry_.tile_columns() * (row_panels_ + panels_) * panel_columns_;
  // Panels are rounded, and then the planes of them.
  const int64_t padding_floats = geometry_.planes() * (row_panels_ + panels_ + 2) * kOddLinesPadding;
  return {.strip = strip_floats * kFloat,
          .stationary = product_floats_ * kFloat,
          .fixed = arena_.bytes() + threads_ * product_floats_ * kFloat,
          .padding = padding_floats * kFloat};
}

void FilterGradientPlan::cut_blocks(BlockBytes bytes, const DeviceInfo& device, const PlanOptions& options) {
  slices_ = 1;
  blocks_.clear();
  // A slice is read and written for every block, and read again when it is added, which is little of a
  // thread's work only if it fits in the private caches and the thread has many tiles.
  constexpr int64_t kMinTiles = 8;  // in bytes of their planes, times a slice
  const int64_t all_tiles = geometry_.problem.batch * geometry_.tile_rows() * bytes.strip;
  if (bytes.stationary <= 2 * device.l2_bytes && kMinTiles * threads_ * bytes.stationary <= all_tiles)
    blocks_ = cut_for_each_thread(geometry_, bytes, device, options);
  if (!blocks_.empty()) {
    slices_ = threads_;
  } else if (!take_whole(device, options)) {
    bytes.fixed = arena_.bytes() + product_floats_ * kFloat;
    blocks_ = cut_into_blocks(geometry_, bytes, device, options);
    shape_planes(blocks_.front());
    // Under a cap that not even these meet, all tiles as one block where that takes less.
    PlanOptions least = options;
    least.workspace_cap = arena_.bytes() + (product_floats_ + planes_floats_) * kFloat;
    if (least.workspace_cap > options.workspace_cap) take_whole(device, least);
  }
  shape_planes(blocks_.front());
}

void FilterGradientPlan::shape_planes(const Block& block) {
  const int64_t tiles = block.strips() * geometry_.tile_columns();
  data_.panel = gradients_.panel = odd_lines(tiles * panel_columns_);
  data_.plane = odd_lines(row_panels_ * data_.panel);
  gradients_.plane = odd_lines(panels_ * gradients_.panel);
  planes_floats_ = (gradients_.plane + data_.plane) * geometry_.planes();
}

// Takes all tiles as one block and one unit of products per thread, if the tiles, which are read again for
// every panel, fit in the LLC, and there are enough units for the threads. Returns whether it did.
bool FilterGradientPlan::take_whole(const DeviceInfo& device, const PlanOptions& options) {
  shape_planes(whole_block(geometry_));
  // Fewer products suffice where they fit in the private caches.
  const int64_t products = product_floats_ * kFloat, private_caches = 2 * device.l2_bytes * threads_;
  const int64_t few = std::max(products / kMinFilterRatio, std::min(products, private_caches));
  if (!geometry_.has_one_residue() || planes_floats_ * kFloat > std::min(few, shared_cache_bytes(device)) ||
      !keeps_threads_busy(units_of_products(), threads_))
    return false;
  shape_products(panel_columns_, 1);
  product_floats_ += kPlanesApart * products_.plane;
  products_in_private_cache_ =
      arena_.bytes() + (threads_ * product_floats_ + planes_floats_) * kFloat <= options.workspace_cap;
  if (products_in_private_cache_)
    blocks_ = {whole_block(geometry_)};
  else
    shape_products(rows_, panels_);
  return products_in_private_cache_;
}

void FilterGradientPlan::shape_products(int64_t rows, int64_t panels) {
  products_.panel = 2 * kernels_.lanes;
  products_.row = odd_lines(panels * panel_columns_);
  products_.plane = odd_lines(rows * products_.row);
  product_floats_ = products_.plane * geometry_.planes();
}

// Products that are inverted at once, or are small, stay in the private caches; small ones leave room there
// for blocks of tiles.
std::optional<OperationCount> FilterGradientPlan::operations() const {
  const double images = static_cast<double>(geometry_.problem.batch * geometry_.problem.groups);
  const double input_lanes = static_cast<double>(input_vectors_ * kernels_.lanes);
  const double output_lanes = static_cast<double>(output_vectors_ * kernels_.lanes);
  const double points = static_cast<double>(geometry_.h.points() * geometry_.w.points());
  const double filters = static_cast<double>(geometry_.problem.groups * rows_) * output_lanes;
  OperationCount count;
  count.product_flops = 2 * images * points * static_cast<double>(rows_ * panels_ * panel_columns_);
  count.transform_flops = images * (input_lanes * transform_flops(geometry_, TileOperand::data) +
                                    output_lanes * transform_flops(geometry_, TileOperand::coefficients)) +
                          filters * filter_transform_.inverse_flops();
  count.bytes = static_cast<double>(geometry_.problem.total_bytes());
  const double products = 2 * sizeof(float) * filters * static_cast<double>(geometry_.planes());
  const double tiles = 2 * sizeof(float) * images * points * (input_lanes + output_lanes);
  const bool small = products <= 2 * kMaxCachedFilterBytes;
  (small || products_in_private_cache_ ? count.cached_bytes : count.bytes) += products;
  (small && !products_in_private_cache_ ? count.cached_bytes : count.bytes) += tiles;
  return count;
}

int64_t FilterGradientPlan::additions_of_a_block() const {
  return ceil_div(blocks_.front().strips() * geometry_.tile_columns(), kLongestRun);
}

double FilterGradientPlan::longest_sum() const {
  const int64_t tiles = blocks_.front().strips() * geometry_.tile_columns(), blocks = blocks_of_a_slice();
  const int64_t together = together_blocks_ > 0 ? std::min(together_blocks_, blocks) : blocks;
  return static_cast<double>(std::min(tiles, kLongestRun) + together * additions_of_a_block() +
                             ceil_div(blocks, together) + slices_);
}

std::unique_ptr<Plan> make_filter_gradient_plan(const Geometry& geometry, const DeviceInfo& device,
                                                const PlanOptions& options) {
  return std::make_unique<FilterGradientPlan>(geometry, device, options);
}

}  // namespace convscope::winograd

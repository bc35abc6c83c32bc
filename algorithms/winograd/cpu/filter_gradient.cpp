// Backward-filter, the same algorithm with the roles exchanged: the output's gradient is the "filter" of a
// correlation with as many outputs as the filter has taps. Plane (i, j) holds, summed over the tiles,
//   data[tile][image lane]^T  *  gradients[tile][k]  ->  products[image lane][k]
// The threads share the work of each block, or each has blocks and products (a slice) of its own, and slices
// are added in a fixed order: a given number of threads always gives the same bits. Where all tiles are one
// block, the products of a few filters and lanes are transformed back as soon as they are made, and never
// leave the private caches. Start at run().
#include <omp.h>

#include <algorithm>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/winograd/cpu/block_plan.hpp"
#include "algorithms/winograd/cpu/filter_transform.hpp"
#include "algorithms/winograd/cpu/plans.hpp"
#include "algorithms/winograd/error_growth.hpp"

namespace convscope::winograd {
namespace {

// Tiles that are summed in registers before they are added to the products: rounding errors grow with the
// number of additions that follow one another.
constexpr int64_t kLongestRun = 256;
// Such sums that are added to the products before the products are added to totals and start again, where one
// chain of all of them would be too long.
constexpr int64_t kMaxAdditions = 256;

class FilterGradientPlan final : public Plan {
 public:
  FilterGradientPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);

  int64_t workspace_bytes() const override { return arena_.bytes(); }
  std::string implementation() const override { return geometry_.describe(); }
  void run(const ConvArgs& args, Queue& queue) override;
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override;

 private:
  // One group's block: its tensors, planes and sums.
  struct Work {
    const Block& block;
    bool first;  // whether its products are the first of a sum
    const float *input, *output;
    float *gradients, *data, *products;
    Scratch scratch;
  };
  Work work(const ConvArgs& args, int64_t group, int64_t slice, int64_t block) const;
  BlockBytes block_bytes() const;
  void cut_blocks(BlockBytes bytes, const DeviceInfo& device, const PlanOptions& options);
  int64_t additions_of_a_block() const;
  int64_t blocks_of_a_slice() const { return ceil_div(static_cast<int64_t>(blocks_.size()), slices_); }
  // Whether products start again with this block of a slice, those before being in the totals.
  bool starts(int64_t slice, int64_t block) const {
    const int64_t number = block - first_block(slice);
    return number == 0 || (together_blocks_ > 0 && number % together_blocks_ == 0);
  }
  // Whether they are added to the totals after this block.
  bool is_total(int64_t slice, int64_t block) const {
    return together_blocks_ > 0 && (block + 1 == first_block(slice + 1) || starts(slice, block + 1));
  }
  void add_to_totals(float* workspace, int64_t slice, int64_t block, int64_t begin, int64_t end) const;
  void shape_products(int64_t rows, int64_t panels);
  void shape_planes(const Block& block);
  bool take_whole(const DeviceInfo& device, const PlanOptions& options);
  // The blocks that are added up in one slice of products: all, or of several slices each thread has its own.
  int64_t first_block(int64_t slice) const { return slice * static_cast<int64_t>(blocks_.size()) / slices_; }
  // The three steps of a block, each of so many units that can be done in any order.
  int64_t units_of_data(const Block& block) const { return units(block, together_) * image_vectors_; }
  int64_t units_of_gradients(const Block& block) const { return units(block, together_) * signal_vectors_; }
  int64_t units_multiplied() const { return geometry_.planes() * panels_; }
  // One panel of rows by one of columns, in all planes.
  int64_t units_of_products() const { return row_panels_ * panels_; }
  void transform_data(const Work& work, int64_t index) const;
  void transform_gradients(const Work& work, int64_t index) const;
  void multiply(const Work& work, int64_t plane, int64_t panel, int64_t row_panel, float* c) const;
  void multiply(const Work& work, int64_t index) const;
  void multiply_and_invert(const Work& work, int64_t index, float* filter) const;
  void add_slices(float* products) const;
  // The two schedules of the blocks of a group; called inside a parallel region.
  void run_slices(const ConvArgs& args, int64_t group) const;
  void run_shared(const ConvArgs& args, int64_t group, float* filter) const;
  // Where the sums over all blocks of the slices are.
  int64_t sums_at() const { return together_blocks_ > 0 ? totals_at_ : products_at_; }
  void invert(const float* products, int64_t index, float* filter, const Scratch& scratch) const;

  const Geometry geometry_;
  const VectorKernels& kernels_;
  const FilterTransform filter_transform_;
  const int threads_;
  const int64_t rows_, columns_, image_vectors_, signal_vectors_, panel_columns_, panels_, row_panels_;
  PlaneLayout gradients_, data_, products_;
  int64_t planes_at_ = 0, planes_floats_ = 0;  // of the gradients and data of one block
  int64_t products_at_ = 0, product_floats_ = 0;
  int64_t totals_at_ = 0, together_blocks_ = 0;  // blocks whose products are one term of the totals; 0: none
  int64_t together_;
  std::vector<Block> blocks_;
  int64_t slices_ = 1;
  // Whether they fit there: each thread has room for one unit of them, which it inverts at once.
  bool products_in_private_cache_ = false;
  ScratchPart scratch_;
  Arena arena_;
};

FilterGradientPlan::FilterGradientPlan(const Geometry& geometry, const DeviceInfo& device,
                                       const PlanOptions& options)
    : geometry_(geometry),
      kernels_(vector_kernels()),
      filter_transform_(kernels_, geometry_),
      threads_(options.threads),
      rows_(geometry.image.lanes()),
      columns_(geometry.signal.lanes()),
      image_vectors_(ceil_div(rows_, kernels_.lanes)),
      signal_vectors_(ceil_div(columns_, kernels_.lanes)),
      panel_columns_(gemm_shape().columns_per_panel),
      panels_(ceil_div(columns_, panel_columns_)),
      row_panels_(ceil_div(rows_, panel_columns_)),
      together_(rows_together(geometry_, kernels_.lanes, threads_)) {
  scratch_ = take_scratch(arena_, geometry_, together_, kernels_.lanes, threads_);
  data_.row = gradients_.row = panel_columns_;
  shape_products(rows_, panels_);
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
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
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
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
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
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
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
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

FilterGradientPlan::Work FilterGradientPlan::work(const ConvArgs& args, int64_t group, int64_t slice,
                                                  int64_t block) const {
  float* const workspace = static_cast<float*>(args.workspace);
  float* const gradients = workspace + planes_at_ + slice * planes_floats_;
  const TensorView &image = geometry_.image, &signal = geometry_.signal;
  return {blocks_[static_cast<size_t>(block)],
          starts(slice, block),
          static_cast<const float*>(args.input) + group * image.channels * image.shape.stride[1],
          static_cast<const float*>(args.output) + group * signal.channels * signal.shape.stride[1],
          gradients,
          gradients + gradients_.plane * geometry_.planes(),
          workspace + products_at_ + slice * product_floats_,
          scratch_.of_thread(workspace, omp_get_thread_num())};
}

void FilterGradientPlan::transform_data(const Work& work, int64_t index) const {
  const auto [rows, vector] = vector_unit(work.block, together_, image_vectors_, index);
  transform_tiles(kernels_, geometry_, TileOperand::data, geometry_.image, work.input, work.block, rows,
                  vector, data_, work.data, work.scratch);
}

void FilterGradientPlan::transform_gradients(const Work& work, int64_t index) const {
  const auto [rows, vector] = vector_unit(work.block, together_, signal_vectors_, index);
  transform_tiles(kernels_, geometry_, TileOperand::coefficients, geometry_.signal, work.output, work.block,
                  rows, vector, gradients_, work.gradients, work.scratch);
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

// Products that are inverted at once, or are small, stay in the private caches; small ones leave room there
// for blocks of tiles.
std::optional<OperationCount> FilterGradientPlan::operations() const {
  const double images = static_cast<double>(geometry_.problem.batch * geometry_.problem.groups);
  const double image_lanes = static_cast<double>(image_vectors_ * kernels_.lanes);
  const double signal_lanes = static_cast<double>(signal_vectors_ * kernels_.lanes);
  const double points = static_cast<double>(geometry_.h.points() * geometry_.w.points());
  const double filters = static_cast<double>(geometry_.problem.groups * rows_) * signal_lanes;
  OperationCount count;
  count.product_flops = 2 * images * points * static_cast<double>(rows_ * panels_ * panel_columns_);
  count.transform_flops = images * (image_lanes * transform_flops(geometry_, TileOperand::data) +
                                    signal_lanes * transform_flops(geometry_, TileOperand::coefficients)) +
                          filters * filter_transform_.inverse_flops();
  count.bytes = static_cast<double>(geometry_.problem.total_bytes());
  const double products = 2 * sizeof(float) * filters * static_cast<double>(geometry_.planes());
  const double tiles = 2 * sizeof(float) * images * points * (image_lanes + signal_lanes);
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

void FilterGradientPlan::multiply(const Work& work, int64_t index) const {
  const int64_t plane = index / panels_, panel = index % panels_;
  float* const c = work.products + plane * products_.plane + panel * panel_columns_;
  for (int64_t row = 0; row < row_panels_; ++row)
    multiply(work, plane, panel, row, c + row * panel_columns_ * products_.row);
}

void FilterGradientPlan::invert(const float* products, int64_t index, float* filter,
                                const Scratch& scratch) const {
  const int64_t lane = index / signal_vectors_ * FilterTransform::kDepthChunk;
  const int64_t end = std::min(lane + FilterTransform::kDepthChunk, rows_), vector = index % signal_vectors_;
  filter_transform_.inverse(products + lane * products_.row + products_.offset(vector, kernels_.lanes),
                            products_.row, products_.plane, lane, end, vector, filter, scratch);
}

// A unit of products from all tiles, and its part of the filter's gradient.
void FilterGradientPlan::multiply_and_invert(const Work& work, int64_t index, float* filter) const {
  const int64_t panel = index / row_panels_, row_panel = index % row_panels_;
  const int64_t first = row_panel * panel_columns_, end = std::min(first + panel_columns_, rows_);
  for (int64_t plane = 0; plane < geometry_.planes(); ++plane)
    multiply(work, plane, panel, row_panel, work.products + plane * products_.plane);
  const int64_t vectors_end = std::min(2 * panel + 2, signal_vectors_);
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
    for (int64_t i = 0; i < ceil_div(rows_, FilterTransform::kDepthChunk) * signal_vectors_; ++i)
      invert(workspace + sums_at(), i, filter, scratch);
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

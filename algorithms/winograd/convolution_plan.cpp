// Forward and backward-data. For a block of strips, plane (i, j) holds
//   tiles[row][depth]  *  filters[depth][column]  ->  products[row][column]
// with rows the tiles, depth the channels read and columns the channels written; see plans.hpp. The filters
// are transformed in prepare(), and the threads share the work of each block, or each has blocks of its own.
// Where all tiles are one block and the transformed filters would not fit the private caches, each panel of
// them is transformed right before its products instead, and never leaves those caches. Start at run().
#include <omp.h>

#include <algorithm>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/winograd/block_plan.hpp"
#include "algorithms/winograd/filter_transform.hpp"
#include "algorithms/winograd/plans.hpp"

namespace convscope::winograd {
namespace {

class ConvolutionPlan final : public Plan {
 public:
  ConvolutionPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);

  int64_t workspace_bytes() const override { return arena_.bytes(); }
  std::string implementation() const override { return geometry_.describe(); }
  bool has_prepare() const override { return depth_together_ == 0; }
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  // One group's block: its tensors, transformed filters and planes.
  struct Work {
    const Block& block;
    const float* read;
    float* written;
    const float* filters;
    float *tiles, *products;
    Scratch scratch;
  };
  Work work(const ConvArgs& args, int64_t group, const Block& block, int planes_of) const;
  // Transformed filters of one panel of columns, for the depths [first, end).
  struct FilterPanel {
    const float* data;
    int64_t plane, first, end;
  };
  FilterPanel prepared(const Work& work, int64_t panel) const {
    return {work.filters + panel * filters_.panel, filters_.plane, 0, depth_};
  }
  bool take_whole(const DeviceInfo& device, const PlanOptions& options);
  void shape_planes(const Block& block);
  // The three steps of a block, each of so many units that can be done in any order.
  int64_t units_read(const Block& block) const { return units(block, together_) * read_vectors_; }
  int64_t units_multiplied() const { return geometry_.planes() * panels_; }
  int64_t units_written(const Block& block) const { return units(block, together_) * written_vectors_; }
  void read(const Work& work, int64_t index) const;
  void multiply(const Work& work, int64_t plane, int64_t panel, const FilterPanel& filters,
                Ahead ahead = {}) const;
  void write(const Work& work, const VectorUnit& unit) const;
  void write(const Work& work, int64_t index) const {
    write(work, vector_unit(work.block, together_, written_vectors_, index));
  }
  Ahead filters_ahead(const float* filter, int64_t panel, int64_t depth, int64_t plane) const;
  // The filters' transform, products and inverse of one panel.
  void run_panel(const Work& work, const float* filter, int64_t panel, float* filters) const;
  const TensorView& read_view() const { return forward_ ? geometry_.image : geometry_.signal; }
  const TensorView& written_view() const { return forward_ ? geometry_.signal : geometry_.image; }

  const Geometry geometry_;
  const bool forward_;
  const VectorKernels& kernels_;
  const FilterTransform filter_transform_;
  const int threads_;
  const int64_t groups_, depth_, columns_, read_vectors_, written_vectors_, panel_columns_, panels_;
  PlaneLayout filters_, tiles_, products_;
  int64_t filters_at_ = 0, filter_floats_ = 0;
  int64_t planes_at_ = 0, planes_floats_ = 0;  // of the tiles and products of one block
  int64_t together_;
  bool stream_filters_;
  std::vector<Block> blocks_;
  bool own_blocks_ = false;  // whether each thread has its own
  // Depths that run() transforms at once, or 0 where prepare() does it.
  int64_t depth_together_ = 0, together_at_ = 0, together_floats_ = 0;
  ScratchPart scratch_;
  Arena arena_;
};

ConvolutionPlan::ConvolutionPlan(const Geometry& geometry, const DeviceInfo& device,
                                 const PlanOptions& options)
    : geometry_(geometry),
      forward_(geometry.problem.pass == Pass::forward),
      kernels_(vector_kernels()),
      filter_transform_(kernels_, geometry_),
      threads_(options.threads),
      groups_(geometry.problem.groups),
      depth_(read_view().lanes()),
      columns_(written_view().lanes()),
      read_vectors_(ceil_div(depth_, kernels_.lanes)),
      written_vectors_(ceil_div(columns_, kernels_.lanes)),
      panel_columns_(gemm_shape().columns_per_panel),
      panels_(ceil_div(columns_, panel_columns_)),
      together_(rows_together(geometry_, kernels_.lanes, threads_)) {
  scratch_ = take_scratch(arena_, geometry_, together_, kernels_.lanes, threads_);
  filters_.row = panel_columns_;
  filters_.panel = depth_ * panel_columns_;
  filters_.plane = odd_lines(panels_ * filters_.panel);
  filter_floats_ = filters_.plane * geometry_.planes();
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  stream_filters_ = filter_floats_ * kFloat > device.l2_bytes;

  tiles_.panel = products_.panel = 2 * kernels_.lanes;
  tiles_.row = odd_lines(round_up(depth_, kernels_.lanes));
  products_.row = odd_lines(panels_ * panel_columns_);
  if (!take_whole(device, options)) {
    filters_at_ = arena_.take(filter_floats_ * groups_);
    const int64_t strip_floats = geometry_.planes() * geometry_.tile_columns() * (tiles_.row + products_.row);
    const int64_t padding_floats = 2 * geometry_.planes() * kOddLinesPadding;
    const BlockBytes bytes{.strip = strip_floats * kFloat,
                           .stationary = filter_floats_ * kFloat,
                           .fixed = arena_.bytes(),
                           .padding = padding_floats * kFloat};
    blocks_ = cut_for_each_thread(geometry_, bytes, device, options);
    own_blocks_ = !blocks_.empty();
    if (!own_blocks_) blocks_ = cut_into_blocks(geometry_, bytes, device, options);
  }
  shape_planes(blocks_.front());
  planes_at_ = arena_.take(planes_floats_ * (own_blocks_ ? threads_ : 1));
}

void ConvolutionPlan::shape_planes(const Block& block) {
  const int64_t rows = block.strips() * geometry_.tile_columns();
  tiles_.plane = odd_lines(rows * tiles_.row);
  products_.plane = odd_lines(rows * products_.row);
  planes_floats_ = (tiles_.plane + products_.plane) * geometry_.planes();
}

// All tiles as one block, if the shared cache holds it, the filters are worth keeping out of memory, and
// there are panels enough to occupy the threads. Says whether it did.
bool ConvolutionPlan::take_whole(const DeviceInfo& device, const PlanOptions& options) {
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  shape_planes(whole_block(geometry_));
  if (!may_stay(geometry_) || !stream_filters_ || kLeastFilters * planes_floats_ > filter_floats_ ||
      planes_floats_ * kFloat > shared_cache_bytes(device) || !occupies(panels_, threads_))
    return false;
  constexpr int64_t kChunk = FilterTransform::kDepthChunk;
  const int64_t fit = device.l2_bytes / 2 / (geometry_.planes() * panel_columns_ * kFloat);
  const int64_t together = std::clamp(fit / kChunk * kChunk, kChunk, 4 * kChunk);
  const int64_t floats = (geometry_.planes() + kPlanesApart) * odd_lines(together * panel_columns_);
  if (arena_.bytes() + (threads_ * floats + planes_floats_) * kFloat > options.workspace_cap) return false;
  blocks_ = {whole_block(geometry_)};
  depth_together_ = together;
  together_floats_ = floats;
  together_at_ = arena_.take(threads_ * floats);
  return true;
}

void ConvolutionPlan::prepare(const ConvArgs& args, Queue&) {
  float* const workspace = static_cast<float*>(args.workspace);
  const float* const filter = static_cast<const float*>(args.filter);
  const int64_t group_filters = geometry_.problem.elements(Role::filter) / groups_;
  const int64_t chunks = (depth_ + FilterTransform::kDepthChunk - 1) / FilterTransform::kDepthChunk;
  // The two vectors of a panel follow each other, as they lie side by side in every plane.
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int64_t unit = 0; unit < groups_ * written_vectors_ * chunks; ++unit) {
    const int64_t group = unit / (written_vectors_ * chunks), vector = unit % written_vectors_;
    const int64_t depth = unit / written_vectors_ % chunks * FilterTransform::kDepthChunk;
    const float* const filters = filter + group * group_filters;
    const bool last = vector + 1 == written_vectors_;
    const float* const next = filter_transform_.first_of(filters, last ? 0 : vector + 1,
                                                         last ? depth + FilterTransform::kDepthChunk : depth);
    filter_transform_.transform(filters, vector, depth,
                                workspace + filters_at_ + group * filter_floats_ +
                                    filters_.offset(vector, kernels_.lanes) + depth * filters_.row,
                                filters_.row, filters_.plane, stream_filters_,
                                scratch_.of_thread(workspace, omp_get_thread_num()), next);
  }
}

ConvolutionPlan::Work ConvolutionPlan::work(const ConvArgs& args, int64_t group, const Block& block,
                                            int planes_of) const {
  float* const workspace = static_cast<float*>(args.workspace);
  float* const tiles = workspace + planes_at_ + planes_of * planes_floats_;
  const auto* const read = static_cast<const float*>(forward_ ? args.input : args.output);
  auto* const written = static_cast<float*>(forward_ ? args.output : args.input);
  return {block,
          read + group * read_view().channels * read_view().shape.stride[1],
          written + group * written_view().channels * written_view().shape.stride[1],
          workspace + filters_at_ + group * filter_floats_,
          tiles,
          tiles + tiles_.plane * geometry_.planes(),
          scratch_.of_thread(workspace, omp_get_thread_num())};
}

void ConvolutionPlan::read(const Work& work, int64_t index) const {
  const auto [rows, vector] = vector_unit(work.block, together_, read_vectors_, index);
  transform_tiles(kernels_, geometry_, TileOperand::data, read_view(), work.read, work.block, rows, vector,
                  tiles_, work.tiles, work.scratch);
}

// One panel of columns in one plane: the tiles that have this point, the phases that are not zero in it.
// Depths behind the first of the plane are added.
void ConvolutionPlan::multiply(const Work& work, int64_t plane, int64_t panel, const FilterPanel& filters,
                               Ahead ahead) const {
  const Block& block = work.block;
  const int i = static_cast<int>(plane / geometry_.points_w()),
            j = static_cast<int>(plane % geometry_.points_w());
  const Phases::Range phases = geometry_.phases_in(i, j);
  const int64_t begin = forward_ ? phases.begin * geometry_.image.channels : 0;
  const int64_t end = forward_ ? phases.end * geometry_.image.channels : depth_;
  const int64_t from = std::max(begin, filters.first), depth = std::min(end, filters.end) - from;
  if (depth <= 0) return;
  const GemmMode mode = from == begin ? GemmMode::overwrite : GemmMode::add;
  const float* const b = filters.data + plane * filters.plane + (from - filters.first) * panel_columns_;
  const float* a = work.tiles + plane * tiles_.plane + from;
  float* c = work.products + plane * products_.plane + panel * panel_columns_;

  const int64_t strips = block.strips_with(geometry_, i), tile_columns = geometry_.w.tiles_with(j);
  const bool whole = strips == block.strips();
  const int64_t rows = whole ? strips * tile_columns : strips;
  if (rows == 0) return;
  for (int64_t column = 0; column < (whole ? 1 : tile_columns); ++column) {
    gemm_rows(a, tiles_.row, {b}, c, products_.row, rows, panel_columns_, depth, mode, ahead);
    a += block.strips() * tiles_.row;
    c += block.strips() * products_.row;
  }
}

void ConvolutionPlan::write(const Work& work, const VectorUnit& unit) const {
  inverse_tiles(kernels_, geometry_, written_view(), work.written, work.block, unit.rows, unit.vector,
                products_, work.products, work.scratch);
}

// What a plane's product fetches of the filters that are transformed next, in runs too short for the hardware
// to follow. Forward with as many planes as columns: a column from end to end. With fewer: of every column a
// line, the next with the next block of rows. Backward-data: of every depth a line.
Ahead ConvolutionPlan::filters_ahead(const float* filter, int64_t panel, int64_t depth, int64_t plane) const {
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

void ConvolutionPlan::run_panel(const Work& work, const float* filter, int64_t panel, float* filters) const {
  const int64_t vectors_end = std::min(2 * panel + 2, written_vectors_);
  const int64_t plane_floats = odd_lines(depth_together_ * panel_columns_);
  for (int64_t from = 0; from < depth_; from += depth_together_) {
    const int64_t end = std::min(from + depth_together_, depth_);
    for (int64_t depth = from; depth < end; depth += FilterTransform::kDepthChunk)
      for (int64_t vector = 2 * panel; vector < vectors_end; ++vector)
        filter_transform_.transform(filter, vector, depth,
                                    filters + vector % 2 * kernels_.lanes + (depth - from) * panel_columns_,
                                    panel_columns_, plane_floats, false, work.scratch);
    const bool last = end == depth_;
    const int64_t next_panel = last ? panel + threads_ : panel, next = last ? 0 : end;
    for (int64_t plane = 0; plane < geometry_.planes(); ++plane) {
      const Ahead ahead = filters_ahead(filter, next_panel, next, plane);
      multiply(work, plane, panel, {filters, plane_floats, from, end}, ahead);
    }
  }
  for (int64_t i = 0; i < units(work.block, together_); ++i)
    for (int64_t vector = 2 * panel; vector < vectors_end; ++vector)
      write(work, {unit(work.block, together_, i), vector});
}

void ConvolutionPlan::run(const ConvArgs& args, Queue&) {
  const auto blocks = static_cast<int64_t>(blocks_.size());
  const int64_t group_filters = geometry_.problem.elements(Role::filter) / groups_;
#pragma omp parallel num_threads(threads_)
  {
    if (depth_together_ > 0) {
      for (int64_t group = 0; group < groups_; ++group) {
        const Work shared = work(args, group, blocks_.front(), 0);
        float* const filters =
            static_cast<float*>(args.workspace) + together_at_ + omp_get_thread_num() * together_floats_;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < units_read(shared.block); ++i) read(shared, i);
#pragma omp for schedule(dynamic)
        for (int64_t panel = 0; panel < panels_; ++panel)
          run_panel(shared, static_cast<const float*>(args.filter) + group * group_filters, panel, filters);
      }
    } else if (own_blocks_) {
#pragma omp for schedule(dynamic) collapse(2)
      for (int64_t group = 0; group < groups_; ++group)
        for (int64_t n = 0; n < blocks; ++n) {
          const Work own = work(args, group, blocks_[n], omp_get_thread_num());
          for (int64_t i = 0; i < units_read(own.block); ++i) read(own, i);
          for (int64_t i = 0; i < units_multiplied(); ++i)
            multiply(own, i / panels_, i % panels_, prepared(own, i % panels_));
          for (int64_t i = 0; i < units_written(own.block); ++i) write(own, i);
        }
    } else {
      for (int64_t group = 0; group < groups_; ++group)
        for (const Block& block : blocks_) {
          const Work shared = work(args, group, block, 0);
#pragma omp for schedule(static)
          for (int64_t i = 0; i < units_read(block); ++i) read(shared, i);
#pragma omp for schedule(dynamic, 4)
          for (int64_t i = 0; i < units_multiplied(); ++i)
            multiply(shared, i / panels_, i % panels_, prepared(shared, i % panels_));
#pragma omp for schedule(static)
          for (int64_t i = 0; i < units_written(block); ++i) write(shared, i);
        }
    }
  }
}

}  // namespace

std::unique_ptr<Plan> make_convolution_plan(const Geometry& geometry, const DeviceInfo& device,
                                            const PlanOptions& options) {
  return std::make_unique<ConvolutionPlan>(geometry, device, options);
}

}  // namespace convscope::winograd

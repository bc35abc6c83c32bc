#include "algorithms/winograd/cpu/convolution_plan.hpp"

#include <omp.h>

#include <algorithm>

#include "bench/algorithm/epilogue.hpp"

namespace convscope::winograd {

ConvolutionPlan::ConvolutionPlan(const Geometry& geometry, const PlanOptions& options)
    : geometry_(geometry),
      forward_(geometry.problem.pass == Pass::forward),
      read_view_(forward_ ? geometry_.input_view : geometry_.output_view),
      written_view_(forward_ ? geometry_.output_view : geometry_.input_view),
      kernels_(vector_kernels()),
      filter_transform_(kernels_, geometry_),
      threads_(options.threads),
      groups_(geometry.problem.groups),
      depth_(read_view_.lanes()),
      columns_(written_view_.lanes()),
      read_vectors_(ceil_div(depth_, kernels_.lanes)),
      written_vectors_(ceil_div(columns_, kernels_.lanes)),
      panel_columns_(gemm_shape().columns_per_panel),
      panels_(ceil_div(columns_, panel_columns_)),
      together_(rows_together(geometry_, kernels_.lanes, threads_)) {
  scratch_ = take_scratch(arena_, geometry_, together_, kernels_.lanes, threads_);
  tiles_.panel = products_.panel = panel_columns_;
  tiles_.row = odd_lines(round_up(depth_, kernels_.lanes));
  products_.row = odd_lines(panels_ * panel_columns_);
}

void ConvolutionPlan::shape_planes(const Block& block) {
  const int64_t rows = block.strips() * geometry_.tile_columns();
  tiles_.plane = odd_lines(rows * tiles_.row);
  products_.plane = odd_lines(rows * products_.row);
  planes_floats_ = (tiles_.plane + products_.plane) * geometry_.planes();
}

ConvolutionPlan::Work ConvolutionPlan::work(const ConvArgs& args, int64_t group, const Block& block,
                                            float* planes) const {
  const auto* const read = static_cast<const float*>(forward_ ? args.input : args.output);
  auto* const written = static_cast<float*>(forward_ ? args.output : args.input);
  return {block,
          read + group * read_view_.channels * read_view_.shape.stride[1],
          bias_from(args.bias, group * written_view_.channels),
          written + group * written_view_.channels * written_view_.shape.stride[1],
          planes,
          planes + tiles_.plane * geometry_.planes(),
          scratch_.of_thread(static_cast<float*>(args.workspace), omp_get_thread_num())};
}

void ConvolutionPlan::read(const Work& work, int64_t index) const {
  const auto [rows, vector] = vector_unit(work.block, together_, read_vectors_, index);
  transform_tiles(kernels_, geometry_, TileOperand::data, read_view_, work.read, work.block, rows, vector,
                  tiles_, work.tiles, work.scratch);
}

void ConvolutionPlan::multiply(const Work& work, int64_t plane, int64_t panel, const FilterPanel& filters,
                               Prefetch prefetch) const {
  const int i = static_cast<int>(plane / geometry_.points_w()),
            j = static_cast<int>(plane % geometry_.points_w());
  const Residues::Range residues = geometry_.residues_in(i, j);
  const int64_t begin = forward_ ? residues.begin * geometry_.input_view.channels : 0;
  const int64_t end = forward_ ? residues.end * geometry_.input_view.channels : depth_;
  const int64_t from = std::max(begin, filters.first), depth = std::min(end, filters.end) - from;
  const TileOrder::Range tiles = TileOrder(geometry_, work.block).with(i, j);
  if (depth <= 0 || tiles.count == 0) return;
  const float* const a = work.tiles + plane * tiles_.plane + tiles.begin * tiles_.row + from;
  const float* const b =
      filters.data + (plane - filters.first_plane) * filters.plane + (from - filters.first) * panel_columns_;
  float* const c =
      work.products + plane * products_.plane + tiles.begin * products_.row + panel * products_.panel;
  const int64_t run = ceil_div(depth, ceil_div(depth, kLongestRun));
  for (int64_t k = 0; k < depth; k += run)
    gemm_rows(a + k, tiles_.row, {b + k * panel_columns_}, c, products_.row, tiles.count, panel_columns_,
              std::min(run, depth - k), from == begin && k == 0 ? GemmMode::overwrite : GemmMode::add,
              prefetch);
}

void ConvolutionPlan::write(const Work& work, const VectorUnit& unit) const {
  inverse_tiles(kernels_, geometry_, written_view_, work.bias, work.written, work.block, unit.rows,
                unit.vector, products_, work.products, work.scratch);
}

void ConvolutionPlan::write_panel(const Work& work, int64_t panel) const {
  for (int64_t i = 0; i < units(work.block, together_); ++i)
    for (int64_t vector = 2 * panel; vector < vectors_end(panel); ++vector)
      write(work, {unit(work.block, together_, i), vector});
}

OperationCount ConvolutionPlan::count_tiles() const {
  double products = 0;  // of one image and column
  for (int i = 0; i < geometry_.points_h(); ++i)
    for (int j = 0; j < geometry_.points_w(); ++j) {
      const Residues::Range residues = geometry_.residues_in(i, j);
      const int64_t depth =
          forward_ ? (residues.end - residues.begin) * geometry_.input_view.channels : depth_;
      products += static_cast<double>(geometry_.h.tiles_with(i) * geometry_.w.tiles_with(j) * depth);
    }
  const double images = static_cast<double>(geometry_.problem.batch * groups_);
  const double lanes = kernels_.lanes;
  OperationCount count;
  count.product_flops = 2 * images * products * static_cast<double>(panels_ * panel_columns_);
  count.transform_flops =
      images * lanes *
      (static_cast<double>(read_vectors_) * transform_flops(geometry_, TileOperand::data) +
       static_cast<double>(written_vectors_) * inverse_flops(geometry_));
  count.bytes = static_cast<double>(geometry_.problem.total_bytes());
  return count;
}

double ConvolutionPlan::plane_bytes(int64_t vectors) const {
  const int64_t points = geometry_.h.points() * geometry_.w.points();
  return sizeof(float) *
         static_cast<double>(geometry_.problem.batch * groups_ * points * vectors * kernels_.lanes);
}

std::unique_ptr<Plan> make_plan(const Geometry& geometry, const DeviceInfo& device,
                                const PlanOptions& options) {
  if (geometry.problem.pass == Pass::backward_filter)
    return make_filter_gradient_plan(geometry, device, options);
  if (auto plan = make_filters_on_the_fly_plan(geometry, device, options)) return plan;
  if (auto plan = make_half_transformed_plan(geometry, device, options)) return plan;
  return make_pretransformed_plan(geometry, device, options);
}

}  // namespace convscope::winograd

// Forward and backward-data. For a block of strips, plane (i, j) holds
//   tiles[row][depth]  *  filters[depth][column]  ->  products[row][column]
// with rows the tiles, depth the channels read and columns the channels written; see plans.hpp.
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
  bool has_prepare() const override { return true; }
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  void multiply(const Block& block, int64_t plane, int64_t panel, const float* filters,
                float* workspace) const;
  const TensorView& read_view() const { return forward_ ? geometry_.image : geometry_.signal; }
  const TensorView& written_view() const { return forward_ ? geometry_.signal : geometry_.image; }

  const Geometry geometry_;
  const bool forward_;
  const VectorKernels& kernels_;
  const FilterTransform filter_transform_;
  const int threads_;
  const int64_t groups_, depth_, columns_, panel_columns_, panels_;
  PlaneLayout filters_, tiles_, products_;
  int64_t filters_at_ = 0, tiles_at_ = 0, products_at_ = 0, filter_floats_ = 0;
  int64_t together_;
  bool stream_filters_;
  std::vector<Block> blocks_;
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
      panel_columns_(gemm_shape().columns_per_panel),
      panels_(ceil_div(columns_, panel_columns_)),
      together_(rows_together(geometry_, kernels_.lanes, threads_)) {
  filters_.row = panel_columns_;
  filters_.panel = depth_ * panel_columns_;
  filters_.plane = odd_lines(panels_ * filters_.panel);
  filter_floats_ = filters_.plane * geometry_.planes();
  filters_at_ = arena_.take(filter_floats_ * groups_);
  stream_filters_ = filter_floats_ * int64_t{sizeof(float)} > device.l2_bytes;
  scratch_ = take_scratch(arena_, geometry_, together_, kernels_.lanes, threads_);

  tiles_.panel = products_.panel = 2 * kernels_.lanes;
  tiles_.row = odd_lines(round_up(depth_, kernels_.lanes));
  products_.row = odd_lines(panels_ * panel_columns_);
  const int64_t strip_floats = geometry_.planes() * geometry_.tile_columns() * (tiles_.row + products_.row);
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  const int64_t padding_floats = 2 * geometry_.planes() * kOddLinesPadding;
  blocks_ = cut_into_blocks(geometry_, strip_floats * kFloat, filter_floats_ * kFloat, arena_.bytes(),
                            padding_floats * kFloat, device, options);
  const int64_t rows = blocks_.front().strips() * geometry_.tile_columns();
  tiles_.plane = odd_lines(rows * tiles_.row);
  products_.plane = odd_lines(rows * products_.row);
  tiles_at_ = arena_.take(tiles_.plane * geometry_.planes());
  products_at_ = arena_.take(products_.plane * geometry_.planes());
}

void ConvolutionPlan::prepare(const ConvArgs& args, Queue&) {
  float* const workspace = static_cast<float*>(args.workspace);
  const float* const filter = static_cast<const float*>(args.filter);
  const int64_t group_filters = geometry_.problem.elements(Role::filter) / groups_;
  const int64_t vectors = ceil_div(columns_, kernels_.lanes);
  const int64_t chunks = (depth_ + FilterTransform::kDepthChunk - 1) / FilterTransform::kDepthChunk;
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int64_t unit = 0; unit < groups_ * vectors * chunks; ++unit) {
    const int64_t group = unit / (vectors * chunks);
    // The two vectors of a panel follow each other, as they lie side by side in every plane.
    filter_transform_.transform(filter + group * group_filters, unit % vectors,
                                unit / vectors % chunks * FilterTransform::kDepthChunk, filters_,
                                stream_filters_, workspace + filters_at_ + group * filter_floats_,
                                scratch_.of_thread(workspace, omp_get_thread_num()));
  }
}

// One panel of columns in one plane: the tiles that have this point, the phases that are not zero in it.
void ConvolutionPlan::multiply(const Block& block, int64_t plane, int64_t panel, const float* filters,
                               float* workspace) const {
  const int i = static_cast<int>(plane / geometry_.points_w()),
            j = static_cast<int>(plane % geometry_.points_w());
  const Phases::Range phases = geometry_.phases_in(i, j);
  const int64_t from = forward_ ? phases.begin * geometry_.image.channels : 0;
  const int64_t depth = forward_ ? phases.end * geometry_.image.channels - from : depth_;
  const float* const b = filters + plane * filters_.plane + panel * filters_.panel + from * panel_columns_;
  const float* a = workspace + tiles_at_ + plane * tiles_.plane + from;
  float* c = workspace + products_at_ + plane * products_.plane + panel * panel_columns_;

  const int64_t strips = block.strips_with(geometry_, i), tile_columns = geometry_.w.tiles_with(j);
  const bool whole = strips == block.strips();
  const int64_t rows = whole ? strips * tile_columns : strips;
  if (rows == 0) return;
  for (int64_t column = 0; column < (whole ? 1 : tile_columns); ++column) {
    gemm_rows(a, tiles_.row, {b}, c, products_.row, rows, panel_columns_, depth, GemmMode::overwrite);
    a += block.strips() * tiles_.row;
    c += block.strips() * products_.row;
  }
}

void ConvolutionPlan::run(const ConvArgs& args, Queue&) {
  float* const workspace = static_cast<float*>(args.workspace);
  const auto* const read = static_cast<const float*>(forward_ ? args.input : args.output);
  auto* const written = static_cast<float*>(forward_ ? args.output : args.input);
  const int64_t read_group = read_view().channels * read_view().shape.stride[1];
  const int64_t written_group = written_view().channels * written_view().shape.stride[1];
  const int64_t read_vectors = ceil_div(depth_, kernels_.lanes);
  const int64_t written_vectors = ceil_div(columns_, kernels_.lanes);
#pragma omp parallel num_threads(threads_)
  {
    const Scratch scratch = scratch_.of_thread(workspace, omp_get_thread_num());
    for (int64_t group = 0; group < groups_; ++group)
      for (const Block& block : blocks_) {
        const int64_t rows = units(block, together_);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows * read_vectors; ++i)
          transform_tiles(kernels_, geometry_, TileOperand::data, read_view(), read + group * read_group,
                          block, unit(block, together_, i / read_vectors), i % read_vectors, tiles_,
                          workspace + tiles_at_, scratch);
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < geometry_.planes() * panels_; ++i)
          multiply(block, i / panels_, i % panels_, workspace + filters_at_ + group * filter_floats_,
                   workspace);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows * written_vectors; ++i)
          inverse_tiles(kernels_, geometry_, written_view(), written + group * written_group, block,
                        unit(block, together_, i / written_vectors), i % written_vectors, products_,
                        workspace + products_at_, scratch);
      }
  }
}

}  // namespace

std::unique_ptr<Plan> make_convolution_plan(const Geometry& geometry, const DeviceInfo& device,
                                            const PlanOptions& options) {
  return std::make_unique<ConvolutionPlan>(geometry, device, options);
}

}  // namespace convscope::winograd

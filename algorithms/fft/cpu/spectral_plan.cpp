#include "algorithms/fft/cpu/spectral_plan.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/fft/cpu/blocking.hpp"
#include "algorithms/fft/cpu/transforms.hpp"

namespace convscope::fft {
namespace {

// Spectra larger than this do not fit in L2 until the product reads them.
constexpr int64_t kStreamBytes = 4 << 20;

float* tensor_of(const ConvArgs& args, const Operand& operand, int64_t group) {
  return static_cast<float*>(args.tensor(operand.role)) + group * operand.group_offset;
}

LanePlanes planes_of(const Operand& operand, int64_t first_lane, int64_t end_lane, int64_t other) {
  const int64_t count = std::clamp<int64_t>(end_lane - first_lane, 0, vector_lanes());
  return {&operand, operand.lanes.data() + (count > 0 ? first_lane : 0), operand.others.data() + other,
          static_cast<int>(count)};
}

}  // namespace

SpectralPlan::SpectralPlan(const ConvProblem& problem, int size, int64_t llc_bytes,
                           const PlanOptions& options)
    : problem_(problem),
      size_(size),
      threads_(options.threads),
      geometry_(make_geometry(problem, size)),
      panel_columns_(gemm_shape().columns_per_panel) {
  blocking_ = choose_blocking(geometry_, size, problem.groups, llc_bytes, options);
  const int64_t tiles = geometry_.depth_is_tiles ? blocking_.depth : blocking_.rows;
  const int64_t columns = round_up(blocking_.columns, panel_columns_);
  a_row_ = odd_lines(static_cast<int64_t>(geometry_.a.lanes.size()));
  a_part_ = tiles * a_row_;
  a_bin_ = odd_lines(2 * a_part_);
  b_bin_ = odd_lines(2 * columns * blocking_.depth);
  y_row_ = columns;
  y_part_ = blocking_.rows * y_row_;
  y_bin_ = odd_lines(2 * y_part_);
}

bool SpectralPlan::stream(int64_t bin) const {
  return bins(size_) * bin * int64_t{sizeof(float)} > kStreamBytes;
}

int64_t SpectralPlan::workspace_bytes() const {
  const int64_t filters = blocking_.keep_filters ? problem_.groups : 1;
  return bins(size_) * (a_bin_ + filters * b_bin_ + y_bin_) * static_cast<int64_t>(sizeof(float)) +
         threads_ * scratch_bytes(size_);
}

std::string SpectralPlan::implementation() const {
  return "overlap-save " + to_text(Extent2{size_, size_}) + ", 4-multiplication complex product, " +
         part_text(blocking_.rows, geometry_.rows()) + " x " +
         part_text(blocking_.columns, geometry_.columns()) + " over " +
         part_text(blocking_.depth, geometry_.depth());
}

SpectralPlan::Areas SpectralPlan::areas(void* workspace, int64_t group) const {
  const int64_t count = bins(size_), filters = blocking_.keep_filters ? problem_.groups : 1;
  Areas areas{};
  areas.b = static_cast<float*>(workspace);
  areas.a = areas.b + filters * count * b_bin_;
  areas.y = areas.a + count * a_bin_;
  areas.scratch = areas.y + count * y_bin_;
  if (blocking_.keep_filters) areas.b += group * count * b_bin_;
  return areas;
}

template <class MakeBatch, class Run>
void SpectralPlan::for_groups(const Operand& operand, int64_t count, const MakeBatch& batch,
                              const Areas& areas, const Run& run) const {
  const int64_t group = std::clamp<int64_t>(ceil_div(count, threads_), 1, max_batches(size_, operand));
  const int64_t scratch = scratch_bytes(size_) / int64_t{sizeof(float)};
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int64_t first = 0; first < count; first += group) {
    std::array<Batch, kMaxBatches> batches;
    const int64_t taken = std::min(group, count - first);
    for (int64_t i = 0; i < taken; ++i) batches[static_cast<size_t>(i)] = batch(first + i);
    run(std::span<const Batch>(batches.data(), static_cast<size_t>(taken)),
        areas.scratch + omp_get_thread_num() * scratch);
  }
}

void SpectralPlan::transform_a(const float* tensor, Block tiles, const Areas& areas) const {
  const int lanes = vector_lanes();
  const auto channels = static_cast<int64_t>(geometry_.a.lanes.size());
  const int64_t batches = ceil_div(channels, lanes);
  const auto batch = [&](int64_t i) {
    const int64_t tile = i / batches, lane = i % batches * lanes;
    float* to = areas.a + tile * a_row_ + lane;
    return Batch{planes_of(geometry_.a, lane, channels, tiles.first + tile),
                 {to, to + a_part_, a_bin_, stream(a_bin_)}};
  };
  for_groups(
      geometry_.a, tiles.count * batches, batch, areas,
      [&](std::span<const Batch> group, float* scratch) { transform_tiles(size_, group, tensor, scratch); });
}

void SpectralPlan::transform_b(const float* tensor, Block columns, Block depth, const Areas& areas) const {
  const int lanes = vector_lanes();
  const int64_t vectors = panel_columns_ / lanes, panel = panel_columns_ * depth.count;
  const int64_t panels = ceil_div(columns.count, panel_columns_);
  const auto batch = [&](int64_t i) {
    const int64_t vector = i % vectors, k = i / vectors % depth.count, j = i / vectors / depth.count;
    const int64_t column = columns.first + j * panel_columns_ + vector * lanes;
    float* to = areas.b + 2 * j * panel + k * panel_columns_ + vector * lanes;
    return Batch{planes_of(geometry_.b, column, columns.first + columns.count, depth.first + k),
                 {to, to + panel, b_bin_, stream(b_bin_)}};
  };
  for_groups(
      geometry_.b, panels * depth.count * vectors, batch, areas,
      [&](std::span<const Batch> group, float* scratch) { transform_tiles(size_, group, tensor, scratch); });
}

void SpectralPlan::multiply(Block rows, Block columns, Block depth, const Areas& areas) const {
  const auto gemm = geometry_.depth_is_tiles ? gemm_columns : gemm_rows;
  const int64_t panel = panel_columns_ * depth.count, a_step = geometry_.depth_is_tiles ? a_row_ : 1;
  const int64_t depth_block = ceil_div(depth.count, ceil_div(depth.count, kProductDepth));
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int64_t bin = 0; bin < bins(size_); ++bin)
    for (int64_t j = 0; j < columns.count; j += panel_columns_)
      for (int64_t k = 0; k < depth.count; k += depth_block) {
        const int64_t count = std::min(depth_block, depth.count - k);
        const float* a_real = areas.a + bin * a_bin_ + k * a_step;
        const float* a_imaginary = a_real + a_part_;
        const float* b_real = areas.b + bin * b_bin_ + 2 * j * depth.count + k * panel_columns_;
        const float* b_imaginary = b_real + panel;
        float* y_real = areas.y + bin * y_bin_ + j;
        float* y_imaginary = y_real + y_part_;
        const GemmMode first = depth.first + k == 0 ? GemmMode::overwrite : GemmMode::add;
        // A times the conjugate of B.
        const auto product = [&](const float* a, const float* b, float* y, GemmMode mode) {
          gemm(a, a_row_, {b}, y, y_row_, rows.count, panel_columns_, count, mode, {});
        };
        product(a_real, b_real, y_real, first);
        product(a_imaginary, b_real, y_imaginary, first);
        product(a_imaginary, b_imaginary, y_real, GemmMode::add);
        product(a_real, b_imaginary, y_imaginary, GemmMode::subtract);
      }
}

void SpectralPlan::invert(Block rows, Block columns, const Areas& areas, float* tensor) const {
  const int lanes = vector_lanes();
  const int64_t batches = ceil_div(columns.count, lanes), end = columns.first + columns.count;
  const auto batch = [&](int64_t i) {
    const int64_t row = i / batches, lane = i % batches * lanes;
    float* from = areas.y + row * y_row_ + lane;
    return Batch{planes_of(geometry_.y, columns.first + lane, end, rows.first + row),
                 {from, from + y_part_, y_bin_}};
  };
  for_groups(
      geometry_.y, rows.count * batches, batch, areas,
      [&](std::span<const Batch> group, float* scratch) { invert_tiles(size_, group, tensor, scratch); });
}

// Two products in turn are added to each part of Y for every piece of the depth.
double SpectralPlan::longest_sum() const {
  const int64_t pieces =
      ceil_div(geometry_.depth(), blocking_.depth) * ceil_div(blocking_.depth, kProductDepth);
  return static_cast<double>(std::min(blocking_.depth, kProductDepth) + 2 * pieces);
}

void SpectralPlan::prepare(const ConvArgs& args, Queue&) {
  if (!blocking_.keep_filters) return;
  for (int64_t group = 0; group < problem_.groups; ++group)
    transform_b(tensor_of(args, geometry_.b, group), {0, geometry_.columns()}, {0, geometry_.depth()},
                areas(args.workspace, group));
}

void SpectralPlan::run(const ConvArgs& args, Queue& queue) {
  for (int64_t group = 0; group < problem_.groups; ++group) run_group(args, group, queue);
}

template <class Visit>
void SpectralPlan::for_steps(const Visit& visit) const {
  // Which tiles of A and which columns and depth of B the areas hold.
  std::optional<Block> a_held;
  std::optional<std::pair<Block, Block>> b_held;
  if (blocking_.keep_filters) b_held = {Block{0, geometry_.columns()}, Block{0, geometry_.depth()}};

  for (int64_t j = 0; j < geometry_.columns(); j += blocking_.columns)
    for (int64_t i = 0; i < geometry_.rows(); i += blocking_.rows)
      for (int64_t k = 0; k < geometry_.depth(); k += blocking_.depth) {
        Step step;
        step.columns = block(j, blocking_.columns, geometry_.columns());
        step.rows = block(i, blocking_.rows, geometry_.rows());
        step.depth = block(k, blocking_.depth, geometry_.depth());
        step.tiles = geometry_.depth_is_tiles ? step.depth : step.rows;
        step.transforms_a = a_held != step.tiles;
        step.transforms_b = b_held != std::pair{step.columns, step.depth};
        step.inverts = k + blocking_.depth >= geometry_.depth();
        a_held = step.tiles;
        b_held = {step.columns, step.depth};
        visit(step);
      }
}

void SpectralPlan::run_group(const ConvArgs& args, int64_t group, Queue& queue) const {
  const Areas areas = this->areas(args.workspace, group);
  for_steps([&](const Step& step) {
    queue.phase(Phase::transform);
    if (step.transforms_a) transform_a(tensor_of(args, geometry_.a, group), step.tiles, areas);
    if (step.transforms_b) transform_b(tensor_of(args, geometry_.b, group), step.columns, step.depth, areas);
    queue.phase(Phase::product);
    multiply(step.rows, step.columns, step.depth, areas);
    if (!step.inverts) return;
    queue.phase(Phase::inverse);
    invert(step.rows, step.columns, areas, tensor_of(args, geometry_.y, group));
  });
  queue.end_phase();
}

void SpectralPlan::count_transforms(const Operand& operand, Block lanes, int64_t unit, Block others,
                                    OperationCount& count) const {
  const int vector = vector_lanes();
  const int64_t end = lanes.first + lanes.count, padded = round_up(lanes.count, unit);
  for (int64_t other = others.first; other < others.first + others.count; ++other)
    for (int64_t lane = 0; lane < padded; lane += vector) {
      const LanePlanes planes = planes_of(operand, lanes.first + lane, end, other);
      count.transform_flops += static_cast<double>(transform_flops(size_, planes));
    }
  // Each spectrum is written once and read once.
  count.bytes += 2 * 8.0 * static_cast<double>(bins(size_) * padded * others.count);
}

std::optional<OperationCount> SpectralPlan::operations() const {
  const int vector = vector_lanes();
  const auto all_bins = static_cast<double>(bins(size_));
  OperationCount group;
  const Block channels{0, static_cast<int64_t>(geometry_.a.lanes.size())};
  if (blocking_.keep_filters)
    count_transforms(geometry_.b, {0, geometry_.columns()}, panel_columns_, {0, geometry_.depth()}, group);
  for_steps([&](const Step& step) {
    if (step.transforms_a) count_transforms(geometry_.a, channels, vector, step.tiles, group);
    if (step.transforms_b) count_transforms(geometry_.b, step.columns, panel_columns_, step.depth, group);
    const auto sums = static_cast<double>(step.rows.count * round_up(step.columns.count, panel_columns_));
    group.product_flops += 8 * all_bins * sums * static_cast<double>(step.depth.count);
    // A part of the result is a sum of two products per kProductDepth of the depth; all but the first read
    // and write again what is there, in the private caches.
    const int64_t products = 2 * ceil_div(step.depth.count, kProductDepth) - (step.depth.first == 0);
    group.cached_bytes += 2 * 8 * all_bins * sums * static_cast<double>(products);
    if (step.inverts) count_transforms(geometry_.y, step.columns, vector, step.rows, group);
  });
  const auto groups = static_cast<double>(problem_.groups);
  return OperationCount{group.product_flops * groups, group.transform_flops * groups,
                        static_cast<double>(problem_.total_bytes()) + group.bytes * groups,
                        group.cached_bytes * groups};
}

}  // namespace convscope::fft

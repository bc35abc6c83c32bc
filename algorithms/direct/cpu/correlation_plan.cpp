#include "algorithms/direct/cpu/correlation_plan.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdlib>

namespace convscope::direct {
namespace {

constexpr int64_t kUnitFloats = 1 << 17;   // 512 KiB: a staged unit fits in L2
constexpr int64_t kSmallFilter = 1 << 13;  // floats, packed: fits in L1 beside the rows it is applied to

}  // namespace

CorrelationPlan::CorrelationPlan(const ConvProblem& problem, const Kernels& kernels,
                                 const PlanOptions& options)
    : DirectPlan(problem, kernels, options),
      correlations_(correlations(problem)),
      forward_(problem.pass == Pass::forward),
      read_channels_(forward_ ? problem.in_channels_per_group() : problem.out_channels_per_group()),
      written_channels_(forward_ ? problem.out_channels_per_group() : problem.in_channels_per_group()),
      read_shape_(forward_ ? input_shape_ : output_shape_),
      written_shape_(forward_ ? output_shape_ : input_shape_),
      filter_read_(filter_shape_.stride[forward_ ? 1 : 0]),
      filter_written_(filter_shape_.stride[forward_ ? 0 : 1]) {}

// Bands of rows where a whole image does not fit in L2, but not so thin that neighbouring bands mostly read
// the same rows; thinner only where a unit does not fit under the workspace cap.
void CorrelationPlan::choose_bands(int64_t max_unit_floats, int64_t min_bands) {
  int64_t span = 1;
  for (const Correlation& one : correlations_)
    if (!one.rows.taps.empty())
      span = std::max(span, std::abs(one.rows.taps.back().offset - one.rows.taps.front().offset) + 1);
  const int64_t written_rows = correlations_.front().rows.count;
  const int64_t max_bands = std::clamp<int64_t>(staged_.rows / (3 * span), 1, written_rows);
  bands_ = std::min(max_bands, std::max(min_bands, ceil_div(staged_.elements(), kUnitFloats)));
  for (;; bands_ = std::min(2 * bands_, written_rows)) {
    read_rows_.clear();
    band_rows_ = 0;
    for (int64_t i = 0; i < bands_; ++i) {
      const Range read = read_in_band(correlations_, i, bands_);
      read_rows_.push_back({std::max<int64_t>(0, read.begin), std::min(read.end, staged_.rows)});
      band_rows_ = std::max(band_rows_, read_rows_.back().size());
    }
    // Whole vectors may be read past the last column of the last row.
    unit_floats_ = round_up(band_rows_ * staged_.row_step + kMaxRowVectors * kernels_.lanes, kAlignment);
    if (unit_floats_ <= max_unit_floats || bands_ >= written_rows) return;
  }
}

void CorrelationPlan::lay_out(int64_t groups, int64_t packed_floats, int64_t blocks, int64_t thread_floats) {
  unit_groups_ = groups;
  blocks_ = blocks;
  thread_floats_ = round_up(thread_floats, kAlignment);
  staged_at_ = round_up(packed_floats, kAlignment);
  const int64_t left = cap_floats_ - staged_at_ - thread_floats_ * options_.threads;
  const int64_t images_and_groups = problem_.batch / staged_.shape.images * (problem_.groups / groups);
  const int64_t enough = options_.threads * kTasksPerThread;
  // A large filter is not read again for each band only to have enough units.
  choose_bands(left, packed_floats <= kSmallFilter ? ceil_div(enough, images_and_groups) : 1);
  units_ = images_and_groups * bands_;
  const int64_t under_cap = left / unit_floats_;
  by_unit_ = options_.threads == 1 || (units_ >= enough && under_cap >= options_.threads);
  if (by_unit_) {
    units_at_once_ = options_.threads;
  } else {
    const int64_t wanted = std::max<int64_t>(1, options_.threads * kUnitFloats / unit_floats_);
    const int64_t chunks = ceil_div(units_, std::clamp<int64_t>(under_cap, 1, wanted));
    units_at_once_ = ceil_div(units_, chunks);
    const int64_t tasks = units_at_once_ * blocks_ * static_cast<int64_t>(correlations_.size());
    row_parts_ = ceil_div(enough, tasks);
    // The same number for each thread, so that none waits for another's last task.
    while (tasks * row_parts_ % options_.threads != 0) ++row_parts_;
  }
  scratch_at_ = staged_at_ + units_at_once_ * unit_floats_;
  total_floats_ = scratch_at_ + thread_floats_ * options_.threads;
}

void CorrelationPlan::prepare(const ConvArgs& args, Queue&) {
  pack(static_cast<const float*>(args.filter), static_cast<float*>(args.workspace));
}

// Units count up through bands, bundles of groups, images.
CorrelationPlan::Unit CorrelationPlan::unit(int64_t index) const {
  const int64_t bundles = problem_.groups / unit_groups_;
  const int64_t bundle = index / bands_;
  return {bundle / bundles * staged_.shape.images, bundle % bundles * unit_groups_, index % bands_};
}

// Tasks count up through row parts, channel blocks, correlations, units: neighbours share the staged unit.
CorrelationPlan::Task CorrelationPlan::task(int64_t index, int64_t first_unit, const float* staged) const {
  const int64_t part = index % row_parts_;
  index /= row_parts_;
  const int64_t block = index % blocks_;
  index /= blocks_;
  const auto all = static_cast<int64_t>(correlations_.size());
  const auto correlation = static_cast<size_t>(index % all);
  const int64_t slot = index / all;
  Task made = whole_task(unit(first_unit + slot), correlation, block, staged + slot * unit_floats_);
  const Range rows = made.rows;
  made.rows = {rows.begin + part * rows.size() / row_parts_,
               rows.begin + (part + 1) * rows.size() / row_parts_};
  return made;
}

CorrelationPlan::Task CorrelationPlan::whole_task(const Unit& unit, size_t correlation, int64_t block,
                                                  const float* staged) const {
  return {unit.first_image,
          unit.first_group,
          staged,
          read_rows_[static_cast<size_t>(unit.band)].begin,
          correlation,
          block,
          written_in_band(correlations_[correlation].rows, unit.band, bands_)};
}

// `row` counts from the band's first; to its place in `staged`, which is the unit's.
void CorrelationPlan::stage_unit_row(const float* read, const Unit& unit, int64_t row, float* staged) const {
  const Range rows = read_rows_[static_cast<size_t>(unit.band)];
  const int64_t h = rows.begin + row;
  if (h < rows.end && staged_.row_is_read[static_cast<size_t>(h)])
    stage_row(staged_, read + read_shape_.offset(unit.first_image, unit.first_group * read_channels_, h, 0),
              read_shape_.stride, staged + row * staged_.row_step);
}

std::optional<OperationCount> CorrelationPlan::operations() const {
  OperationCount count;
  count.product_flops = 2 * multiply_adds();
  const double moved =
      static_cast<double>(staged_at_) + static_cast<double>(units_) * static_cast<double>(unit_floats_);
  count.bytes = static_cast<double>(problem_.total_bytes()) + 2 * sizeof(float) * moved;
  return count;
}

void CorrelationPlan::run(const ConvArgs& args, Queue&) {
  const auto* read = static_cast<const float*>(forward_ ? args.input : args.output);
  auto* written = static_cast<float*>(forward_ ? args.output : args.input);
  auto* workspace = static_cast<float*>(args.workspace);
#pragma omp parallel num_threads(options_.threads)
  {
    const Memory memory{read,
                        workspace,
                        args.bias,
                        workspace + staged_at_,
                        workspace + scratch_at_ + omp_get_thread_num() * thread_floats_,
                        written};
    if (by_unit_)
      run_by_unit(memory);
    else
      run_together(memory);
  }
}

// Each thread computes the units that it staged, which are still in its L2.
void CorrelationPlan::run_by_unit(const Memory& memory) const {
  float* staged = memory.staged + omp_get_thread_num() * unit_floats_;
  for (int64_t row = 0; row < band_rows_; ++row) clear_padding(staged_, staged + row * staged_.row_step);
#pragma omp for schedule(dynamic)
  for (int64_t index = 0; index < units_; ++index) {
    const Unit own = unit(index);
    for (int64_t row = 0; row < band_rows_; ++row) stage_unit_row(memory.read, own, row, staged);
    for (size_t correlation = 0; correlation < correlations_.size(); ++correlation)
      for (int64_t block = 0; block < blocks_; ++block)
        compute(whole_task(own, correlation, block, staged), memory.packed, memory.bias, memory.scratch,
                memory.written);
  }
}

// For few units: all threads stage some of them, then share out their tasks.
void CorrelationPlan::run_together(const Memory& memory) const {
  const int64_t tasks_per_unit = row_parts_ * blocks_ * static_cast<int64_t>(correlations_.size());
#pragma omp for collapse(2) schedule(static)
  for (int64_t slot = 0; slot < units_at_once_; ++slot)
    for (int64_t row = 0; row < band_rows_; ++row)
      clear_padding(staged_, memory.staged + slot * unit_floats_ + row * staged_.row_step);
  for (int64_t first = 0; first < units_; first += units_at_once_) {
    const int64_t units = std::min(units_at_once_, units_ - first);
#pragma omp for collapse(2) schedule(static)
    for (int64_t slot = 0; slot < units; ++slot)
      for (int64_t row = 0; row < band_rows_; ++row)
        stage_unit_row(memory.read, unit(first + slot), row, memory.staged + slot * unit_floats_);
#pragma omp for schedule(dynamic)
    for (int64_t index = 0; index < units * tasks_per_unit; ++index)
      compute(task(index, first, memory.staged), memory.packed, memory.bias, memory.scratch, memory.written);
  }
}

}  // namespace convscope::direct

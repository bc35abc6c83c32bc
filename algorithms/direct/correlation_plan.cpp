#include "algorithms/direct/correlation_plan.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdlib>

namespace convscope::direct {
namespace {

constexpr int64_t kAlignment = 16;        // floats
constexpr int64_t kUnitFloats = 1 << 17;  // 512 KiB: a staged unit stays in the second-level cache
constexpr int64_t kTasksPerThread = 4;    // so that threads finish together

Role read_role(Pass pass) {
  return pass == Pass::forward ? Role::input : Role::output;
}

}  // namespace

CorrelationPlan::CorrelationPlan(const ConvProblem& problem, const Kernels& kernels,
                                 const PlanOptions& options)
    : DirectPlan(problem, kernels, options),
      correlations_(correlations(problem)),
      read_channels_(problem.pass == Pass::forward ? problem.in_channels_per_group()
                                                   : problem.out_channels_per_group()),
      written_channels_(problem.pass == Pass::forward ? problem.out_channels_per_group()
                                                      : problem.in_channels_per_group()),
      read_shape_(problem.shape(read_role(problem.pass))),
      written_shape_(problem.shape(written_role(problem.pass))) {}

Range CorrelationPlan::band_of(const Axis& rows, int64_t band) const {
  return {band * rows.count / bands_, (band + 1) * rows.count / bands_};
}

Range CorrelationPlan::rows_read(int64_t band) const {
  Range read{staged_.rows, 0};
  for (const Correlation& one : correlations_) {
    const Range written = band_of(one.rows, band);
    if (written.empty()) continue;
    for (const Tap& tap : one.rows.taps) {
      read.begin = std::min(read.begin, written.begin * one.rows.step + tap.offset);
      read.end = std::max(read.end, (written.end - 1) * one.rows.step + tap.offset + 1);
    }
  }
  return {std::max<int64_t>(0, read.begin), std::min(read.end, staged_.rows)};
}

// Bands of rows where a whole image would not stay in cache, but not so thin that they mostly read the same
// rows; thinner only where a unit would not fit under the workspace cap.
void CorrelationPlan::choose_bands(int64_t most_floats) {
  int64_t span = 1;
  for (const Correlation& one : correlations_)
    if (!one.rows.taps.empty())
      span = std::max(span, std::abs(one.rows.taps.back().offset - one.rows.taps.front().offset) + 1);
  const int64_t thickest = std::max<int64_t>(1, staged_.rows / (3 * span));
  bands_ = std::clamp<int64_t>(ceil_div(staged_.elements(), kUnitFloats), 1, thickest);
  for (;; bands_ = std::min(2 * bands_, correlations_.front().rows.count)) {
    band_rows_ = 0;
    for (int64_t band = 0; band < bands_; ++band) band_rows_ = std::max(band_rows_, rows_read(band).size());
    // Whole vectors may be read past the last column of the last row.
    unit_floats_ = round_up(band_rows_ * staged_.row_step + kMaxRowVectors * kernels_.lanes, kAlignment);
    if (unit_floats_ <= most_floats || bands_ >= correlations_.front().rows.count) return;
  }
}

void CorrelationPlan::lay_out(UnitSize unit, const StagedInput::Shape& staged_shape, int64_t packed_floats,
                              int64_t blocks, int64_t thread_floats) {
  unit_ = unit;
  blocks_ = blocks;
  staged_ = StagedInput(correlations_, staged_shape);
  thread_floats_ = round_up(thread_floats, kAlignment);
  staged_at_ = round_up(packed_floats, kAlignment);
  const int64_t left = cap_floats_ - staged_at_ - thread_floats_ * options_.threads;
  choose_bands(left);
  units_ = problem_.batch / unit.images * (problem_.groups / unit.groups) * bands_;
  const int64_t under_cap = left / unit_floats_;
  const int64_t wanted = std::max<int64_t>(1, options_.threads * kUnitFloats / unit_floats_);
  const int64_t chunks = ceil_div(units_, std::clamp<int64_t>(under_cap, 1, wanted));
  units_at_once_ = ceil_div(units_, chunks);
  scratch_at_ = staged_at_ + units_at_once_ * unit_floats_;
  total_floats_ = scratch_at_ + thread_floats_ * options_.threads;

  const int64_t whole = units_at_once_ * blocks_ * static_cast<int64_t>(correlations_.size());
  if (options_.threads > 1) row_parts_ = ceil_div(kTasksPerThread * options_.threads, whole);
}

void CorrelationPlan::prepare(const ConvArgs& args, Queue&) {
  pack(static_cast<const float*>(args.filter), static_cast<float*>(args.workspace));
}

// Units count up through bands, bundles of groups, images.
CorrelationPlan::Unit CorrelationPlan::unit(int64_t index) const {
  const int64_t bundles = problem_.groups / unit_.groups;
  const int64_t bundle = index / bands_;
  return {bundle / bundles * unit_.images, bundle % bundles * unit_.groups, index % bands_};
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
  const auto [image, group, band] = unit(first_unit + slot);
  const Range rows = band_of(correlations_[correlation].rows, band);
  return {image,
          group,
          staged + slot * unit_floats_,
          rows_read(band).begin,
          correlation,
          block,
          {rows.begin + part * rows.size() / row_parts_, rows.begin + (part + 1) * rows.size() / row_parts_}};
}

void CorrelationPlan::stage_unit_row(const float* read, int64_t unit_index, int64_t row,
                                     float* staged) const {
  const auto [image, group, band] = unit(unit_index);
  const Range rows = rows_read(band);
  const int64_t h = rows.begin + row;
  if (h < rows.end && staged_.row_is_read[static_cast<size_t>(h)])
    stage_row(kernels_, staged_, read + read_shape_.offset(image, group * read_channels_, h, 0),
              read_shape_.stride, staged + row * staged_.row_step);
}

OperationCount CorrelationPlan::operations() const {
  OperationCount count;
  count.product_flops = 2 * multiply_adds();
  const double moved =
      static_cast<double>(staged_at_) + static_cast<double>(units_) * static_cast<double>(unit_floats_);
  count.bytes = static_cast<double>(problem_.total_bytes()) + 2 * sizeof(float) * moved;
  return count;
}

void CorrelationPlan::run(const ConvArgs& args, Queue&) {
  const bool forward = problem_.pass == Pass::forward;
  const auto* read = static_cast<const float*>(forward ? args.input : args.output);
  auto* written = static_cast<float*>(forward ? args.output : args.input);
  auto* workspace = static_cast<float*>(args.workspace);
  float* staged = workspace + staged_at_;
  const int64_t tasks_per_unit = row_parts_ * blocks_ * static_cast<int64_t>(correlations_.size());

#pragma omp parallel num_threads(options_.threads)
  {
    float* scratch = workspace + scratch_at_ + omp_get_thread_num() * thread_floats_;
    for (int64_t first = 0; first < units_; first += units_at_once_) {
      const int64_t units = std::min(units_at_once_, units_ - first);
#pragma omp for schedule(static)
      for (int64_t row = 0; row < units * band_rows_; ++row) {
        const int64_t slot = row / band_rows_;
        stage_unit_row(read, first + slot, row % band_rows_, staged + slot * unit_floats_);
      }
#pragma omp for schedule(dynamic)
      for (int64_t index = 0; index < units * tasks_per_unit; ++index)
        compute(task(index, first, staged), workspace, scratch, written);
    }
  }
}

}  // namespace convscope::direct

#include "algorithms/direct/correlation_plan.hpp"

#include <omp.h>

#include <algorithm>

namespace convscope::direct {
namespace {

constexpr int64_t kAlignment = 16;          // floats
constexpr int64_t kStagedFloats = 1 << 20;  // staged at once where several units fit: stays in the last cache
constexpr int64_t kTasksPerThread = 4;      // so that threads finish together

Role read_role(Pass pass) {
  return pass == Pass::forward ? Role::input : Role::output;
}

}  // namespace

CorrelationPlan::CorrelationPlan(const ConvProblem& problem, const Kernels& kernels,
                                 const PlanOptions& options)
    : problem_(problem),
      kernels_(kernels),
      options_(options),
      correlations_(correlations(problem)),
      read_channels_(problem.pass == Pass::forward ? problem.in_channels_per_group()
                                                   : problem.out_channels_per_group()),
      written_channels_(problem.pass == Pass::forward ? problem.out_channels_per_group()
                                                      : problem.in_channels_per_group()),
      read_shape_(problem.shape(read_role(problem.pass))),
      filter_shape_(problem.shape(Role::filter)),
      written_shape_(problem.shape(written_role(problem.pass))) {}

void CorrelationPlan::lay_out(UnitSize unit, const StagedInput::Shape& staged_shape, int64_t packed_floats,
                              int64_t blocks, int64_t thread_floats) {
  unit_ = unit;
  blocks_ = blocks;
  staged_ = StagedInput(correlations_, staged_shape);
  units_ = problem_.batch / unit.images * (problem_.groups / unit.groups);
  // Whole vectors may be read past the last column of the last row.
  unit_floats_ = round_up(staged_.elements() + kMaxRowVectors * kernels_.lanes, kAlignment);
  thread_floats_ = round_up(thread_floats, kAlignment);

  staged_at_ = round_up(packed_floats, kAlignment);
  const int64_t fixed = staged_at_ + thread_floats_ * options_.threads;
  const int64_t under_cap =
      (options_.workspace_cap / static_cast<int64_t>(sizeof(float)) - fixed) / unit_floats_;
  const int64_t wanted = std::max<int64_t>(1, kStagedFloats / unit_floats_);
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

const float* CorrelationPlan::unit_source(const float* read, int64_t unit) const {
  const int64_t bundles = problem_.groups / unit_.groups;
  return read + read_shape_.offset(unit / bundles * unit_.images,
                                   unit % bundles * unit_.groups * read_channels_, 0, 0);
}

// Tasks count up through row parts, channel blocks, correlations, units: neighbours share the staged unit.
CorrelationPlan::Task CorrelationPlan::task(int64_t index, int64_t first_unit, const float* staged) const {
  const int64_t part = index % row_parts_;
  index /= row_parts_;
  const int64_t block = index % blocks_;
  index /= blocks_;
  const int64_t all = static_cast<int64_t>(correlations_.size());
  const auto correlation = static_cast<size_t>(index % all);
  const int64_t slot = index / all;
  const int64_t unit = first_unit + slot;
  const int64_t bundles = problem_.groups / unit_.groups;
  const int64_t rows = correlations_[correlation].rows.count;
  return {unit / bundles * unit_.images,
          unit % bundles * unit_.groups,
          staged + slot * unit_floats_,
          correlation,
          block,
          {part * rows / row_parts_, (part + 1) * rows / row_parts_}};
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
      for (int64_t row = 0; row < units * staged_.rows; ++row) {
        const int64_t slot = row / staged_.rows;
        stage_row(kernels_, staged_, unit_source(read, first + slot), read_shape_.stride, row % staged_.rows,
                  staged + slot * unit_floats_);
      }
#pragma omp for schedule(dynamic)
      for (int64_t index = 0; index < units * tasks_per_unit; ++index)
        compute(task(index, first, staged), workspace, scratch, written);
    }
  }
}

}  // namespace convscope::direct

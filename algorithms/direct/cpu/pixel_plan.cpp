// Forward and backward-data with the lanes over the columns of a row, for few written channels per group: up
// to four channels times four vectors of columns are summed in registers. A unit takes several groups
// together, so that depthwise tasks are not tiny and channels-last rows are moved in whole runs. The filter
// is packed as [group][channel block][summed channel][r][s][channel of the block].
#include <algorithm>

#include "algorithms/common/transpose.hpp"
#include "algorithms/direct/cpu/correlation_plan.hpp"
#include "bench/algorithm/epilogue.hpp"

namespace convscope::direct {
namespace {

constexpr int64_t kMinUnitFloats = 8192;  // staged, so that a task is not tiny
constexpr int64_t kUnitChannels = 16;     // a cache line of a channels-last tensor

struct PixelTraversal {
  int64_t packed_at = 0;
  int64_t columns = 0;  // of the row, rounded up to whole vectors
  std::vector<int64_t> row_offset, column_offset;
};

class PixelPlan final : public CorrelationPlan {
 public:
  PixelPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  std::string implementation() const override;

 private:
  double multiply_adds() const override;
  void pack(const float* filter, float* packed) const override;
  void compute(const Task& task, const float* packed, const float* bias, float* scratch,
               float* written) const override;

  void compute_row(const Task& task, int64_t i, const float* packed, float* scratch) const;
  void store_row(const Correlation& correlation, const PixelTraversal& traversal, const float* scratch,
                 float* to) const;
  int64_t group_floats(const Correlation& one) const {  // packed filter of one group
    return read_channels_ * written_channels_ *
           static_cast<int64_t>(one.rows.taps.size() * one.columns.taps.size());
  }

  int64_t bundle_ = 1;  // groups of a unit
  std::vector<Range> channel_blocks_;
  std::vector<PixelTraversal> traversals_;
};

// The largest divisor of the number of groups that keeps a unit small.
int64_t groups_together(const ConvProblem& problem, int64_t read_channels, int64_t plane_floats) {
  const int64_t channels = std::max(kUnitChannels, kMinUnitFloats / std::max<int64_t>(1, plane_floats));
  int64_t best = 1;
  for (int64_t groups = 1; groups <= problem.groups && groups * read_channels <= channels; ++groups)
    if (problem.groups % groups == 0) best = groups;
  return best;
}

PixelPlan::PixelPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options)
    : CorrelationPlan(problem, kernels, options),
      channel_blocks_(balanced_parts(written_channels_, kMaxRowChannels)) {
  StagedInput::Shape shape{1, 1, kernels.lanes, false};
  bundle_ = groups_together(problem, read_channels_, StagedInput(correlations_, shape).elements());
  shape.channels = bundle_ * read_channels_;
  staged_ = StagedInput(correlations_, shape);
  int64_t packed = 0, columns = 0;
  for (const Correlation& one : correlations_) {
    PixelTraversal traversal;
    traversal.packed_at = packed;
    traversal.columns = round_up(one.columns.count, kernels.lanes);
    for (const Tap& tap : one.rows.taps) traversal.row_offset.push_back(tap.offset * staged_.row_step);
    for (const Tap& tap : one.columns.taps) traversal.column_offset.push_back(staged_.column_offset(tap));
    packed += problem.groups * group_floats(one);
    columns = std::max(columns, traversal.columns);
    traversals_.push_back(std::move(traversal));
  }
  lay_out(bundle_, packed, 1, bundle_ * written_channels_ * columns);
}

std::string PixelPlan::implementation() const {
  return std::string(kernels_.instructions) + ", columns in lanes, tile " +
         std::to_string(std::min<int64_t>(written_channels_, kMaxRowChannels)) + "x" +
         std::to_string(kernels_.max_row_vectors * kernels_.lanes);
}

double PixelPlan::multiply_adds() const {
  double pairs = 0;
  for (size_t i = 0; i < correlations_.size(); ++i)
    pairs += static_cast<double>(correlations_[i].rows.taps_inside_all()) *
             static_cast<double>(traversals_[i].columns *
                                 static_cast<int64_t>(correlations_[i].columns.taps.size()));
  return pairs * static_cast<double>(problem_.batch * problem_.groups * read_channels_ * written_channels_);
}

void PixelPlan::pack(const float* filter, float* packed) const {
  const auto& stride = filter_shape_.stride;
  for (size_t i = 0; i < correlations_.size(); ++i) {
    const Correlation& one = correlations_[i];
#pragma omp parallel for schedule(static) num_threads(options_.threads)
    for (int64_t group = 0; group < problem_.groups; ++group) {
      const float* from = filter + group * problem_.out_channels_per_group() * stride[0];
      float* to = packed + traversals_[i].packed_at + group * group_floats(one);
      for (const Range& block : channel_blocks_)
        for (int64_t c = 0; c < read_channels_; ++c)
          for (const Tap& r : one.rows.taps)
            for (const Tap& s : one.columns.taps)
              for (int64_t m = block.begin; m < block.end; ++m)
                *to++ =
                    from[m * filter_written_ + c * filter_read_ + r.index * stride[2] + s.index * stride[3]];
    }
  }
}

// Row `i` of every written channel of the unit, to scratch[channel][columns].
void PixelPlan::compute_row(const Task& task, int64_t i, const float* packed, float* scratch) const {
  const Correlation& one = correlations_[task.correlation];
  const PixelTraversal& traversal = traversals_[task.correlation];
  const int64_t taps_of_row = static_cast<int64_t>(one.columns.taps.size());
  const int64_t taps = static_cast<int64_t>(one.rows.taps.size()) * taps_of_row;
  const Range rows = one.rows.taps_inside(i, i + 1);
  RowJob job;
  job.in = task.staged;
  job.out_step = traversal.columns;
  job.channels = read_channels_;
  job.in_channel_step = staged_.channel_step;
  job.rows = rows.size();
  job.row_offset = traversal.row_offset.data() + rows.begin;
  job.columns = taps_of_row;
  job.column_offset = traversal.column_offset.data();
  for (int64_t group = 0; group < bundle_; ++group)
    for (const Range& block : channel_blocks_) {
      job.filter_row_step = taps_of_row * block.size();
      job.filter_channel_step = taps * block.size();
      job.filter = packed + traversal.packed_at + (task.first_group + group) * group_floats(one) +
                   block.begin * read_channels_ * taps + rows.begin * job.filter_row_step;
      const int64_t width = int64_t{kernels_.max_row_vectors} * kernels_.lanes;
      for (int64_t column = 0; column < traversal.columns; column += width) {
        const int64_t vectors = std::min(width, traversal.columns - column) / kernels_.lanes;
        job.in_offset = (i * one.rows.step - task.first_row) * staged_.row_step +
                        group * read_channels_ * staged_.channel_step + column;
        job.out = scratch + (group * written_channels_ + block.begin) * traversal.columns + column;
        kernels_.row[block.size() - 1][vectors - 1](job);
      }
    }
}

void PixelPlan::store_row(const Correlation& correlation, const PixelTraversal& traversal,
                          const float* scratch, float* to) const {
  const int64_t channel_stride = written_shape_.stride[1];
  const int64_t column_stride = correlation.columns.out_step * written_shape_.stride[3];
  const int64_t channels = bundle_ * written_channels_, columns = correlation.columns.count;
  if (channel_stride == 1) {
    transpose(scratch, traversal.columns, to, column_stride, channels, columns);
    return;
  }
  spread_rows(scratch, traversal.columns, to, channel_stride, column_stride, channels, columns);
}

void PixelPlan::compute(const Task& task, const float* packed, const float* bias, float* scratch,
                        float* written) const {
  const Correlation& one = correlations_[task.correlation];
  const PixelTraversal& traversal = traversals_[task.correlation];
  for (int64_t i = task.rows.begin; i < task.rows.end; ++i) {
    compute_row(task, i, packed, scratch);
    finish_rows(problem_.epilogue, bias_from(bias, task.first_group * written_channels_), scratch,
                traversal.columns, bundle_ * written_channels_, one.columns.count);
    store_row(
        one, traversal, scratch,
        written + written_shape_.offset(task.first_image, task.first_group * written_channels_,
                                        one.rows.out_start + i * one.rows.out_step, one.columns.out_start));
  }
}

}  // namespace

std::unique_ptr<DirectPlan> make_pixel_plan(const ConvProblem& problem, const Kernels& kernels,
                                            const PlanOptions& options) {
  return std::make_unique<PixelPlan>(problem, kernels, options);
}

}  // namespace convscope::direct

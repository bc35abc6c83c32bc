// Backward-filter as dot products of rows: every filter tap is the product of an output-gradient plane with a
// shifted input plane, up to four shifts at once, lanes over columns.
#include <algorithm>

#include "algorithms/direct/filter_plan.hpp"
#include "algorithms/direct/staging.hpp"

namespace convscope::direct {
namespace {

class DotFilterPlan final : public FilterPlan {
 public:
  DotFilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  std::string implementation() const override;

 private:
  void stage_input_row(const float* image, int64_t h, float* staged) const override;
  void stage_output_row(const float* image, int64_t p, float* staged) const override;
  void add_part(int64_t part, const Images& images, Range rows, float* sums) const override;
  void finish_part(int64_t part, const float* sums, float* filter) const override;

  // One image, one pair of channels; `sums` are its taps.
  void add_plane(const float* input, const float* output, Range rows, float* sums) const;
  int64_t taps() const { return problem_.filter.h * problem_.filter.w; }

  std::vector<Correlation> correlations_;  // the forward one
  StagedInput staged_;
  int64_t columns_ = 0;  // of a staged output row, whole vectors
  std::vector<int64_t> column_offset_;
};

ConvProblem forward_of(ConvProblem problem) {
  problem.pass = Pass::forward;
  return problem;
}

DotFilterPlan::DotFilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options)
    : FilterPlan(problem, kernels, options),
      correlations_(correlations(forward_of(problem))),
      staged_(correlations_, StagedInput::Shape{problem.in_channels, 1, kernels.lanes, false}),
      columns_(round_up(out_.w, kernels.lanes)) {
  for (const Tap& tap : correlations_.front().columns.taps)
    column_offset_.push_back(staged_.column_offset(tap));
  lay_out({staged_.elements(), problem.out_channels * out_.h * columns_, problem.elements(Role::filter),
           problem.in_channels, problem.out_channels});
}

std::string DotFilterPlan::implementation() const {
  return std::string(kernels_.instructions) + ", columns in lanes";
}

void DotFilterPlan::stage_input_row(const float* image, int64_t h, float* staged) const {
  direct::stage_row(kernels_, staged_, image, input_shape_.stride, h, staged);
}

// To [channel][row][column], the columns behind the last one zero.
void DotFilterPlan::stage_output_row(const float* image, int64_t p, float* staged) const {
  const auto& stride = output_shape_.stride;
  const int64_t plane = out_.h * columns_;
  const float* from = image + p * stride[2];
  float* row = staged + p * columns_;
  if (stride[3] != 1) kernels_.transpose(from, stride[3], row, plane, out_.w, problem_.out_channels);
  for (int64_t k = 0; k < problem_.out_channels; ++k, row += plane) {
    if (stride[3] == 1) std::copy_n(from + k * stride[1], out_.w, row);
    std::fill(row + out_.w, row + columns_, 0.0f);
  }
}

void DotFilterPlan::add_plane(const float* input, const float* output, Range rows, float* sums) const {
  const Correlation& one = correlations_.front();
  const auto columns = static_cast<int64_t>(one.columns.taps.size());
  DotJob job;
  job.vectors = columns_ / kernels_.lanes;
  job.x_row_step = one.rows.step * staged_.row_step;
  job.y_row_step = columns_;
  for (const Tap& r : one.rows.taps) {
    const Range inside = outputs_inside(one.rows.count, one.rows.step, r.offset, one.rows.extent);
    const Range part{std::max(rows.begin, inside.begin), std::min(rows.end, inside.end)};
    if (part.empty()) continue;
    job.rows = part.size();
    job.x = input + (part.begin * one.rows.step + r.offset) * staged_.row_step;
    job.y = output + part.begin * columns_;
    for (int64_t s = 0; s < columns; s += kMaxDotColumns) {
      const int64_t together = std::min<int64_t>(kMaxDotColumns, columns - s);
      float result[kMaxDotColumns] = {};
      job.column_offset = column_offset_.data() + s;
      job.sum = result;
      kernels_.dot[together - 1](job);
      for (int64_t i = 0; i < together; ++i)
        sums[r.index * problem_.filter.w + one.columns.taps[static_cast<size_t>(s + i)].index] += result[i];
    }
  }
}

// Part: one input channel. Sums are [k][c][r][s].
void DotFilterPlan::add_part(int64_t part, const Images& images, Range rows, float* sums) const {
  const int64_t in_channels = problem_.in_channels_per_group(),
                out_channels = problem_.out_channels_per_group();
  const int64_t group = part / in_channels, c = part % in_channels;
  for (int64_t k = group * out_channels; k < (group + 1) * out_channels; ++k) {
    float* of_pair = sums + (k * in_channels + c) * taps();
    if (images.first) std::fill(of_pair, of_pair + taps(), 0.0f);
    for (int64_t n = 0; n < images.count; ++n)
      add_plane(images.input + n * sizes().input + part * staged_.channel_step,
                images.output + n * sizes().output + k * out_.h * columns_, rows, of_pair);
  }
}

// Part: one output channel.
void DotFilterPlan::finish_part(int64_t part, const float* sums, float* filter) const {
  const float* from = sums + part * problem_.in_channels_per_group() * taps();
  for (int64_t c = 0; c < problem_.in_channels_per_group(); ++c)
    for (int64_t r = 0; r < problem_.filter.h; ++r)
      for (int64_t s = 0; s < problem_.filter.w; ++s) filter[filter_shape_.offset(part, c, r, s)] = *from++;
}

}  // namespace

std::unique_ptr<Plan> make_dot_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                           const PlanOptions& options) {
  return std::make_unique<DotFilterPlan>(problem, kernels, options);
}

}  // namespace convscope::direct

// Backward-filter as dot products of planes: every filter tap is the product of an output-gradient plane with
// a shifted input plane, several shifts of a filter row at once. The lanes hold the columns of a row and are
// added up at the end.
#include <algorithm>

#include "algorithms/common/transpose.hpp"
#include "algorithms/direct/cpu/filter_plan.hpp"
#include "algorithms/direct/cpu/staging.hpp"

namespace convscope::direct {
namespace {

class DotFilterPlan final : public FilterPlan {
 public:
  DotFilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  std::string implementation() const override;

 private:
  double multiply_adds() const override;
  SumLevels levels_of(const Chunk& chunk) const override {
    return {chunk.rows.size() * output_row_ / kernels_.lanes, chunk.images};
  }
  double lanes_added() const override { return kernels_.lanes; }
  void stage_input_row(const float* image, int64_t h, float* staged, int64_t to) const override;
  void stage_output_row(const float* image, int64_t p, float* staged, int64_t to) const override;
  void add_part(int64_t part, const Staged& staged, float* sums) const override;
  void finish_part(int64_t part, const float* sums, float* filter) const override;

  // One input and one output plane of a staged image; `sums` are a vector for each tap.
  void add_planes(const float* input, const float* output, const Staged& staged, float* sums) const;
  int64_t taps() const { return problem_.filter.h * problem_.filter.w; }

  Correlation correlation_;  // the forward one
  StagedInput staged_;
  int64_t output_row_ = 0, output_plane_ = 0;  // floats of a staged row and plane of one channel
  std::vector<int64_t> column_offset_;
  std::vector<Range> column_parts_;  // taps that are neighbours in a filter row, summed together
};

DotFilterPlan::DotFilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options)
    : FilterPlan(problem, kernels, options),
      correlation_(forward_correlation(problem)),
      staged_({correlation_}, {problem.in_channels, 1, kernels.lanes, false}),
      output_row_(round_up(out_.w, kernels.lanes)) {
  const std::vector<Tap>& columns = correlation_.columns.taps;
  for (size_t begin = 0, end = 0; end < columns.size(); ++end) {
    column_offset_.push_back(staged_.column_offset(columns[end]));
    if (end + 1 < columns.size() && columns[end + 1].index == columns[end].index + 1) continue;
    const auto first = static_cast<int64_t>(begin);
    for (const Range& part : balanced_parts(static_cast<int64_t>(end + 1 - begin), kMaxDotTaps))
      column_parts_.push_back({first + part.begin, first + part.end});
    begin = end + 1;
  }
  const int64_t pairs = problem.out_channels * problem.in_channels_per_group();
  lay_out({staged_.row_step, problem.out_channels * output_row_, pairs * taps() * kernels.lanes,
           problem.in_channels, problem.out_channels});
  output_plane_ = staged_output_rows() * output_row_;
}

std::string DotFilterPlan::implementation() const {
  return std::string(kernels_.instructions) + ", columns in lanes" + slices_text(slices());
}

// Whole vectors of columns; rows of padding are left out.
double DotFilterPlan::multiply_adds() const {
  const auto columns = static_cast<int64_t>(correlation_.columns.taps.size());
  const double pairs =
      static_cast<double>(correlation_.rows.taps_inside_all()) * static_cast<double>(columns * output_row_);
  const int64_t planes = problem_.elements(Role::filter) / taps();
  return pairs * static_cast<double>(problem_.batch * planes);
}

void DotFilterPlan::stage_input_row(const float* image, int64_t h, float* staged, int64_t to) const {
  if (!staged_.row_is_read[static_cast<size_t>(h)]) return;
  float* row = staged + to * staged_.row_step;
  clear_padding(staged_, row);
  direct::stage_row(staged_, image + h * input_shape_.stride[2], input_shape_.stride, row);
}

// To [channel][row][column], the columns past the last one zero.
void DotFilterPlan::stage_output_row(const float* image, int64_t p, float* staged, int64_t to) const {
  const auto& stride = output_shape_.stride;
  const float* from = image + p * stride[2];
  float* row = staged + to * output_row_;
  if (stride[3] != 1) transpose(from, stride[3], row, output_plane_, out_.w, problem_.out_channels);
  for (int64_t k = 0; k < problem_.out_channels; ++k, row += output_plane_) {
    if (stride[3] == 1) std::copy_n(from + k * stride[1], out_.w, row);
    std::fill(row + out_.w, row + output_row_, 0.0f);
  }
}

void DotFilterPlan::add_planes(const float* input, const float* output, const Staged& staged,
                               float* sums) const {
  const Axis& rows = correlation_.rows;
  DotJob job;
  job.step = kernels_.lanes;
  job.steps = output_row_ / job.step;
  job.x_row_step = rows.step * staged_.row_step;
  job.y_row_step = output_row_;
  job.sum_step = kernels_.lanes;
  for (const Tap& r : rows.taps) {
    const Range inside = outputs_inside(rows.count, rows.step, r.offset, rows.extent);
    const Range part{std::max(staged.rows.begin, inside.begin), std::min(staged.rows.end, inside.end)};
    if (part.empty()) continue;
    job.rows = part.size();
    job.x = input + (part.begin * rows.step + r.offset - staged.input_rows.begin) * staged_.row_step;
    job.y = output + (part.begin - staged.rows.begin) * output_row_;
    for (const Range& together : column_parts_) {
      const int64_t first = correlation_.columns.taps[static_cast<size_t>(together.begin)].index;
      job.tap_offset = column_offset_.data() + together.begin;
      job.sum = sums + (r.index * problem_.filter.w + first) * kernels_.lanes;
      kernels_.dot[together.size() - 1](job);
    }
  }
}

// Part: one input channel. Sums are [k][c][r][s][lane].
void DotFilterPlan::add_part(int64_t part, const Staged& staged, float* sums) const {
  const int64_t in_channels = problem_.in_channels_per_group(),
                output_channels = problem_.out_channels_per_group();
  const float* input = staged.input + part * staged_.channel_step;
  for (int64_t i = 0; i < output_channels; ++i) {
    const int64_t k = part / in_channels * output_channels + i;
    const float* output = staged.output + k * output_plane_;
    float* of_pair = sums + (k * in_channels + part % in_channels) * taps() * kernels_.lanes;
    if (staged.first) std::fill(of_pair, of_pair + taps() * kernels_.lanes, 0.0f);
    for (int64_t n = 0; n < staged.images; ++n)
      add_planes(input + n * input_floats(), output + n * output_floats(), staged, of_pair);
  }
}

// Part: one output channel.
void DotFilterPlan::finish_part(int64_t part, const float* sums, float* filter) const {
  const int64_t lanes = kernels_.lanes, in_channels = problem_.in_channels_per_group();
  const auto& stride = filter_shape_.stride;
  const float* from = sums + part * in_channels * taps() * lanes;
  for (int64_t c = 0; c < in_channels; ++c)
    for (int64_t tap = 0; tap < taps(); ++tap, from += lanes) {
      float sum = 0;
      for (int64_t lane = 0; lane < lanes; ++lane) sum += from[lane];
      filter[part * stride[0] + c * stride[1] + tap * stride[3]] = sum;
    }
}

}  // namespace

std::unique_ptr<DirectPlan> make_dot_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                 const PlanOptions& options) {
  return std::make_unique<DotFilterPlan>(problem, kernels, options);
}

}  // namespace convscope::direct

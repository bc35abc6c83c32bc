// Backward-filter as dot products of planes: every filter tap is the product of an output-gradient plane with
// a shifted input plane, up to four shifts at once. The lanes hold the columns of a row and are added up at
// the end, or, for depthwise, 16 neighbouring channels of one column.
#include <algorithm>

#include "algorithms/direct/filter_plan.hpp"
#include "algorithms/direct/staging.hpp"

namespace convscope::direct {
namespace {

class DotFilterPlan final : public FilterPlan {
 public:
  DotFilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options,
                bool depthwise);
  std::string implementation() const override;

 private:
  double multiply_adds() const override;
  void stage_input_row(const float* image, int64_t h, float* staged) const override;
  void stage_output_row(const float* image, int64_t p, float* staged) const override;
  void add_part(int64_t part, const Images& images, Range rows, float* sums) const override;
  void finish_part(int64_t part, const float* sums, float* filter) const override;

  void stage_output_planar(const float* from, float* row) const;
  void stage_output_blocked(const float* from, float* row) const;
  // One image of one input and one output plane; `sums` are a vector for each tap.
  void add_planes(const float* input, const float* output, Range rows, float* sums) const;
  int64_t taps() const { return problem_.filter.h * problem_.filter.w; }
  int64_t vectors_per_block() const { return kChannelBlock / kernels_.lanes; }

  bool depthwise_;
  std::vector<Correlation> correlations_;  // the forward one
  StagedInput staged_;
  int64_t output_row_ = 0, output_plane_ = 0;  // floats of a staged row and plane of one channel (block)
  std::vector<int64_t> column_offset_;
};

ConvProblem forward_of(ConvProblem problem) {
  problem.pass = Pass::forward;
  return problem;
}

DotFilterPlan::DotFilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options,
                             bool depthwise)
    : FilterPlan(problem, kernels, options),
      depthwise_(depthwise),
      correlations_(correlations(forward_of(problem))),
      staged_(correlations_, {problem.in_channels, 1, depthwise ? 1 : kernels.lanes, depthwise}),
      output_row_(depthwise ? out_.w * kChannelBlock : round_up(out_.w, kernels.lanes)),
      output_plane_(out_.h * output_row_) {
  for (const Tap& tap : correlations_.front().columns.taps)
    column_offset_.push_back(staged_.column_offset(tap));
  const int64_t blocks = ceil_div(problem.groups, kChannelBlock);
  const int64_t pairs =
      depthwise ? blocks * vectors_per_block() : problem.out_channels * problem.in_channels_per_group();
  lay_out({staged_.elements(), (depthwise ? blocks : problem.out_channels) * output_plane_,
           pairs * taps() * kernels.lanes, depthwise ? pairs : problem.in_channels,
           depthwise ? blocks : problem.out_channels});
}

std::string DotFilterPlan::implementation() const {
  return std::string(kernels_.instructions) + (depthwise_ ? ", depthwise, channels" : ", columns") +
         " in lanes" + slices_text();
}

double DotFilterPlan::multiply_adds() const {
  const Correlation& one = correlations_.front();
  const double pairs = static_cast<double>(one.rows.taps_inside_all()) *
                       static_cast<double>(static_cast<int64_t>(one.columns.taps.size()) * output_row_);
  const int64_t planes =
      depthwise_ ? ceil_div(problem_.groups, kChannelBlock) : problem_.elements(Role::filter) / taps();
  return pairs * static_cast<double>(problem_.batch * planes);
}

void DotFilterPlan::stage_input_row(const float* image, int64_t h, float* staged) const {
  if (staged_.row_is_read[static_cast<size_t>(h)])
    direct::stage_row(kernels_, staged_, image + h * input_shape_.stride[2], input_shape_.stride,
                      staged + h * staged_.row_step);
}

void DotFilterPlan::stage_output_row(const float* image, int64_t p, float* staged) const {
  const float* from = image + p * output_shape_.stride[2];
  float* row = staged + p * output_row_;
  if (depthwise_)
    stage_output_blocked(from, row);
  else
    stage_output_planar(from, row);
}

// To [channel][row][column], the columns behind the last one zero.
void DotFilterPlan::stage_output_planar(const float* from, float* row) const {
  const auto& stride = output_shape_.stride;
  if (stride[3] != 1) kernels_.transpose(from, stride[3], row, output_plane_, out_.w, problem_.out_channels);
  for (int64_t k = 0; k < problem_.out_channels; ++k, row += output_plane_) {
    if (stride[3] == 1) std::copy_n(from + k * stride[1], out_.w, row);
    std::fill(row + out_.w, row + output_row_, 0.0f);
  }
}

// To [channel block][row][column][channel].
void DotFilterPlan::stage_output_blocked(const float* from, float* row) const {
  const auto& stride = output_shape_.stride;
  for (int64_t k = 0; k < problem_.out_channels; k += kChannelBlock, row += output_plane_) {
    const int64_t channels = std::min(kChannelBlock, problem_.out_channels - k);
    if (stride[3] == 1)
      kernels_.transpose(from + k * stride[1], stride[1], row, kChannelBlock, channels, out_.w);
    else
      for (int64_t q = 0; q < out_.w; ++q)
        std::copy_n(from + q * stride[3] + k, channels, row + q * kChannelBlock);
  }
}

void DotFilterPlan::add_planes(const float* input, const float* output, Range rows, float* sums) const {
  const Correlation& one = correlations_.front();
  const auto columns = static_cast<int64_t>(one.columns.taps.size());
  DotJob job;
  job.step = depthwise_ ? kChannelBlock : kernels_.lanes;
  job.steps = output_row_ / job.step;
  job.x_row_step = one.rows.step * staged_.row_step;
  job.y_row_step = output_row_;
  for (const Tap& r : one.rows.taps) {
    const Range inside = outputs_inside(one.rows.count, one.rows.step, r.offset, one.rows.extent);
    const Range part{std::max(rows.begin, inside.begin), std::min(rows.end, inside.end)};
    if (part.empty()) continue;
    job.rows = part.size();
    job.x = input + (part.begin * one.rows.step + r.offset) * staged_.row_step;
    job.y = output + part.begin * output_row_;
    for (int64_t s = 0; s < columns; s += kMaxDotColumns) {
      const int64_t together = std::min<int64_t>(kMaxDotColumns, columns - s);
      float result[kMaxDotColumns * kChannelBlock] = {};
      job.column_offset = column_offset_.data() + s;
      job.sum = result;
      kernels_.dot[together - 1](job);
      for (int64_t i = 0; i < together; ++i) {
        const int64_t tap = r.index * problem_.filter.w + one.columns.taps[static_cast<size_t>(s + i)].index;
        for (int64_t lane = 0; lane < kernels_.lanes; ++lane)
          sums[tap * kernels_.lanes + lane] += result[i * kernels_.lanes + lane];
      }
    }
  }
}

// Part: one input channel, or for depthwise one vector of them. Sums are [k][c][r][s][lane] or
// [vector][r][s][lane].
void DotFilterPlan::add_part(int64_t part, const Images& images, Range rows, float* sums) const {
  const int64_t in_channels = problem_.in_channels_per_group();
  const int64_t block = part / vectors_per_block(), lane = part % vectors_per_block() * kernels_.lanes;
  const int64_t input_at = depthwise_ ? block * staged_.block_step + lane : part * staged_.channel_step;
  const int64_t output_channels = depthwise_ ? 1 : problem_.out_channels_per_group();
  for (int64_t i = 0; i < output_channels; ++i) {
    const int64_t k = part / in_channels * output_channels + i;
    const int64_t output_at = depthwise_ ? block * output_plane_ + lane : k * output_plane_;
    const int64_t pair = depthwise_ ? part : k * in_channels + part % in_channels;
    float* of_pair = sums + pair * taps() * kernels_.lanes;
    if (images.first) std::fill(of_pair, of_pair + taps() * kernels_.lanes, 0.0f);
    for (int64_t n = 0; n < images.count; ++n)
      add_planes(images.input + n * sizes().input + input_at, images.output + n * sizes().output + output_at,
                 rows, of_pair);
  }
}

// Part: one output channel, or for depthwise one block of them.
void DotFilterPlan::finish_part(int64_t part, const float* sums, float* filter) const {
  const int64_t lanes = kernels_.lanes, in_channels = problem_.in_channels_per_group();
  const auto tap_offset = [&](int64_t k, int64_t c, int64_t tap) {
    return filter_shape_.offset(k, c, tap / problem_.filter.w, tap % problem_.filter.w);
  };
  if (depthwise_) {
    const int64_t end = std::min(problem_.groups, (part + 1) * kChannelBlock);
    for (int64_t k = part * kChannelBlock; k < end; ++k)
      for (int64_t tap = 0; tap < taps(); ++tap)
        filter[tap_offset(k, 0, tap)] = sums[(k / lanes * taps() + tap) * lanes + k % lanes];
    return;
  }
  const float* from = sums + part * in_channels * taps() * lanes;
  for (int64_t c = 0; c < in_channels; ++c)
    for (int64_t tap = 0; tap < taps(); ++tap, from += lanes) {
      float sum = 0;
      for (int64_t lane = 0; lane < lanes; ++lane) sum += from[lane];
      filter[tap_offset(part, c, tap)] = sum;
    }
}

}  // namespace

std::unique_ptr<DirectPlan> make_dot_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                 const PlanOptions& options) {
  return std::make_unique<DotFilterPlan>(problem, kernels, options, false);
}

std::unique_ptr<DirectPlan> make_depthwise_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                       const PlanOptions& options) {
  return std::make_unique<DotFilterPlan>(problem, kernels, options, true);
}

}  // namespace convscope::direct

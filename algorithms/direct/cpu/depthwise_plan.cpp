// Depthwise forward and backward-data with the lanes over channels: each of 16 neighbouring channels has its
// own filter, so one vector of input is multiplied by one vector of filter at every tap. For NCHW both
// tensors are transposed, which costs less than lanes left empty by short rows. The filter is packed as
// [block][r][s][channel].
#include <algorithm>

#include "algorithms/common/transpose.hpp"
#include "algorithms/direct/cpu/correlation_plan.hpp"
#include "bench/algorithm/epilogue.hpp"

namespace convscope::direct {
namespace {

struct DepthwiseTraversal {
  int64_t packed_at = 0;
  std::vector<int64_t> row_offset, column_offset;
  std::vector<Range> strips;
};

class DepthwisePlan final : public CorrelationPlan {
 public:
  DepthwisePlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  std::string implementation() const override;

 private:
  double multiply_adds() const override;
  void pack(const float* filter, float* packed) const override;
  void pack_block(const Correlation& correlation, const float* filter, int64_t channels, float* to) const;
  void compute(const Task& task, const float* packed, const float* bias, float* scratch,
               float* written) const override;
  void store(const Correlation& correlation, Range pixels, int64_t channels, const float* tile,
             float* to) const;

  int64_t bundle_ = 1;  // channels of a unit
  std::vector<DepthwiseTraversal> traversals_;
};

int64_t taps_of_row(const Correlation& one) {
  return static_cast<int64_t>(one.columns.taps.size());
}
int64_t block_floats(const Correlation& one) {
  return static_cast<int64_t>(one.rows.taps.size()) * taps_of_row(one) * kChannelBlock;
}

DepthwisePlan::DepthwisePlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options)
    : CorrelationPlan(problem, kernels, options),
      bundle_(problem.groups % kChannelBlock == 0 ? kChannelBlock : problem.groups) {
  staged_ = StagedInput(correlations_, {bundle_, 1, 1, true});
  int64_t packed = 0;
  for (const Correlation& one : correlations_) {
    DepthwiseTraversal traversal{packed, {}, {}, balanced_parts(one.columns.count, kernels.max_pixels)};
    for (const Tap& tap : one.rows.taps) traversal.row_offset.push_back(tap.offset * staged_.row_step);
    for (const Tap& tap : one.columns.taps) traversal.column_offset.push_back(staged_.column_offset(tap));
    packed += ceil_div(problem.groups, kChannelBlock) * block_floats(one);
    traversals_.push_back(std::move(traversal));
  }
  lay_out(bundle_, packed, ceil_div(bundle_, kChannelBlock), kMaxPixels * kChannelBlock);
}

std::string DepthwisePlan::implementation() const {
  return std::string(kernels_.instructions) + ", depthwise, channels in lanes, tile " +
         std::to_string(kernels_.max_pixels) + "x" + std::to_string(kChannelBlock);
}

double DepthwisePlan::multiply_adds() const {
  double pairs = 0;
  for (const Correlation& one : correlations_)
    pairs += static_cast<double>(one.rows.taps_inside_all()) *
             static_cast<double>(one.columns.count * taps_of_row(one));
  return pairs * static_cast<double>(problem_.batch * round_up(problem_.groups, kChannelBlock));
}

void DepthwisePlan::pack(const float* filter, float* packed) const {
  for (size_t i = 0; i < correlations_.size(); ++i) {
    float* to = packed + traversals_[i].packed_at;
    for (int64_t channel = 0; channel < problem_.groups; channel += kChannelBlock) {
      pack_block(correlations_[i], filter + channel * filter_shape_.stride[0],
                 std::min(kChannelBlock, problem_.groups - channel), to);
      to += block_floats(correlations_[i]);
    }
  }
}

void DepthwisePlan::pack_block(const Correlation& one, const float* filter, int64_t channels,
                               float* to) const {
  const auto& stride = filter_shape_.stride;
  const int64_t taps = problem_.filter.h * problem_.filter.w;
  if (channels < kChannelBlock) std::fill(to, to + block_floats(one), 0.0f);
  if (block_floats(one) == taps * kChannelBlock && stride[3] == 1) {  // in order, none left out
    transpose(filter, stride[0], to, kChannelBlock, channels, taps);
    return;
  }
  for (const Tap& r : one.rows.taps)
    for (const Tap& s : one.columns.taps) {
      const float* from = filter + r.index * stride[2] + s.index * stride[3];
      for (int64_t c = 0; c < channels; ++c) to[c] = from[c * stride[0]];
      to += kChannelBlock;
    }
}

// `to` is the first pixel of the row in the block's first channel.
void DepthwisePlan::store(const Correlation& correlation, Range pixels, int64_t channels, const float* tile,
                          float* to) const {
  const int64_t channel_stride = written_shape_.stride[1];
  const int64_t pixel_stride = correlation.columns.out_step * written_shape_.stride[3];
  to += pixels.begin * pixel_stride;
  if (pixel_stride == 1) {
    transpose(tile, kChannelBlock, to, channel_stride, pixels.size(), channels);
    return;
  }
  for (int64_t pixel = 0; pixel < pixels.size(); ++pixel)
    for (int64_t c = 0; c < channels; ++c)
      to[pixel * pixel_stride + c * channel_stride] = tile[pixel * kChannelBlock + c];
}

void DepthwisePlan::compute(const Task& task, const float* packed, const float* bias, float* scratch,
                            float* written) const {
  const Correlation& one = correlations_[task.correlation];
  const DepthwiseTraversal& traversal = traversals_[task.correlation];
  const int64_t channel = task.first_group + task.block * kChannelBlock;
  const int64_t channels = std::min(kChannelBlock, bundle_ - task.block * kChannelBlock);
  TileJob job;
  job.in = task.staged;
  job.tile = scratch;
  job.filter_column_step = kChannelBlock;
  job.filter_row_step = taps_of_row(one) * kChannelBlock;
  job.columns = taps_of_row(one);
  job.column_offset = traversal.column_offset.data();
  const float* filter = packed + traversal.packed_at + channel / kChannelBlock * block_floats(one);
  for (int64_t i = task.rows.begin; i < task.rows.end; ++i) {
    const Range rows = one.rows.taps_inside(i, i + 1);
    job.filter = filter + rows.begin * job.filter_row_step;
    job.rows = rows.size();
    job.row_offset = traversal.row_offset.data() + rows.begin;
    float* to =
        written + written_shape_.offset(task.first_image, channel, one.rows.out_start + i * one.rows.out_step,
                                        one.columns.out_start);
    for (const Range& pixels : traversal.strips) {
      job.in_offset = (i * one.rows.step - task.first_row) * staged_.row_step +
                      task.block * staged_.block_step + pixels.begin * kChannelBlock;
      if (written_shape_.stride[3] == 1)
        prefetch_rows(to + pixels.begin * one.columns.out_step, written_shape_.stride[1], channels,
                      (pixels.size() - 1) * one.columns.out_step + 1);
      kernels_.depthwise_tile[pixels.size() - 1](job);
      finish_columns(problem_.epilogue, bias_from(bias, channel), scratch, kChannelBlock, pixels.size(),
                     channels);
      store(one, pixels, channels, scratch, to);
    }
  }
}

}  // namespace

std::unique_ptr<DirectPlan> make_depthwise_plan(const ConvProblem& problem, const Kernels& kernels,
                                                const PlanOptions& options) {
  return std::make_unique<DepthwisePlan>(problem, kernels, options);
}

}  // namespace convscope::direct

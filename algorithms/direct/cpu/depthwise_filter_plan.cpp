// Backward-filter of depthwise layers with the lanes over channels: 16 neighbouring channels, each with its
// own filter, are staged some rows at a time by the thread that sums them, every tap at once. Rows
// outside the input are staged as zeros. A slice is a range of the batch's output rows; slices are summed
// apart and added in order, so that the bits depend on the number of threads alone.
#include <omp.h>

#include <algorithm>

#include "algorithms/common/transpose.hpp"
#include "algorithms/direct/cpu/filter_plan.hpp"
#include "algorithms/direct/cpu/staging.hpp"

namespace convscope::direct {
namespace {

constexpr int64_t kChunkFloats = 1 << 14;  // staged at once: 64 KiB

class DepthwiseFilterPlan final : public DirectPlan {
 public:
  DepthwiseFilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  std::string implementation() const override;
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override {
    return longest_sum_of(chunks_, [&](const Chunk& chunk) {
      return SumLevels{chunk.rows.size() * out_.w, 1};
    });
  }
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  // Per thread.
  struct Memory {
    float* input = nullptr;   // [row][residue][column][channel]
    float* output = nullptr;  // [row][column][channel]
  };
  void choose_sizes();
  void sum_block(const ConvArgs& args, int64_t block, const std::vector<Chunk>& chunks, const Memory& memory,
                 float* sums) const;
  void stage_input(const ConvArgs& args, int64_t channel, const Chunk& chunk, float* to) const;
  void stage_output(const ConvArgs& args, int64_t channel, const Chunk& chunk, float* to) const;
  void finish_block(int64_t block, float* sums, float* filter) const;
  float* sums_of(float* sums, int64_t slice, int64_t block) const {
    return sums + (slice * blocks_ + block) * block_floats_;
  }

  Correlation correlation_;
  StagedInput staged_, last_staged_;  // of one block of channels; of the last one, which may have fewer
  int64_t taps_ = 0, blocks_ = 0, block_floats_ = 0;  // of a filter; of channels; of a block's sums
  std::vector<int64_t> tap_offset_, tap_index_;       // taps that fall inside for some output
  std::vector<Range> tap_parts_;
  int64_t chunk_rows_ = 1, slices_ = 1;
  std::vector<std::vector<Chunk>> chunks_;                      // [slice]
  int64_t input_floats_ = 0, thread_floats_ = 0, sums_at_ = 0;  // per thread; where the sums begin
};

DepthwiseFilterPlan::DepthwiseFilterPlan(const ConvProblem& problem, const Kernels& kernels,
                                         const PlanOptions& options)
    : DirectPlan(problem, kernels, options),
      correlation_(forward_correlation(problem)),
      staged_({correlation_}, {kChannelBlock, 1, 1, true}),
      last_staged_({correlation_}, {(problem.groups - 1) % kChannelBlock + 1, 1, 1, true}),
      taps_(problem.filter.h * problem.filter.w),
      blocks_(ceil_div(problem.groups, kChannelBlock)),
      block_floats_(taps_ * kChannelBlock) {
  for (const Tap& r : correlation_.rows.taps)
    for (const Tap& s : correlation_.columns.taps) {
      const int64_t first_row = correlation_.rows.taps.front().offset;
      tap_offset_.push_back((r.offset - first_row) * staged_.row_step + staged_.column_offset(s));
      tap_index_.push_back(r.index * problem.filter.w + s.index);
    }
  tap_parts_ = balanced_parts(static_cast<int64_t>(tap_offset_.size()), kMaxDotTaps);
  choose_sizes();
}

std::string DepthwiseFilterPlan::implementation() const {
  return std::string(kernels_.instructions) + ", depthwise, channels in lanes" + slices_text(slices_);
}

// Whole blocks of channels; rows of padding are multiplied.
std::optional<OperationCount> DepthwiseFilterPlan::operations() const {
  double staged_rows = 0;
  for (const auto& slice : chunks_)
    for (const Chunk& chunk : slice) staged_rows += static_cast<double>(chunk.input_rows.size());
  const auto pixels = static_cast<double>(problem_.batch * out_.h * out_.w);
  const auto channels = static_cast<double>(blocks_ * kChannelBlock);
  const double sums = static_cast<double>(slices_ * blocks_ * block_floats_);
  OperationCount count;
  count.product_flops = 2 * pixels * channels * static_cast<double>(tap_offset_.size());
  const double moved =
      staged_rows * static_cast<double>(blocks_ * staged_.row_step) + pixels * channels + sums;
  count.bytes = static_cast<double>(problem_.total_bytes()) + 2 * sizeof(float) * moved;
  return count;
}

void DepthwiseFilterPlan::choose_sizes() {
  const Axis& rows = correlation_.rows;
  const int64_t wanted = options_.threads > 1 ? ceil_div(kTasksPerThread * options_.threads, blocks_) : 1;
  const auto total = [&] { return slices_ * blocks_ * block_floats_ + options_.threads * thread_floats_; };
  slices_ = std::min(wanted, problem_.batch * out_.h);
  chunk_rows_ = out_.h;
  for (;;) {
    input_floats_ = round_up(input_rows_of(rows, {0, chunk_rows_}).size() * staged_.row_step, kAlignment);
    thread_floats_ = input_floats_ + chunk_rows_ * out_.w * kChannelBlock;
    const bool fits = thread_floats_ <= kChunkFloats && total() <= cap_floats_;
    if (fits || chunk_rows_ == 1) break;
    chunk_rows_ = ceil_div(chunk_rows_, 2);
  }
  while (slices_ > 1 && total() > cap_floats_) --slices_;
  chunks_ = sliced_chunks(rows, problem_.batch, slices_, chunk_rows_);
  sums_at_ = options_.threads * thread_floats_;
  total_floats_ = total();
}

void DepthwiseFilterPlan::stage_input(const ConvArgs& args, int64_t channel, const Chunk& chunk,
                                      float* to) const {
  const auto* image = static_cast<const float*>(args.input) + input_shape_.offset(chunk.image, channel, 0, 0);
  const StagedInput& staged = problem_.groups - channel < kChannelBlock ? last_staged_ : staged_;
  for (int64_t h = chunk.input_rows.begin; h < chunk.input_rows.end; ++h, to += staged_.row_step) {
    if (h < 0 || h >= staged_.rows)
      std::fill(to, to + staged_.row_step, 0.0f);
    else if (staged_.row_is_read[static_cast<size_t>(h)])
      stage_row(staged, image + h * input_shape_.stride[2], input_shape_.stride, to);
  }
}

void DepthwiseFilterPlan::stage_output(const ConvArgs& args, int64_t channel, const Chunk& chunk,
                                       float* to) const {
  const auto& stride = output_shape_.stride;
  const int64_t channels = std::min(kChannelBlock, problem_.groups - channel);
  const int64_t pixels = chunk.rows.size() * out_.w;
  const float* from = static_cast<const float*>(args.output) +
                      output_shape_.offset(chunk.image, channel, chunk.rows.begin, 0);
  if (stride[3] == 1) {
    transpose(from, stride[1], to, kChannelBlock, channels, pixels);
    return;
  }
  for (int64_t i = 0; i < pixels; ++i) std::copy_n(from + i * stride[3], channels, to + i * kChannelBlock);
}

void DepthwiseFilterPlan::sum_block(const ConvArgs& args, int64_t block, const std::vector<Chunk>& chunks,
                                    const Memory& memory, float* sums) const {
  std::fill(sums, sums + block_floats_, 0.0f);
  DotJob job;
  job.step = kChannelBlock;
  job.steps = out_.w;
  job.x_row_step = correlation_.rows.step * staged_.row_step;
  job.y_row_step = out_.w * kChannelBlock;
  job.sum_step = kChannelBlock;
  for (const Chunk& chunk : chunks) {
    stage_input(args, block * kChannelBlock, chunk, memory.input);
    stage_output(args, block * kChannelBlock, chunk, memory.output);
    job.rows = chunk.rows.size();
    for (const Range& part : tap_parts_) {
      job.tap_offset = tap_offset_.data() + part.begin;
      for (int64_t lane = 0; lane < kChannelBlock; lane += kernels_.lanes) {
        job.x = memory.input + lane;
        job.y = memory.output + lane;
        job.sum = sums + part.begin * kChannelBlock + lane;
        kernels_.dot[part.size() - 1](job);
      }
    }
  }
}

// Adds the slices into the first and writes the block's filters. Sums are [tap that falls inside][channel].
void DepthwiseFilterPlan::finish_block(int64_t block, float* sums, float* filter) const {
  const auto& stride = filter_shape_.stride;
  const auto inside = static_cast<int64_t>(tap_offset_.size());
  const int64_t first = block * kChannelBlock;
  const int64_t channels = std::min(kChannelBlock, problem_.groups - first);
  float* total = sums_of(sums, 0, block);
  for (int64_t slice = 1; slice < slices_; ++slice) {
    const float* more = sums_of(sums, slice, block);
    for (int64_t i = 0; i < inside * kChannelBlock; ++i) total[i] += more[i];
  }
  float* to = filter + first * stride[0];
  if (inside == taps_ && stride[3] == 1) {
    transpose(total, kChannelBlock, to, stride[0], taps_, channels);
    return;
  }
  for (int64_t c = 0; c < channels; ++c, to += stride[0]) {
    for (int64_t tap = 0; tap < taps_; ++tap) to[tap * stride[3]] = 0.0f;
    for (int64_t i = 0; i < inside; ++i)
      to[tap_index_[static_cast<size_t>(i)] * stride[3]] = total[i * kChannelBlock + c];
  }
}

void DepthwiseFilterPlan::run(const ConvArgs& args, Queue&) {
  auto* workspace = static_cast<float*>(args.workspace);
  float* sums = workspace + sums_at_;
#pragma omp parallel num_threads(options_.threads)
  {
    float* own = workspace + omp_get_thread_num() * thread_floats_;
    const Memory memory{own, own + input_floats_};
    const int64_t rows = staged_.row_step > 0 ? input_floats_ / staged_.row_step : 0;  // none if no tap reads
    for (int64_t row = 0; row < rows; ++row) clear_padding(staged_, own + row * staged_.row_step);
#pragma omp for schedule(dynamic)
    for (int64_t task = 0; task < slices_ * blocks_; ++task) {
      const int64_t slice = task / blocks_, block = task % blocks_;
      sum_block(args, block, chunks_[static_cast<size_t>(slice)], memory, sums_of(sums, slice, block));
    }
#pragma omp for schedule(static)
    for (int64_t block = 0; block < blocks_; ++block)
      finish_block(block, sums, static_cast<float*>(args.filter));
  }
}

}  // namespace

std::unique_ptr<DirectPlan> make_depthwise_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                       const PlanOptions& options) {
  return std::make_unique<DepthwiseFilterPlan>(problem, kernels, options);
}

}  // namespace convscope::direct

// Forward and backward-data with the lanes over written channels: a tile is up to 14 pixels of a row times
// two vectors of channels, summed in registers over every tap and channel, then written out (transposed for
// NCHW). The filter is packed as [group][channel block][summed block][r][s][summed channel][lane].
#include <algorithm>
#include <array>
#include <cstdlib>

#include "algorithms/common/transpose.hpp"
#include "algorithms/direct/cpu/correlation_plan.hpp"
#include "bench/algorithm/epilogue.hpp"

namespace convscope::direct {
namespace {

// Of so few summed channels a loop over them for each tap is too short; one over taps and channels is not.
constexpr int64_t kFewChannels = 8;

struct Strip {
  Range pixels;
  Range taps;                   // of the columns, that fall inside for some pixel
  std::vector<int8_t> skipped;  // of each of these taps, see TileJob
};

// Pixels of a strip, with `images` side by side, that read padding and need not be multiplied. Tiles of few
// pixels multiply them all.
int8_t skipped(const Axis& columns, const Tap& tap, const Range& pixels, int64_t images) {
  if (pixels.size() <= 2 * kMaxSkipped) return 0;
  const Range inside = outputs_inside(columns.count, columns.step, tap.offset, columns.extent);
  const int64_t first = inside.begin * images - pixels.begin, last = pixels.end - inside.end * images;
  const int64_t count = first > 0 ? first : -std::max<int64_t>(last, 0);
  return static_cast<int8_t>(std::clamp<int64_t>(count, -kMaxSkipped, kMaxSkipped));
}

// What the inner loop needs of one correlation: where its packed filter and the staged input lie.
struct ChannelTraversal {
  int64_t packed_at = 0;
  int64_t row_step = 0, column_step = 0, block_step = 0, channel_block_step = 0;  // of the packed filter
  std::vector<int64_t> row_offset, column_offset;
  std::vector<int64_t> pair_offset;  // of each column and channel, see TileJob; empty where there are many
  std::vector<Strip> strips;
  std::vector<int64_t> pixel_offset;  // in the written tensor, from the row's first pixel
  int64_t pixel_step = 0;             // between pixels of a plane (NCHW, one image); otherwise 0
};

class ChannelPlan final : public CorrelationPlan {
 public:
  // `images` side by side: a divisor of the batch.
  ChannelPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options, int64_t images);
  std::string implementation() const override;

 private:
  double multiply_adds() const override;
  void pack(const float* filter, float* packed) const override;
  void compute(const Task& task, const float* packed, const float* bias, float* scratch,
               float* written) const override;

  ChannelTraversal make_traversal(const Correlation& correlation, int64_t packed_at) const;
  int64_t packed_floats(const Correlation& correlation) const;
  void pack_block(const Correlation& correlation, const float* filter, int64_t lanes, int64_t channels,
                  const ChannelTraversal& traversal, float* to, int64_t tile_lanes) const;
  void store(const ChannelTraversal& traversal, const Strip& strip, float* tile, int64_t tile_lanes,
             int64_t channels, float* to) const;
  int64_t vectors_of(int64_t block) const;
  int64_t channels_of(int64_t block) const {
    return std::min(block_lanes_, written_channels_ - block * block_lanes_);
  }

  int64_t block_lanes_ = 0, blocks_ = 0;  // written channels of a block, blocks of a group
  int64_t summed_block_ = 0, summed_blocks_ = 0;
  std::vector<ChannelTraversal> traversals_;
};

// Images side by side where a row alone does not fill a tile: a divisor of the batch.
int64_t images_together(int64_t batch, int64_t columns, int64_t max_pixels) {
  if (columns * 2 > max_pixels) return 1;
  int64_t best = 1;
  double best_fill = 0;
  for (int64_t images = 1; images <= std::min<int64_t>(batch, 32); ++images) {
    if (batch % images != 0) continue;
    const int64_t pixels = images * columns;
    const double fill = static_cast<double>(pixels) / static_cast<double>(round_up(pixels, max_pixels));
    if (fill > best_fill + 0.05) {
      best_fill = fill;
      best = images;
    }
  }
  return best;
}

ChannelPlan::ChannelPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options,
                         int64_t images)
    : CorrelationPlan(problem, kernels, options) {
  const bool blocked = problem.layout == Layout::nhwc && read_channels_ >= kChannelBlock / 2;
  staged_ = StagedInput(correlations_, {read_channels_, images, 1, blocked});
  block_lanes_ = kernels.lanes * std::min<int64_t>(kMaxVectors, ceil_div(written_channels_, kernels.lanes));
  blocks_ = ceil_div(written_channels_, block_lanes_);
  summed_block_ = staged_.block_channels;
  summed_blocks_ = staged_.blocks;
  int64_t packed = 0;
  for (const Correlation& one : correlations_) {
    traversals_.push_back(make_traversal(one, packed));
    packed += packed_floats(one);
  }
  // A tile, and the same transposed.
  lay_out(1, packed, blocks_, 2 * kMaxPixels * block_lanes_);
}

std::string ChannelPlan::implementation() const {
  return std::string(kernels_.instructions) + ", channels in lanes, tile " +
         std::to_string(kernels_.max_pixels) + "x" + std::to_string(block_lanes_);
}

double ChannelPlan::multiply_adds() const {
  double pairs = 0;
  for (size_t i = 0; i < correlations_.size(); ++i) {
    int64_t columns = 0;
    for (const Strip& strip : traversals_[i].strips) {
      columns += strip.pixels.size() * strip.taps.size();
      for (const int8_t count : strip.skipped) columns -= std::abs(count);
    }
    pairs += static_cast<double>(correlations_[i].rows.taps_inside_all()) * static_cast<double>(columns);
  }
  const int64_t lanes = round_up(written_channels_, kernels_.lanes);
  const int64_t rows_of_images = problem_.batch / staged_.shape.images * problem_.groups;
  return pairs * static_cast<double>(rows_of_images * read_channels_ * lanes);
}

int64_t ChannelPlan::packed_floats(const Correlation& one) const {
  const auto taps = static_cast<int64_t>(one.rows.taps.size() * one.columns.taps.size());
  return problem_.groups * blocks_ * summed_blocks_ * taps * summed_block_ * block_lanes_;
}

ChannelTraversal ChannelPlan::make_traversal(const Correlation& one, int64_t packed_at) const {
  ChannelTraversal traversal;
  traversal.packed_at = packed_at;
  traversal.column_step = summed_block_ * block_lanes_;
  traversal.row_step = static_cast<int64_t>(one.columns.taps.size()) * traversal.column_step;
  traversal.block_step = static_cast<int64_t>(one.rows.taps.size()) * traversal.row_step;
  traversal.channel_block_step = summed_blocks_ * traversal.block_step;
  for (const Tap& tap : one.rows.taps) traversal.row_offset.push_back(tap.offset * staged_.row_step);
  for (const Tap& tap : one.columns.taps) traversal.column_offset.push_back(staged_.column_offset(tap));
  if (summed_blocks_ == 1 && summed_block_ <= kFewChannels)
    for (const int64_t column : traversal.column_offset)
      for (int64_t c = 0; c < summed_block_; ++c)
        traversal.pair_offset.push_back(column + c * staged_.channel_step);
  const int64_t images = staged_.shape.images;
  for (const Range& pixels : balanced_parts(one.columns.count * images, kernels_.max_pixels)) {
    Strip strip{pixels, one.columns.taps_inside(pixels.begin / images, (pixels.end - 1) / images + 1), {}};
    for (int64_t tap = strip.taps.begin; tap < strip.taps.end; ++tap)
      strip.skipped.push_back(
          skipped(one.columns, one.columns.taps[static_cast<size_t>(tap)], pixels, images));
    traversal.strips.push_back(std::move(strip));
  }
  const auto& stride = written_shape_.stride;
  for (int64_t pixel = 0; pixel < one.columns.count * images; ++pixel)
    traversal.pixel_offset.push_back(pixel % images * stride[0] +
                                     pixel / images * one.columns.out_step * stride[3]);
  if (images == 1 && stride[3] == 1) traversal.pixel_step = one.columns.out_step;
  return traversal;
}

int64_t ChannelPlan::vectors_of(int64_t block) const {
  return ceil_div(channels_of(block), kernels_.lanes);
}

// One block of written channels and one block of summed channels. `filter` points at the first of both.
void ChannelPlan::pack_block(const Correlation& one, const float* filter, int64_t lanes, int64_t channels,
                             const ChannelTraversal& traversal, float* to, int64_t tile_lanes) const {
  const auto& stride = filter_shape_.stride;
  const int64_t lane_stride = filter_written_, channel_stride = filter_read_;
  const bool all_taps = static_cast<int64_t>(one.rows.taps.size()) == problem_.filter.h &&
                        static_cast<int64_t>(one.columns.taps.size()) == problem_.filter.w;
  if (lanes < tile_lanes) std::fill(to, to + traversal.block_step, 0.0f);
  if (all_taps && stride[3] == 1 && channel_stride != 1 && lane_stride != 1) {
    // Along the rows first: a few elements of each at a time come slowly from memory.
    if (forward_) prefetch_rows(filter, lane_stride, lanes, channels * channel_stride);
    for (int64_t c = 0; c < channels; ++c)
      transpose(filter + c * channel_stride, lane_stride, to + c * tile_lanes, traversal.column_step, lanes,
                problem_.filter.h * problem_.filter.w);
    return;
  }
  for (size_t r = 0; r < one.rows.taps.size(); ++r)
    for (size_t s = 0; s < one.columns.taps.size(); ++s) {
      const float* from = filter + one.rows.taps[r].index * stride[2] + one.columns.taps[s].index * stride[3];
      float* tap =
          to + static_cast<int64_t>(r) * traversal.row_step + static_cast<int64_t>(s) * traversal.column_step;
      if (channel_stride == 1) {
        transpose(from, lane_stride, tap, tile_lanes, lanes, channels);
        continue;
      }
      for (int64_t c = 0; c < channels; ++c, from += channel_stride, tap += tile_lanes) {
        if (lane_stride == 1) {
          prefetch_rows(from + kPrefetchChannels * channel_stride, 0, 1, lanes);
          std::copy_n(from, lanes, tap);
        } else {
          for (int64_t lane = 0; lane < lanes; ++lane) tap[lane] = from[lane * lane_stride];
        }
      }
    }
}

void ChannelPlan::pack(const float* filter, float* packed) const {
  const int64_t per_group = blocks_ * summed_blocks_;
  for (size_t i = 0; i < correlations_.size(); ++i) {
    const ChannelTraversal& traversal = traversals_[i];
#pragma omp parallel for schedule(static) num_threads(options_.threads)
    for (int64_t index = 0; index < problem_.groups * per_group; ++index) {
      const int64_t group = index / per_group;
      const int64_t block = index % per_group / summed_blocks_, summed = index % summed_blocks_;
      const int64_t lane = block * block_lanes_, channel = summed * summed_block_;
      const float* from = filter + group * problem_.out_channels_per_group() * filter_shape_.stride[0] +
                          lane * filter_written_ + channel * filter_read_;
      pack_block(correlations_[i], from, channels_of(block),
                 std::min(summed_block_, read_channels_ - channel), traversal,
                 packed + traversal.packed_at + (group * blocks_ + block) * traversal.channel_block_step +
                     summed * traversal.block_step,
                 vectors_of(block) * kernels_.lanes);
    }
  }
}

// `to` is the first pixel and channel of the row's block.
void ChannelPlan::store(const ChannelTraversal& traversal, const Strip& strip, float* tile,
                        int64_t tile_lanes, int64_t channels, float* to) const {
  const int64_t channel_stride = written_shape_.stride[1];
  if (traversal.pixel_step == 1) {
    transpose(tile, tile_lanes, to + strip.pixels.begin, channel_stride, strip.pixels.size(), channels);
    return;
  }
  if (traversal.pixel_step != 0) {
    float* const transposed = tile + kMaxPixels * block_lanes_;
    transpose(tile, tile_lanes, transposed, kMaxPixels, strip.pixels.size(), channels);
    spread_rows(transposed, kMaxPixels, to + strip.pixels.begin * traversal.pixel_step, channel_stride,
                traversal.pixel_step, channels, strip.pixels.size());
    return;
  }
  for (int64_t pixel = strip.pixels.begin; pixel < strip.pixels.end; ++pixel, tile += tile_lanes) {
    float* at = to + traversal.pixel_offset[static_cast<size_t>(pixel)];
    if (channel_stride == 1)
      std::copy_n(tile, channels, at);
    else
      for (int64_t c = 0; c < channels; ++c) at[c * channel_stride] = tile[c];
  }
}

void ChannelPlan::compute(const Task& task, const float* packed, const float* bias, float* scratch,
                          float* written) const {
  const Correlation& correlation = correlations_[task.correlation];
  const ChannelTraversal& traversal = traversals_[task.correlation];
  const int64_t vectors = vectors_of(task.block), tile_lanes = vectors * kernels_.lanes;
  const int64_t pixel_step = staged_.shape.blocked ? kChannelBlock : 1;
  const auto& kernels = (staged_.shape.blocked ? kernels_.blocked_tile : kernels_.planar_tile)[vectors - 1];
  const float* filter =
      packed + traversal.packed_at + (task.first_group * blocks_ + task.block) * traversal.channel_block_step;
  const float* block_bias = bias_from(bias, task.first_group * written_channels_ + task.block * block_lanes_);
  TileJob job;
  job.in = task.staged;
  job.tile = scratch;
  job.blocks = summed_blocks_;
  job.channels = summed_block_;
  job.last_channels = staged_.last_block_channels();
  job.in_block_step = staged_.block_step;
  job.filter_block_step = traversal.block_step;
  job.in_channel_step = staged_.channel_step;
  job.filter_row_step = traversal.row_step;
  job.filter_column_step = traversal.column_step;
  // The filter vectors of a narrow last block have gaps between the columns.
  const bool has_pairs = !traversal.pair_offset.empty() && tile_lanes == block_lanes_;
  for (int64_t i = task.rows.begin; i < task.rows.end; ++i) {
    const Range rows = correlation.rows.taps_inside(i, i + 1);
    float* to =
        written + written_shape_.offset(task.first_image,
                                        task.first_group * written_channels_ + task.block * block_lanes_,
                                        correlation.rows.out_start + i * correlation.rows.out_step,
                                        correlation.columns.out_start);
    for (const Strip& strip : traversal.strips) {
      job.in_offset =
          (i * correlation.rows.step - task.first_row) * staged_.row_step + strip.pixels.begin * pixel_step;
      job.filter = filter + rows.begin * traversal.row_step + strip.taps.begin * traversal.column_step;
      job.rows = rows.size();
      job.columns = strip.taps.size();
      job.row_offset = traversal.row_offset.data() + rows.begin;
      job.column_offset = traversal.column_offset.data() + strip.taps.begin;
      job.skipped = strip.skipped.data();
      job.pair_offset = has_pairs && std::ranges::count(strip.skipped, 0) == std::ssize(strip.skipped)
                            ? traversal.pair_offset.data() + strip.taps.begin * summed_block_
                            : nullptr;
      if (traversal.pixel_step != 0)
        prefetch_rows(to + strip.pixels.begin * traversal.pixel_step, written_shape_.stride[1],
                      channels_of(task.block), (strip.pixels.size() - 1) * traversal.pixel_step + 1);
      kernels[strip.pixels.size() - 1](job);
      finish_columns(problem_.epilogue, block_bias, scratch, tile_lanes, strip.pixels.size(),
                     channels_of(task.block));
      store(traversal, strip, scratch, tile_lanes, channels_of(task.block), to);
    }
  }
}

}  // namespace

std::unique_ptr<DirectPlan> make_channel_plan(const ConvProblem& problem, const Kernels& kernels,
                                              const PlanOptions& options) {
  const int64_t columns =
      problem.pass == Pass::forward ? problem.output().w : ceil_div(problem.input.w, problem.stride.w);
  int64_t images = images_together(problem.batch, columns, kernels.max_pixels);
  for (;; --images) {
    if (problem.batch % images != 0) continue;
    auto plan = std::make_unique<ChannelPlan>(problem, kernels, options, images);
    if (images == 1 || plan->workspace_bytes() <= options.workspace_cap) return plan;
  }
}

}  // namespace convscope::direct

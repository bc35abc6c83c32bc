// Backward-filter with the lanes over output channels. One tile is up to 14 filter positions times two
// vectors of output channels, summed in registers over the pixels of some output rows. The positions of a
// tile are neighbouring input channels of one tap; where those are few, taps of a filter row and channels
// together, which lie side by side in a channels-last input.
#include <algorithm>

#include "algorithms/common/transpose.hpp"
#include "algorithms/direct/cpu/filter_plan.hpp"
#include "algorithms/direct/cpu/staging.hpp"

namespace convscope::direct {
namespace {

// Summed in registers before they are added to the sums; their parts of the tensors fit in L2.
constexpr int64_t kPixelsPerTile = 512;

class ChannelFilterPlan final : public FilterPlan {
 public:
  ChannelFilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  std::string implementation() const override;

 private:
  double multiply_adds() const override;
  SumLevels levels_of(const Chunk& chunk) const override;
  // What one call of the inner loop covers: `images` from `first_image` on, output rows `rows`.
  struct Piece {
    int64_t first_image = 0, images = 0;
    Range rows;
    bool accumulate = false;
  };

  // How the images and rows of a chunk are split into pieces.
  struct Split {
    int64_t images = 1, rows = 1;
  };
  Split split(Range rows) const {
    return {std::max<int64_t>(1, kPixelsPerTile / (rows.size() * out_.w)),
            std::max<int64_t>(1, kPixelsPerTile / out_.w)};
  }

  void find_rows();
  void stage_input_row(const float* image, int64_t h, float* staged, int64_t to) const override;
  void stage_output_row(const float* image, int64_t p, float* staged, int64_t to) const override;
  void stage_output_rows(const float* image, Range rows, float* staged) const override;
  void add_part(int64_t part, const Staged& staged, float* sums) const override;
  void finish_part(int64_t part, const float* sums, float* filter) const override;

  void add_piece(int64_t part, const Staged& staged, const Piece& piece, float* sums) const;
  // The outputs whose tap r (tap s) falls inside the input.
  Range rows_inside(int64_t r) const {
    return outputs_inside(out_.h, problem_.stride.h, r * problem_.dilation.h - problem_.pad.h,
                          problem_.input.h);
  }
  Range columns_inside(int64_t s) const {
    return outputs_inside(out_.w, problem_.stride.w, s * problem_.dilation.w - problem_.pad.w,
                          problem_.input.w);
  }
  int64_t channels_of(int64_t block) const {
    return std::min(block_lanes_, problem_.out_channels_per_group() - block * block_lanes_);
  }
  int64_t vectors_of(int64_t block) const { return ceil_div(channels_of(block), kernels_.lanes); }
  int64_t positions() const {
    return problem_.filter.h * problem_.filter.w * problem_.in_channels_per_group();
  }

  bool taps_in_tile_ = false;
  int64_t block_lanes_ = 0, blocks_ = 0;  // output channels of a block, blocks of a group
  std::vector<Range> input_blocks_;       // input channels that lie side by side
  int64_t input_block_ = 0;               // the largest of them
  int64_t width_ = 0;                     // staged input columns, padding included
  int64_t row_ = 0, plane_ = 0;           // floats of a row and of all rows of one staged input block
  std::vector<int64_t> next_row_;    // [input row]: distance to the next one that is read; 0: not read itself
  std::vector<int64_t> row_offset_;  // of the input row under an output row, for the first tap
  std::vector<Range> tap_strips_;    // taps_in_tile_: a filter row's (tap, channel) pairs, a tile each
};

ChannelFilterPlan::ChannelFilterPlan(const ConvProblem& problem, const Kernels& kernels,
                                     const PlanOptions& options)
    : FilterPlan(problem, kernels, options) {
  const int64_t channels = problem.in_channels_per_group();
  taps_in_tile_ = channels < kernels.max_pixels && problem.filter.w > 1 && problem.dilation.w == 1;
  block_lanes_ = kernels.lanes *
                 std::min<int64_t>(kMaxVectors, ceil_div(problem.out_channels_per_group(), kernels.lanes));
  blocks_ = ceil_div(problem.out_channels_per_group(), block_lanes_);
  input_blocks_ = balanced_parts(channels, kernels.max_pixels);
  if (taps_in_tile_) tap_strips_ = balanced_parts(problem.filter.w * channels, kernels.max_pixels);
  for (const Range& block : input_blocks_) input_block_ = std::max(input_block_, block.size());
  width_ = (out_.w - 1) * problem.stride.w + (problem.filter.w - 1) * problem.dilation.w + 1;
  row_ = width_ * input_block_;
  find_rows();
  for (int64_t p = 0; p < out_.h; ++p) row_offset_.push_back((p * problem.stride.h - problem.pad.h) * row_);
  const int64_t blocks = problem.groups * blocks_;
  const auto input_blocks = static_cast<int64_t>(input_blocks_.size());
  lay_out({problem.groups * input_blocks * row_, blocks * out_.w * block_lanes_,
           blocks * positions() * block_lanes_, blocks * input_blocks * problem.filter.h, blocks});
  plane_ = staged_input_rows() * row_;
}

void ChannelFilterPlan::find_rows() {
  std::vector<bool> read(static_cast<size_t>(problem_.input.h), false);
  for (int64_t r = 0; r < problem_.filter.h; ++r)
    for (int64_t p = rows_inside(r).begin; p < rows_inside(r).end; ++p)
      read[static_cast<size_t>(p * problem_.stride.h - problem_.pad.h + r * problem_.dilation.h)] = true;
  next_row_.resize(read.size(), 0);
  int64_t next = problem_.input.h;
  for (int64_t h = problem_.input.h - 1; h >= 0; --h)
    if (read[static_cast<size_t>(h)]) {
      next_row_[static_cast<size_t>(h)] = next - h;
      next = h;
    }
}

std::string ChannelFilterPlan::implementation() const {
  return std::string(kernels_.instructions) + ", output channels in lanes, tile " +
         std::to_string(kernels_.max_pixels) + "x" + std::to_string(block_lanes_) + slices_text(slices());
}

double ChannelFilterPlan::multiply_adds() const {
  int64_t rows = 0, columns = 0;
  for (int64_t r = 0; r < problem_.filter.h; ++r) rows += std::max<int64_t>(0, rows_inside(r).size());
  for (int64_t s = 0; s < problem_.filter.w; ++s)
    columns += taps_in_tile_ ? out_.w : std::max<int64_t>(0, columns_inside(s).size());
  const int64_t lanes = round_up(problem_.out_channels_per_group(), kernels_.lanes);
  return static_cast<double>(rows * columns) *
         static_cast<double>(problem_.batch * problem_.groups * problem_.in_channels_per_group() * lanes);
}

// To [group][input block][row][column][channel of the block].
void ChannelFilterPlan::stage_input_row(const float* image, int64_t h, float* staged, int64_t at) const {
  if (next_row_[static_cast<size_t>(h)] == 0) return;
  const auto& stride = input_shape_.stride;
  const Range columns = outputs_inside(width_, 1, -problem_.pad.w, problem_.input.w);
  for (int64_t group = 0; group < problem_.groups; ++group)
    for (const Range& block : input_blocks_) {
      float* row = staged + at * row_;
      staged += plane_;
      std::fill(row, row + columns.begin * input_block_, 0.0f);
      std::fill(row + std::max(columns.begin, columns.end) * input_block_, row + row_, 0.0f);
      const float* from = image + (group * problem_.in_channels_per_group() + block.begin) * stride[1] +
                          h * stride[2] + (columns.begin - problem_.pad.w) * stride[3];
      float* to = row + columns.begin * input_block_;
      if (stride[3] == 1) {
        prefetch_rows(from + next_row_[static_cast<size_t>(h)] * stride[2], stride[1], block.size(),
                      columns.size());
        transpose(from, stride[1], to, input_block_, block.size(), columns.size());
      } else {
        for (int64_t i = 0; i < columns.size(); ++i)
          std::copy_n(from + i * stride[3], block.size(), to + i * input_block_);
      }
    }
}

// To [group][block][row][column][lane].
void ChannelFilterPlan::stage_output_row(const float* image, int64_t p, float* staged, int64_t at) const {
  const auto& stride = output_shape_.stride;
  for (int64_t group = 0; group < problem_.groups; ++group)
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t channels = channels_of(block), lanes = vectors_of(block) * kernels_.lanes;
      float* row = staged + at * out_.w * lanes;
      staged += staged_output_rows() * out_.w * block_lanes_;
      if (channels < lanes) std::fill(row, row + out_.w * lanes, 0.0f);
      const float* from = image +
                          (group * problem_.out_channels_per_group() + block * block_lanes_) * stride[1] +
                          p * stride[2];
      if (stride[3] == 1) {
        prefetch_rows(from + stride[2], stride[1], channels, out_.w);  // the next row
        transpose(from, stride[1], row, lanes, channels, out_.w);
      } else {
        for (int64_t q = 0; q < out_.w; ++q) std::copy_n(from + q * stride[3], channels, row + q * lanes);
      }
    }
}

// Contiguous rows are transposed as one matrix: fewer and longer streams from memory.
void ChannelFilterPlan::stage_output_rows(const float* image, Range rows, float* staged) const {
  const auto& stride = output_shape_.stride;
  if (stride[3] != 1 || stride[2] != out_.w || problem_.out_channels_per_group() % kernels_.lanes != 0) {
    FilterPlan::stage_output_rows(image, rows, staged);
    return;
  }
  for (int64_t group = 0; group < problem_.groups; ++group)
    for (int64_t block = 0; block < blocks_; ++block) {
      const float* from = image +
                          (group * problem_.out_channels_per_group() + block * block_lanes_) * stride[1] +
                          rows.begin * stride[2];
      transpose(from, stride[1], staged, channels_of(block), channels_of(block), rows.size() * out_.w);
      staged += staged_output_rows() * out_.w * block_lanes_;
    }
}

// Part: (group, block, input block, r). Sums are [group][block][r][s][input channel][lane].
void ChannelFilterPlan::add_piece(int64_t part, const Staged& staged, const Piece& piece, float* sums) const {
  const int64_t r = part % problem_.filter.h;
  part /= problem_.filter.h;
  const auto all = static_cast<int64_t>(input_blocks_.size());
  const int64_t input_block = part % all, group_block = part / all;
  const int64_t group = group_block / blocks_, block = group_block % blocks_;
  const int64_t vectors = vectors_of(block), lanes = vectors * kernels_.lanes;
  const Range channels = input_blocks_[static_cast<size_t>(input_block)];
  const int64_t in_channels = problem_.in_channels_per_group();
  const Range inside = rows_inside(r);
  const Range rows{std::max(piece.rows.begin, inside.begin), std::min(piece.rows.end, inside.end)};
  constexpr int64_t kNoOffset = 0;

  TileJob job;
  job.in = staged.input + piece.first_image * input_floats() + (group * all + input_block) * plane_;
  job.blocks = piece.images;
  job.in_block_step = input_floats();
  job.filter_block_step = output_floats();
  job.in_channel_step = problem_.stride.w * input_block_;
  job.row_offset = row_offset_.data() + rows.begin;
  job.rows = std::max<int64_t>(0, rows.size());
  job.filter_row_step = out_.w * lanes;
  job.column_offset = &kNoOffset;
  job.columns = 1;
  job.accumulate = piece.accumulate;
  const float* output = staged.output + piece.first_image * output_floats() +
                        group_block * staged_output_rows() * out_.w * block_lanes_ +
                        (rows.begin - staged.rows.begin) * out_.w * lanes;
  const int64_t row_at = (r * problem_.dilation.h - staged.input_rows.begin) * row_;
  float* row_sums =
      sums + group_block * positions() * block_lanes_ + r * problem_.filter.w * in_channels * lanes;
  const auto add_tile = [&](int64_t column, Range pixels, int64_t position, int64_t size) {
    job.in_offset = row_at + column;
    job.filter = output + pixels.begin * lanes;
    job.channels = job.last_channels = std::max<int64_t>(0, pixels.size());
    job.tile = row_sums + position * lanes;
    kernels_.planar_tile[vectors - 1][size - 1](job);
  };

  if (taps_in_tile_) {
    for (const Range& strip : tap_strips_) add_tile(strip.begin, {0, out_.w}, strip.begin, strip.size());
    return;
  }
  for (int64_t s = 0; s < problem_.filter.w; ++s) {
    const Range pixels = columns_inside(s);
    add_tile((pixels.begin * problem_.stride.w + s * problem_.dilation.w) * input_block_, pixels,
             s * in_channels + channels.begin, channels.size());
  }
}

void ChannelFilterPlan::add_part(int64_t part, const Staged& staged, float* sums) const {
  const Range rows = staged.rows;
  const auto [together, rows_together] = split(rows);
  bool accumulate = !staged.first;
  for (int64_t image = 0; image < staged.images; image += together)
    for (int64_t p = rows.begin; p < rows.end; p += rows_together) {
      const Piece piece{image,
                        std::min(together, staged.images - image),
                        {p, std::min(p + rows_together, rows.end)},
                        accumulate};
      add_piece(part, staged, piece, sums);
      accumulate = true;
    }
}

SumLevels ChannelFilterPlan::levels_of(const Chunk& chunk) const {
  const auto [together, rows_together] = split(chunk.rows);
  return {std::min(together, chunk.images) * std::min(rows_together, chunk.rows.size()) * out_.w,
          ceil_div(chunk.images, together) * ceil_div(chunk.rows.size(), rows_together)};
}

// Part: (group, block).
void ChannelFilterPlan::finish_part(int64_t part, const float* sums, float* filter) const {
  const int64_t group = part / blocks_, block = part % blocks_;
  const int64_t lanes = vectors_of(block) * kernels_.lanes, channels = channels_of(block);
  const int64_t in_channels = problem_.in_channels_per_group();
  const auto& stride = filter_shape_.stride;
  const float* from = sums + part * positions() * block_lanes_;
  float* to = filter + (group * problem_.out_channels_per_group() + block * block_lanes_) * stride[0];
  const int64_t taps = problem_.filter.h * problem_.filter.w;
  if (stride[1] == 1 || taps == 1) {
    transpose(from, lanes, to, stride[0], positions(), channels);
    return;
  }
  for (int64_t c = 0; c < in_channels; ++c, from += lanes, to += stride[1]) {
    prefetch_rows(to + kPrefetchChannels * stride[1], stride[0], channels, taps);
    transpose(from, in_channels * lanes, to, stride[0], taps, channels);
  }
}

}  // namespace

std::unique_ptr<DirectPlan> make_channel_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                     const PlanOptions& options) {
  return std::make_unique<ChannelFilterPlan>(problem, kernels, options);
}

}  // namespace convscope::direct

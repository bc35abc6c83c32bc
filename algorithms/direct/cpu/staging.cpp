#include "algorithms/direct/cpu/staging.hpp"

#include <algorithm>

#include "algorithms/common/transpose.hpp"

namespace convscope::direct {
namespace {

// Channels that are summed over all taps before the next ones: their part of a few input rows fits in L1.
constexpr int64_t kPlanarBlock = 64;

int64_t first_offset(const std::vector<Correlation>& correlations) {
  int64_t first = 0;
  for (const Correlation& one : correlations)
    for (const Tap& tap : one.columns.taps) first = std::min(first, tap.offset);
  return first;
}

// The columns of one residue of one row that do not lie on the tensor.
void clear_edges(const StagedInput& staged, Range inside, float* to) {
  const bool blocked = staged.shape.blocked;
  const int64_t column = staged.shape.images * (blocked ? kChannelBlock : 1);
  const int64_t count = blocked ? staged.blocks : staged.shape.channels;
  for (int64_t i = 0; i < count; ++i, to += blocked ? staged.block_step : staged.channel_step) {
    std::fill(to, to + inside.begin * column, 0.0f);
    std::fill(to + inside.end * column, to + staged.width * column, 0.0f);
  }
}

// One residue of one row, one image, planar. Where there is one image side by side the padding is written
// too.
void stage_planar(const StagedInput& staged, const float* source, int64_t channel_stride,
                  int64_t column_stride, Range inside, float* to) {
  const auto& [channels, images, multiple, blocked] = staged.shape;
  if (images > 1) {
    for (int64_t c = 0; c < channels; ++c) {
      const float* from = source + c * channel_stride;
      float* row = to + c * staged.channel_step + inside.begin * images;
      for (int64_t i = 0; i < inside.size(); ++i) row[i * images] = from[i * column_stride];
    }
  } else if (channel_stride == 1) {
    transpose(source, column_stride, to + inside.begin, staged.channel_step, inside.size(), channels);
    clear_edges(staged, inside, to);
  } else {
    copy_strided_rows(source, channel_stride, column_stride, to, staged.channel_step, channels,
                      {inside.begin, inside.size(), staged.width - inside.end});
  }
}

// One residue of one row, one image, blocked.
void stage_blocked(const StagedInput& staged, const float* source, int64_t channel_stride,
                   int64_t column_stride, Range inside, float* to) {
  const int64_t pixel = staged.shape.images * kChannelBlock;
  for (int64_t b = 0; b < staged.blocks; ++b) {
    const int64_t channels = std::min(kChannelBlock, staged.shape.channels - b * kChannelBlock);
    const float* from = source + b * kChannelBlock * channel_stride;
    float* block = to + b * staged.block_step + inside.begin * pixel;
    if (column_stride == 1) {
      transpose(from, channel_stride, block, pixel, channels, inside.size());
      continue;
    }
    for (int64_t i = 0; i < inside.size(); ++i, from += column_stride, block += pixel) {
      if (channel_stride == 1)
        std::copy_n(from, channels, block);
      else
        for (int64_t c = 0; c < channels; ++c) block[c] = from[c * channel_stride];
    }
  }
}

}  // namespace

StagedInput::StagedInput(const std::vector<Correlation>& correlations, const Shape& wanted)
    : shape(wanted),
      rows(correlations.front().rows.extent),
      extent(correlations.front().columns.extent),
      left(-first_offset(correlations)),
      step(correlations.front().columns.step),
      row_is_read(static_cast<size_t>(rows), false) {
  for (const Correlation& one : correlations) {
    const int64_t outputs = round_up(one.columns.count, shape.column_multiple);
    for (const Tap& tap : one.columns.taps) {
      width = std::max(width, outputs + (tap.offset + left) / step);
      if (find(tap) == residues.end()) residues.push_back({(tap.offset + left) % step, {}, 0});
    }
    for (const Tap& tap : one.rows.taps) {
      const Range reading = outputs_inside(one.rows.count, one.rows.step, tap.offset, rows);
      for (int64_t i = reading.begin; i < reading.end; ++i)
        row_is_read[static_cast<size_t>(i * one.rows.step + tap.offset)] = true;
    }
  }
  for (Residue& one : residues) {
    const int64_t offset = one.residue - left;
    one.inside = outputs_inside(width, step, offset, extent);
    if (one.inside.empty()) one.inside = {0, 0};
    one.source_column = one.inside.begin * step + offset;
  }
  const int64_t pixels = width * shape.images;
  if (shape.blocked) {
    block_channels = kChannelBlock;
    channel_step = 1;
    block_step = pixels * kChannelBlock;
  } else {
    block_channels = ceil_div(shape.channels, ceil_div(shape.channels, kPlanarBlock));
    channel_step = pixels;
    block_step = pixels * block_channels;
  }
  blocks = ceil_div(shape.channels, block_channels);
  residue_step = shape.blocked ? blocks * block_step : shape.channels * pixels;
  row_step = static_cast<int64_t>(residues.size()) * residue_step;
}

std::vector<StagedInput::Residue>::const_iterator StagedInput::find(const Tap& tap) const {
  return std::find_if(residues.begin(), residues.end(),
                      [&](const Residue& one) { return one.residue == (tap.offset + left) % step; });
}

int64_t StagedInput::column_offset(const Tap& tap) const {
  return (find(tap) - residues.begin()) * residue_step +
         (tap.offset + left) / step * shape.images * (shape.blocked ? kChannelBlock : 1);
}

void prefetch_rows(const float* at, int64_t step, int64_t rows, int64_t columns) {
  constexpr int64_t line = 16;  // floats
  for (int64_t row = 0; row < rows; ++row, at += step) {
    for (int64_t column = 0; column < columns; column += line) __builtin_prefetch(at + column);
    __builtin_prefetch(at + columns - 1);
  }
}

void clear_padding(const StagedInput& staged, float* to) {
  if (!staged.shape.blocked && staged.shape.images == 1) return;
  for (const auto& residue : staged.residues) {
    clear_edges(staged, residue.inside, to);
    to += staged.residue_step;
  }
}

void stage_row(const StagedInput& staged, const float* source, const std::array<int64_t, 4>& stride,
               float* to) {
  const int64_t column_stride = staged.step * stride[3];
  if (stride[3] == 1) prefetch_rows(source + stride[2], stride[1], staged.shape.channels, staged.extent);
  for (const auto& [residue, inside, source_column] : staged.residues) {
    for (int64_t n = 0; n < staged.shape.images; ++n) {
      const float* from = source + n * stride[0] + source_column * stride[3];
      if (staged.shape.blocked)
        stage_blocked(staged, from, stride[1], column_stride, inside, to + n * kChannelBlock);
      else
        stage_planar(staged, from, stride[1], column_stride, inside, to + n);
    }
    to += staged.residue_step;
  }
}

}  // namespace convscope::direct

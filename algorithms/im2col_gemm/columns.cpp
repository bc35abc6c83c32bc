// See columns.hpp.
#include "algorithms/im2col_gemm/columns.hpp"

#include <algorithm>

namespace convscope::im2col_gemm {
namespace {

// The q of one tap whose input position w = q * stride + offset lies inside the row.
struct Inside {
  int64_t begin, end, offset;
};

Inside inside(const ConvProblem& p, int64_t s) {
  const int64_t offset = s * p.dilation.w - p.pad.w, stride = p.stride.w, last = p.input.w - 1 - offset;
  const int64_t end = last < 0 ? 0 : std::min(p.output().w, last / stride + 1);
  const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  return {std::min(begin, end), end, offset};
}

void copy_strided(const float* from, int64_t stride, float* to, int64_t count) {
  if (stride == 1)
    std::copy_n(from, count, to);
  else
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

void add_strided(const float* from, float* to, int64_t stride, int64_t count) {
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  else
    for (int64_t i = 0; i < count; ++i) to[i * stride] += from[i];
}

void im2col_nchw(const ConvProblem& p, const Chunk& chunk, int64_t group, const float* input, float* columns,
                 Range units) {
  const Extent2 out = p.output();
  const int64_t plane = p.input.h * p.input.w, taps = p.filter.h * p.filter.w;
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t c = group * p.in_channels_per_group() + unit / taps;
    const int64_t r = unit % taps / p.filter.w, s = unit % p.filter.w;
    const Inside q = inside(p, s);
    float* to = columns + unit * chunk.images * chunk.rows * out.w;
    for (int64_t n = chunk.image; n < chunk.image + chunk.images; ++n)
      for (int64_t row = chunk.row; row < chunk.row + chunk.rows; ++row, to += out.w) {
        const int64_t h = row * p.stride.h - p.pad.h + r * p.dilation.h;
        if (h < 0 || h >= p.input.h) {
          std::fill_n(to, out.w, 0.0F);
          continue;
        }
        const float* from = input + (n * p.in_channels + c) * plane + h * p.input.w + q.offset;
        std::fill_n(to, q.begin, 0.0F);
        copy_strided(from + q.begin * p.stride.w, p.stride.w, to + q.begin, q.end - q.begin);
        std::fill(to + q.end, to + out.w, 0.0F);
      }
  }
}

void col2im_nchw(const ConvProblem& p, const Chunk& chunk, int64_t c, int64_t n, int64_t h,
                 const float* columns, float* input_row) {
  const Extent2 out = p.output();
  const int64_t pixels = chunk.images * chunk.rows * out.w;
  for (int64_t r = 0; r < p.filter.h; ++r) {
    const int64_t position = h + p.pad.h - r * p.dilation.h, row = position / p.stride.h;
    if (position % p.stride.h != 0 || row < chunk.row || row >= chunk.row + chunk.rows) continue;
    for (int64_t s = 0; s < p.filter.w; ++s) {
      const Inside q = inside(p, s);
      const float* from = columns + ((c * p.filter.h + r) * p.filter.w + s) * pixels +
                          ((n - chunk.image) * chunk.rows + row - chunk.row) * out.w;
      add_strided(from + q.begin, input_row + q.offset + q.begin * p.stride.w, p.stride.w, q.end - q.begin);
    }
  }
}

// In NHWC the channels of one tap are contiguous in both matrices, and so are all taps of a filter row when
// there is one group and no dilation: such a run is moved at once.
struct Runs {
  int64_t taps, channels;  // of one run
};

Runs runs(const ConvProblem& p) {
  if (p.groups == 1 && p.dilation.w == 1) return {p.filter.w, p.in_channels};
  return {1, p.in_channels_per_group()};
}

// Calls visit(first element of the run in the filter row, its w, its part [begin, end) in taps that lies
// inside the input row) for each run of the pixel q.
template <typename Visit>
void for_each_run(const ConvProblem& p, Runs run, int64_t q, Visit visit) {
  for (int64_t s = 0; s < p.filter.w; s += run.taps) {
    const int64_t w = q * p.stride.w - p.pad.w + s * p.dilation.w;
    const int64_t begin = std::clamp<int64_t>(-w, 0, run.taps);
    visit(s, w, Range{begin, std::clamp<int64_t>(p.input.w - w, begin, run.taps)});
  }
}

void im2col_nhwc(const ConvProblem& p, const Chunk& chunk, int64_t group, const float* input, float* columns,
                 Range units) {
  const Extent2 out = p.output();
  const Runs run = runs(p);
  const int64_t filter_row = p.filter.w * p.in_channels_per_group();
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t n = chunk.image + unit / chunk.rows, row = chunk.row + unit % chunk.rows;
    float* to = columns + unit * out.w * p.filter.h * filter_row;
    for (int64_t q = 0; q < out.w; ++q)
      for (int64_t r = 0; r < p.filter.h; ++r, to += filter_row) {
        const int64_t h = row * p.stride.h - p.pad.h + r * p.dilation.h;
        if (h < 0 || h >= p.input.h) {
          std::fill_n(to, filter_row, 0.0F);
          continue;
        }
        const float* from =
            input + (n * p.input.h + h) * p.input.w * p.in_channels + group * p.in_channels_per_group();
        for_each_run(p, run, q, [&](int64_t s, int64_t w, Range part) {
          float* at = to + s * run.channels;
          std::fill_n(at, part.begin * run.channels, 0.0F);
          std::copy_n(from + (w + part.begin) * p.in_channels, (part.end - part.begin) * run.channels,
                      at + part.begin * run.channels);
          std::fill(at + part.end * run.channels, at + run.taps * run.channels, 0.0F);
        });
      }
  }
}

void col2im_nhwc(const ConvProblem& p, const Chunk& chunk, int64_t n, int64_t h, const float* columns,
                 float* input_row) {
  const Extent2 out = p.output();
  const Runs run = runs(p);
  const int64_t filter_row = p.filter.w * p.in_channels_per_group();
  for (int64_t r = 0; r < p.filter.h; ++r) {
    const int64_t position = h + p.pad.h - r * p.dilation.h, row = position / p.stride.h;
    if (position % p.stride.h != 0 || row < chunk.row || row >= chunk.row + chunk.rows) continue;
    for (int64_t q = 0; q < out.w; ++q) {
      const int64_t pixel = ((n - chunk.image) * chunk.rows + row - chunk.row) * out.w + q;
      const float* from = columns + (pixel * p.filter.h + r) * filter_row;
      for_each_run(p, run, q, [&](int64_t s, int64_t w, Range part) {
        add_strided(from + (s + part.begin) * run.channels, input_row + (w + part.begin) * p.in_channels, 1,
                    (part.end - part.begin) * run.channels);
      });
    }
  }
}

// The input rows that a chunk completes or adds to, [begin, end); those from `fresh` on are new.
struct InputRows {
  int64_t begin, fresh, end;
};

InputRows input_rows(const ConvProblem& p, const Chunk& chunk) {
  const auto reached = [&](int64_t rows) {
    if (rows == 0) return int64_t{0};
    if (rows == p.output().h) return p.input.h;
    const int64_t last = (rows - 1) * p.stride.h - p.pad.h + (p.filter.h - 1) * p.dilation.h;
    return std::clamp<int64_t>(last + 1, 0, p.input.h);
  };
  const int64_t fresh = reached(chunk.row);
  const int64_t touched = std::clamp<int64_t>(chunk.row * p.stride.h - p.pad.h, 0, fresh);
  return {touched, fresh, reached(chunk.row + chunk.rows)};
}

void zero_fresh(const InputRows& rows, int64_t h, float* row, int64_t stride, int64_t count, int64_t width) {
  if (h < rows.fresh) return;
  for (int64_t w = 0; w < width; ++w) std::fill_n(row + w * stride, count, 0.0F);
}

}  // namespace

int64_t im2col_units(const ConvProblem& p, const Chunk& chunk) {
  return p.layout == Layout::nchw ? column_elements(p) : chunk.images * chunk.rows;
}

void im2col(const ConvProblem& p, const Chunk& chunk, int64_t group, const float* input, float* columns,
            Range units) {
  if (p.layout == Layout::nchw)
    im2col_nchw(p, chunk, group, input, columns, units);
  else
    im2col_nhwc(p, chunk, group, input, columns, units);
}

int64_t col2im_units(const ConvProblem& p, const Chunk& chunk) {
  const InputRows rows = input_rows(p, chunk);
  return chunk.images * (rows.end - rows.begin) * (p.layout == Layout::nchw ? p.in_channels_per_group() : 1);
}

void col2im(const ConvProblem& p, const Chunk& chunk, int64_t group, const float* columns, float* input,
            Range units) {
  const InputRows rows = input_rows(p, chunk);
  const int64_t height = rows.end - rows.begin, channels = p.in_channels_per_group();
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t h = rows.begin + unit % height;
    if (p.layout == Layout::nchw) {
      const int64_t c = unit / height % channels, n = chunk.image + unit / height / channels;
      float* row = input + ((n * p.in_channels + group * channels + c) * p.input.h + h) * p.input.w;
      zero_fresh(rows, h, row, p.input.w, p.input.w, 1);
      col2im_nchw(p, chunk, c, n, h, columns, row);
    } else {
      const int64_t n = chunk.image + unit / height;
      float* row = input + (n * p.input.h + h) * p.input.w * p.in_channels + group * channels;
      zero_fresh(rows, h, row, p.in_channels, channels, p.input.w);
      col2im_nhwc(p, chunk, n, h, columns, row);
    }
  }
}

void gather_output(const ConvProblem& p, const Chunk& chunk, int64_t group, const float* output,
                   float* matrix, Range units) {
  const int64_t pixels = p.output().h * p.output().w;
  for (int64_t k = units.begin; k < units.end; ++k)
    for (int64_t n = 0; n < chunk.images; ++n)
      std::copy_n(
          output + ((chunk.image + n) * p.out_channels + group * p.out_channels_per_group() + k) * pixels,
          pixels, matrix + (k * chunk.images + n) * pixels);
}

void scatter_output(const ConvProblem& p, const Chunk& chunk, int64_t group, const float* matrix,
                    float* output, Range units) {
  const int64_t pixels = p.output().h * p.output().w;
  for (int64_t k = units.begin; k < units.end; ++k)
    for (int64_t n = 0; n < chunk.images; ++n)
      std::copy_n(
          matrix + (k * chunk.images + n) * pixels, pixels,
          output + ((chunk.image + n) * p.out_channels + group * p.out_channels_per_group() + k) * pixels);
}

}  // namespace convscope::im2col_gemm

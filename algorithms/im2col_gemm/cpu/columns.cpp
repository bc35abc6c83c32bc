// See columns.hpp.
#include "algorithms/im2col_gemm/cpu/columns.hpp"

#include <algorithm>

#include "algorithms/common/rounding.hpp"
#include "algorithms/common/transpose.hpp"

namespace convscope::im2col_gemm {

Columns::Columns(const ConvProblem& problem) : problem_(problem), out_(problem.output()) {
  run_ = problem.groups == 1 && problem.dilation.w == 1 ? Runs{problem.filter.w, problem.in_channels}
                                                        : Runs{1, problem.in_channels_per_group()};
  for (int64_t r = 0; r < problem.filter.h; ++r)
    rows_.push_back(
        inside(r * problem.dilation.h - problem.pad.h, problem.stride.h, out_.h, problem.input.h));
  for (int64_t s = 0; s < problem.filter.w; ++s)
    columns_.push_back(
        inside(s * problem.dilation.w - problem.pad.w, problem.stride.w, out_.w, problem.input.w));
}

// Outputs [begin, end) of `outputs` whose input position output * stride + offset lies in [0, extent).
Columns::Inside Columns::inside(int64_t offset, int64_t stride, int64_t outputs, int64_t extent) {
  const int64_t last = extent - 1 - offset;
  const int64_t end = last < 0 ? 0 : std::min(outputs, last / stride + 1);
  const int64_t begin = offset >= 0 ? 0 : ceil_div(-offset, stride);
  return {std::min(begin, end), end, offset};
}

int64_t Columns::reaching_row(const Chunk& chunk, int64_t h, int64_t r) const {
  const int64_t position = h + problem_.pad.h - r * problem_.dilation.h, stride = problem_.stride.h;
  const int64_t row = stride == 1 ? position : position / stride;
  if (row * stride != position || row < chunk.row || row >= chunk.row + chunk.rows) return -1;
  return row - chunk.row;
}

int64_t Columns::output_channel(const Chunk& chunk, int64_t group, int64_t k) const {
  return chunk.image * problem_.out_channels + group * problem_.out_channels_per_group() + k;
}

void Columns::im2col_nchw(const Chunk& chunk, int64_t group, const float* input, float* columns,
                          Range units) const {
  const ConvProblem& p = problem_;
  const int64_t plane = p.input.h * p.input.w, taps = p.filter.h * p.filter.w;
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t c = group * p.in_channels_per_group() + unit / taps;
    const int64_t r = unit % taps / p.filter.w, s = unit % p.filter.w;
    const Inside p_of = rows_[static_cast<size_t>(r)], q_of = columns_[static_cast<size_t>(s)];
    const int64_t chunk_end = chunk.row + chunk.rows;
    const int64_t begin = std::clamp(p_of.begin, chunk.row, chunk_end);
    const int64_t end = std::clamp(p_of.end, begin, chunk_end);
    float* to = columns + unit * chunk.images * chunk.rows * out_.w;
    for (int64_t n = chunk.image; n < chunk.image + chunk.images; ++n) {
      const float* from = input + (n * p.in_channels + c) * plane +
                          (begin * p.stride.h + p_of.offset) * p.input.w + q_of.begin * p.stride.w +
                          q_of.offset;
      to = std::fill_n(to, (begin - chunk.row) * out_.w, 0.0F);
      copy_strided_rows(from, p.stride.h * p.input.w, p.stride.w, to, out_.w, end - begin,
                        {q_of.begin, q_of.end - q_of.begin, out_.w - q_of.end});
      to = std::fill_n(to + (end - begin) * out_.w, (chunk_end - end) * out_.w, 0.0F);
    }
  }
}

// To rows `h` of one channel's plane, tap by tap: an element's sums are in the order of the taps, however the
// rows are shared out.
void Columns::col2im_nchw(const Chunk& chunk, int64_t c, int64_t n, Range h, const float* columns,
                          float* plane) const {
  const ConvProblem& p = problem_;
  const int64_t pixels = chunk.images * chunk.rows * out_.w, stride = p.stride.h;
  for (int64_t r = 0; r < p.filter.h; ++r) {
    const int64_t offset = rows_[static_cast<size_t>(r)].offset;
    const int64_t begin = std::max(chunk.row, ceil_div(std::max<int64_t>(h.begin - offset, 0), stride));
    const int64_t end =
        std::min(chunk.row + chunk.rows, ceil_div(std::max<int64_t>(h.end - offset, 0), stride));
    const float* from = columns + (c * p.filter.h + r) * p.filter.w * pixels +
                        ((n - chunk.image) * chunk.rows + begin - chunk.row) * out_.w;
    float* const to = plane + (begin * stride + offset) * p.input.w;
    for (const Inside& q : columns_) {
      add_spread_rows(from + q.begin, out_.w, to + q.offset + q.begin * p.stride.w, stride * p.input.w,
                      p.stride.w, end - begin, q.end - q.begin);
      from += pixels;
    }
  }
}

// Calls visit(first tap of the run in the filter row, its w, its taps [begin, end) that lie inside the input
// row) for each run of the pixel q.
template <typename Visit>
void Columns::for_each_run(int64_t q, Visit visit) const {
  const ConvProblem& p = problem_;
  for (int64_t s = 0; s < p.filter.w; s += run_.taps) {
    const int64_t w = q * p.stride.w - p.pad.w + s * p.dilation.w;
    const int64_t begin = std::clamp<int64_t>(-w, 0, run_.taps);
    visit(s, w, Range{begin, std::clamp<int64_t>(p.input.w - w, begin, run_.taps)});
  }
}

void Columns::im2col_nhwc(const Chunk& chunk, int64_t group, const float* input, float* columns,
                          Range units) const {
  const ConvProblem& p = problem_;
  const int64_t channels = run_.channels, filter_row = p.filter.w * p.in_channels_per_group();
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t n = chunk.image + unit / chunk.rows, row = chunk.row + unit % chunk.rows;
    float* to = columns + unit * out_.w * p.filter.h * filter_row;
    for (int64_t q = 0; q < out_.w; ++q)
      for (int64_t r = 0; r < p.filter.h; ++r, to += filter_row) {
        const int64_t h = row * p.stride.h - p.pad.h + r * p.dilation.h;
        if (h < 0 || h >= p.input.h) {
          std::fill_n(to, filter_row, 0.0F);
          continue;
        }
        const float* from =
            input + (n * p.input.h + h) * p.input.w * p.in_channels + group * p.in_channels_per_group();
        for_each_run(q, [&](int64_t s, int64_t w, Range part) {
          float* at = to + s * channels;
          std::fill_n(at, part.begin * channels, 0.0F);
          std::copy_n(from + (w + part.begin) * p.in_channels, (part.end - part.begin) * channels,
                      at + part.begin * channels);
          std::fill(at + part.end * channels, at + run_.taps * channels, 0.0F);
        });
      }
  }
}

void Columns::col2im_nhwc(const Chunk& chunk, int64_t n, int64_t h, const float* columns,
                          float* input_row) const {
  const ConvProblem& p = problem_;
  const int64_t channels = run_.channels, filter_row = p.filter.w * p.in_channels_per_group();
  for (int64_t r = 0; r < p.filter.h; ++r) {
    const int64_t row = reaching_row(chunk, h, r);
    if (row < 0) continue;
    for (int64_t q = 0; q < out_.w; ++q) {
      const int64_t pixel = ((n - chunk.image) * chunk.rows + row) * out_.w + q;
      const float* from = columns + (pixel * p.filter.h + r) * filter_row;
      for_each_run(q, [&](int64_t s, int64_t w, Range part) {
        add_spread_rows(from + (s + part.begin) * channels, 0, input_row + (w + part.begin) * p.in_channels,
                        0, 1, 1, (part.end - part.begin) * channels);
      });
    }
  }
}

int64_t Columns::im2col_units(const Chunk& chunk) const {
  return problem_.layout == Layout::nchw ? column_elements(problem_) : chunk.images * chunk.rows;
}

void Columns::im2col(const Chunk& chunk, int64_t group, const float* input, float* columns,
                     Range units) const {
  if (problem_.layout == Layout::nchw)
    im2col_nchw(chunk, group, input, columns, units);
  else
    im2col_nhwc(chunk, group, input, columns, units);
}

int64_t Columns::col2im_units(const Chunk& chunk) const {
  const InputRows rows = input_rows(problem_, chunk);
  const int64_t channels = problem_.layout == Layout::nchw ? problem_.in_channels_per_group() : 1;
  return chunk.images * (rows.end - rows.begin) * channels;
}

void Columns::col2im(const Chunk& chunk, int64_t group, const float* columns, float* input,
                     Range units) const {
  const ConvProblem& p = problem_;
  const InputRows rows = input_rows(problem_, chunk);
  const int64_t height = rows.end - rows.begin, channels = p.in_channels_per_group();
  if (p.layout == Layout::nchw) {
    for (int64_t unit = units.begin, next = 0; unit < units.end; unit = next) {
      next = std::min((unit / height + 1) * height, units.end);
      const Range h{rows.begin + unit % height, rows.begin + unit % height + next - unit};
      const int64_t c = unit / height % channels, n = chunk.image + unit / height / channels;
      float* plane = input + (n * p.in_channels + group * channels + c) * p.input.h * p.input.w;
      const int64_t fresh = std::clamp(rows.fresh, h.begin, h.end);
      std::fill(plane + fresh * p.input.w, plane + h.end * p.input.w, 0.0F);
      col2im_nchw(chunk, c, n, h, columns, plane);
    }
    return;
  }
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t h = rows.begin + unit % height, n = chunk.image + unit / height;
    float* row = input + (n * p.input.h + h) * p.input.w * p.in_channels + group * channels;
    if (h >= rows.fresh)
      for (int64_t w = 0; w < p.input.w; ++w) std::fill_n(row + w * p.in_channels, channels, 0.0F);
    col2im_nhwc(chunk, n, h, columns, row);
  }
}

void Columns::gather_output(const Chunk& chunk, int64_t group, const float* output, float* matrix,
                            Range units) const {
  const int64_t pixels = out_.h * out_.w;
  for (int64_t k = units.begin; k < units.end; ++k)
    for (int64_t n = 0; n < chunk.images; ++n)
      std::copy_n(output + (output_channel(chunk, group, k) + n * problem_.out_channels) * pixels, pixels,
                  matrix + (k * chunk.images + n) * pixels);
}

void Columns::scatter_output(const Chunk& chunk, int64_t group, const float* matrix, float* output,
                             Range units) const {
  const int64_t pixels = out_.h * out_.w;
  for (int64_t k = units.begin; k < units.end; ++k)
    for (int64_t n = 0; n < chunk.images; ++n)
      std::copy_n(matrix + (k * chunk.images + n) * pixels, pixels,
                  output + (output_channel(chunk, group, k) + n * problem_.out_channels) * pixels);
}

}  // namespace convscope::im2col_gemm

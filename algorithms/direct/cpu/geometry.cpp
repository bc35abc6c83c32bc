#include "algorithms/direct/cpu/geometry.hpp"

#include <algorithm>

namespace convscope::direct {
namespace {

Axis forward_axis(int64_t input, int64_t output, int64_t filter, int64_t stride, int64_t pad,
                  int64_t dilation) {
  Axis axis{output, stride, input, 0, 1, {}};
  for (int64_t r = 0; r < filter; ++r) axis.taps.push_back({r, r * dilation - pad});
  return axis;
}

// Input positions `residue`, residue + stride, ...: position h gets output (h + pad - r * dilation) / stride
// for every r that divides evenly.
Axis backward_axis(int64_t input, int64_t output, int64_t filter, int64_t stride, int64_t pad,
                   int64_t dilation, int64_t residue) {
  Axis axis{ceil_div(input - residue, stride), 1, output, residue, stride, {}};
  for (int64_t r = 0; r < filter; ++r) {
    const int64_t distance = residue + pad - r * dilation;
    if (distance % stride == 0) axis.taps.push_back({r, distance / stride});
  }
  return axis;
}

void drop_idle_taps(Axis& axis) {
  std::erase_if(axis.taps, [&](const Tap& tap) {
    return outputs_inside(axis.count, axis.step, tap.offset, axis.extent).empty();
  });
}

}  // namespace

Range Axis::taps_inside(int64_t begin, int64_t end) const {
  Range range{0, 0};
  for (int64_t t = 0; t < static_cast<int64_t>(taps.size()); ++t) {
    const int64_t offset = taps[static_cast<size_t>(t)].offset;
    if ((end - 1) * step + offset < 0 || begin * step + offset >= extent) continue;
    if (range.empty()) range.begin = t;
    range.end = t + 1;
  }
  return range;
}

int64_t Axis::taps_inside_all() const {
  int64_t pairs = 0;
  for (const Tap& tap : taps) {
    const Range inside = outputs_inside(count, step, tap.offset, extent);
    pairs += std::max<int64_t>(0, inside.size());
  }
  return pairs;
}

std::vector<Correlation> correlations(const ConvProblem& p) {
  const Extent2 out = p.output();
  std::vector<Correlation> all;
  if (p.pass == Pass::forward) {
    all.push_back({forward_axis(p.input.h, out.h, p.filter.h, p.stride.h, p.pad.h, p.dilation.h),
                   forward_axis(p.input.w, out.w, p.filter.w, p.stride.w, p.pad.w, p.dilation.w)});
  } else {
    for (int64_t a = 0; a < std::min(p.stride.h, p.input.h); ++a)
      for (int64_t b = 0; b < std::min(p.stride.w, p.input.w); ++b)
        all.push_back({backward_axis(p.input.h, out.h, p.filter.h, p.stride.h, p.pad.h, p.dilation.h, a),
                       backward_axis(p.input.w, out.w, p.filter.w, p.stride.w, p.pad.w, p.dilation.w, b)});
  }
  for (Correlation& one : all) {
    drop_idle_taps(one.rows);
    drop_idle_taps(one.columns);
  }
  return all;
}

Correlation forward_correlation(ConvProblem problem) {
  problem.pass = Pass::forward;
  return correlations(problem).front();
}

Range outputs_inside(int64_t count, int64_t step, int64_t offset, int64_t extent) {
  const int64_t begin = offset >= 0 ? 0 : ceil_div(-offset, step);
  const int64_t end = offset >= extent ? 0 : (extent - 1 - offset) / step + 1;
  return {std::min(begin, count), std::min(end, count)};
}

Range written_in_band(const Axis& rows, int64_t index, int64_t bands) {
  return {index * rows.count / bands, (index + 1) * rows.count / bands};
}

Range read_in_band(const std::vector<Correlation>& correlations, int64_t index, int64_t bands) {
  Range all;
  for (const Correlation& one : correlations) {
    const Range written = written_in_band(one.rows, index, bands);
    if (written.empty()) continue;
    for (const Tap& tap : one.rows.taps) {
      const Range read{written.begin * one.rows.step + tap.offset,
                       (written.end - 1) * one.rows.step + tap.offset + 1};
      if (all.empty()) all = read;
      all = {std::min(all.begin, read.begin), std::max(all.end, read.end)};
    }
  }
  return all;
}

ConvProblem with_rows(const ConvProblem& problem, int64_t rows) {
  ConvProblem other = problem;
  other.input = {rows, problem.input.h * problem.input.w / rows};
  return other;
}

int64_t longest_sum_of(const std::vector<Correlation>& correlations, int64_t channels) {
  const auto max_taps = [](const Axis& axis) {
    int64_t taps = 0;
    for (int64_t i = 0; i < axis.count; ++i) taps = std::max(taps, axis.taps_inside(i, i + 1).size());
    return taps;
  };
  int64_t taps = 0;
  for (const Correlation& one : correlations)
    taps = std::max(taps, max_taps(one.rows) * max_taps(one.columns));
  return taps * channels;
}

std::vector<Range> balanced_parts(int64_t count, int64_t max_size) {
  const int64_t parts = ceil_div(count, max_size);
  std::vector<Range> all;
  for (int64_t i = 0; i < parts; ++i) all.push_back({i * count / parts, (i + 1) * count / parts});
  return all;
}

Range input_rows_of(const Axis& axis, Range rows) {
  if (axis.taps.empty()) return {};  // all on padding
  return {rows.begin * axis.step + axis.taps.front().offset,
          (rows.end - 1) * axis.step + axis.taps.back().offset + 1};
}

std::vector<std::vector<Chunk>> sliced_chunks(const Axis& axis, int64_t images, int64_t slices,
                                              int64_t max_rows) {
  std::vector<std::vector<Chunk>> chunks(static_cast<size_t>(slices));
  const int64_t all = images * axis.count;
  for (int64_t slice = 0; slice < slices; ++slice) {
    const int64_t end = (slice + 1) * all / slices;
    for (int64_t row = slice * all / slices; row < end;) {
      const int64_t p = row % axis.count, left = std::min(max_rows, end - row);
      const Range rows{p, std::min(p + left, axis.count)};
      const int64_t whole = p == 0 ? std::max<int64_t>(1, left / axis.count) : 1;
      chunks[static_cast<size_t>(slice)].push_back(
          {row / axis.count, whole, rows, input_rows_of(axis, rows)});
      row += whole * rows.size();
    }
  }
  return chunks;
}

}  // namespace convscope::direct

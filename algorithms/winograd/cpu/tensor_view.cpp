#include "algorithms/winograd/cpu/tensor_view.hpp"

#include <algorithm>
#include <cstring>

namespace convscope::winograd {
namespace {

// The pixels i of [begin, begin + count) for which 0 <= i * step + shift < size, relative to begin.
struct Inside {
  int64_t begin, end;
};
Inside inside(int64_t begin, int64_t count, int64_t step, int64_t shift, int64_t size) {
  const int64_t low = -shift > 0 ? (-shift + step - 1) / step : 0;
  const int64_t high = size - shift > 0 ? (size - shift + step - 1) / step : 0;
  const int64_t from = std::clamp<int64_t>(low - begin, 0, count);
  return {from, std::clamp<int64_t>(high - begin, from, count)};
}

}  // namespace

// The part of a region that lies in the tensor, for one phase.
struct TensorView::Window {
  Inside rows, columns;
  int64_t first_h, first_w;  // tensor coordinates of the region's corner
};

TensorView::Window TensorView::window(const Region& region, Extent2 phase) const {
  const int64_t shift_h = phase.h - origin.h, shift_w = phase.w - origin.w;
  return {inside(region.h, region.rows, phases.step.h, shift_h, shape.size[2]),
          inside(region.w, region.columns, phases.step.w, shift_w, shape.size[3]),
          region.h * phases.step.h + shift_h, region.w * phases.step.w + shift_w};
}

// Whether the part's rows follow each other in memory and are so narrow that they are better moved in one
// run: blocks of a transposition fit them badly.
bool TensorView::narrow_rows(const Window& part) const {
  constexpr int64_t kMostColumns = 32;
  const int64_t width = part.columns.end - part.columns.begin;
  return shape.stride[3] == 1 && shape.stride[2] == width && width <= kMostColumns &&
         part.rows.begin < part.rows.end;
}

// All rows in one run, then each to its place between the padding.
void TensorView::gather_narrow_rows(const VectorKernels& kernels, const float* plane, const Window& part,
                                    const Region& region, int64_t used, float* staged) const {
  const auto [top, bottom] = part.rows;
  const int64_t lanes = kernels.lanes, row = region.columns * lanes;
  const int64_t width = shape.stride[2] * lanes, left = part.columns.begin * lanes;
  // At the end of the region, so that no row is overwritten before it is moved.
  float* from = staged + region.rows * row - (bottom - top) * width;
  kernels.pack_planes(plane + (part.first_h + top) * shape.stride[2], shape.stride[1],
                      (bottom - top) * shape.stride[2], used, from);
  float* to = staged;
  const auto fill = [&](float* end) {
    std::fill(to, end, 0.0f);
    to = end;
  };
  fill(staged + top * row + left);
  for (int64_t i = top; i < bottom; ++i, from += width) {
    if (i > top) fill(to + row - width);
    if (to != from) std::memmove(to, from, width * sizeof(float));
    to += width;
  }
  fill(staged + region.rows * row);
}

void TensorView::gather(const VectorKernels& kernels, const float* tensor, int64_t n, const Region& region,
                        int64_t vector, float* staged) const {
  const int64_t lanes_each = kernels.lanes, first = vector * lanes_each;
  const int64_t used = std::min(lanes_each, lanes() - first);
  const int64_t row_floats = region.columns * lanes_each;
  const float* const image = tensor + n * shape.stride[0];
  if (phases.offsets.size() == 1) {
    const Window part = window(region, phases.offsets[0]);
    const auto [left, right] = part.columns;
    if (narrow_rows(part)) {
      gather_narrow_rows(kernels, image + first * shape.stride[1], part, region, used, staged);
      return;
    }
    for (int64_t i = 0; i < region.rows; ++i, staged += row_floats) {
      if (i < part.rows.begin || i >= part.rows.end || left == right) {
        std::fill_n(staged, row_floats, 0.0f);
        continue;
      }
      std::fill_n(staged, left * lanes_each, 0.0f);
      std::fill_n(staged + right * lanes_each, row_floats - right * lanes_each, 0.0f);
      const float* from = image + first * shape.stride[1] + (part.first_h + i) * shape.stride[2] +
                          (part.first_w + left) * shape.stride[3];
      if (shape.stride[3] == 1)
        kernels.pack_planes(from, shape.stride[1], right - left, used, staged + left * lanes_each);
      else
        kernels.pack_pixels(from, shape.stride[3], right - left, used, staged + left * lanes_each);
    }
    return;
  }
  std::fill_n(staged, region.rows * row_floats, 0.0f);
  const int64_t step = phases.step.w * shape.stride[3];
  for (int64_t l = 0; l < used; ++l) {
    const Window part = window(region, phases.offsets[(first + l) / channels]);
    for (int64_t i = part.rows.begin; i < part.rows.end; ++i) {
      const float* from = image + (first + l) % channels * shape.stride[1] +
                          (part.first_h + i * phases.step.h) * shape.stride[2] +
                          part.first_w * shape.stride[3];
      float* to = staged + i * row_floats + l;
      for (int64_t j = part.columns.begin; j < part.columns.end; ++j) to[j * lanes_each] = from[j * step];
    }
  }
}

void TensorView::scatter(const VectorKernels& kernels, const float* staged, int64_t n, const Region& region,
                         int64_t vector, float* tensor) const {
  const int64_t lanes_each = kernels.lanes, first = vector * lanes_each;
  const int64_t used = std::min(lanes_each, lanes() - first);
  const int64_t row_floats = region.columns * lanes_each;
  float* const image = tensor + n * shape.stride[0];
  if (phases.offsets.size() == 1) {
    const Window part = window(region, phases.offsets[0]);
    const auto [left, right] = part.columns;
    if (narrow_rows(part) && right - left == region.columns) {
      kernels.unpack_planes(
          staged + part.rows.begin * row_floats,
          image + first * shape.stride[1] + (part.first_h + part.rows.begin) * shape.stride[2],
          shape.stride[1], (part.rows.end - part.rows.begin) * region.columns, used);
      return;
    }
    for (int64_t i = part.rows.begin; i < part.rows.end && left < right; ++i) {
      const float* from = staged + i * row_floats + left * lanes_each;
      float* to = image + first * shape.stride[1] + (part.first_h + i) * shape.stride[2] +
                  (part.first_w + left) * shape.stride[3];
      if (shape.stride[3] == 1)
        kernels.unpack_planes(from, to, shape.stride[1], right - left, used);
      else
        kernels.unpack_pixels(from, to, shape.stride[3], right - left, used);
    }
    return;
  }
  const int64_t step = phases.step.w * shape.stride[3];
  for (int64_t l = 0; l < used; ++l) {
    const Window part = window(region, phases.offsets[(first + l) / channels]);
    for (int64_t i = part.rows.begin; i < part.rows.end; ++i) {
      const float* from = staged + i * row_floats + l;
      float* to = image + (first + l) % channels * shape.stride[1] +
                  (part.first_h + i * phases.step.h) * shape.stride[2] + part.first_w * shape.stride[3];
      for (int64_t j = part.columns.begin; j < part.columns.end; ++j) to[j * step] = from[j * lanes_each];
    }
  }
}

}  // namespace convscope::winograd

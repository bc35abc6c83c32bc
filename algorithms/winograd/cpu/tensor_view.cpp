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
  const int64_t low = -shift > 0 ? ceil_div(-shift, step) : 0;
  const int64_t high = size - shift > 0 ? ceil_div(size - shift, step) : 0;
  const int64_t from = std::clamp<int64_t>(low - begin, 0, count);
  return {from, std::clamp<int64_t>(high - begin, from, count)};
}

// The part of a region that lies in the tensor, for one residue.
struct Window {
  Inside rows, columns;
  int64_t first_h, first_w;  // tensor coordinates of the region's corner
};
Window window(const TensorView& view, const Region& region, Extent2 residue) {
  const Extent2 step = view.residues.step;
  const int64_t shift_h = residue.h - view.origin.h, shift_w = residue.w - view.origin.w;
  return {inside(region.h, region.rows, step.h, shift_h, view.shape.size[2]),
          inside(region.w, region.columns, step.w, shift_w, view.shape.size[3]), region.h * step.h + shift_h,
          region.w * step.w + shift_w};
}

// Whether the part's rows follow each other in memory and are so narrow that they are better moved in one
// run: blocks of a transposition fit them badly.
bool has_narrow_rows(const TensorShape& shape, const Window& part) {
  constexpr int64_t kMaxColumns = 32;
  const int64_t width = part.columns.end - part.columns.begin;
  return shape.stride[3] == 1 && shape.stride[2] == width && width <= kMaxColumns &&
         part.rows.begin < part.rows.end;
}

// All rows in one run, then each to its place between the padding.
void gather_narrow_rows(const VectorKernels& kernels, const TensorShape& shape, const float* plane,
                        const Window& part, const Region& region, int64_t used, float* staged) {
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

void gather_one_residue(const VectorKernels& kernels, const TensorView& view, const float* image,
                        const Region& region, int64_t first, int64_t used, float* staged) {
  const TensorShape& shape = view.shape;
  const int64_t lanes = kernels.lanes, row_floats = region.columns * lanes;
  const Window part = window(view, region, view.residues.offsets[0]);
  const auto [left, right] = part.columns;
  const float* const lane = image + first * shape.stride[1];
  if (has_narrow_rows(shape, part)) {
    gather_narrow_rows(kernels, shape, lane, part, region, used, staged);
    return;
  }
  for (int64_t i = 0; i < region.rows; ++i, staged += row_floats) {
    if (i < part.rows.begin || i >= part.rows.end || left == right) {
      std::fill_n(staged, row_floats, 0.0f);
      continue;
    }
    std::fill_n(staged, left * lanes, 0.0f);
    std::fill_n(staged + right * lanes, row_floats - right * lanes, 0.0f);
    const float* const from =
        lane + (part.first_h + i) * shape.stride[2] + (part.first_w + left) * shape.stride[3];
    if (shape.stride[3] == 1)
      kernels.pack_planes(from, shape.stride[1], right - left, used, staged + left * lanes);
    else
      kernels.pack_pixels(from, shape.stride[3], right - left, used, staged + left * lanes);
  }
}

void scatter_one_residue(const VectorKernels& kernels, const TensorView& view, const float* staged,
                         const Region& region, int64_t first, int64_t used, float* image) {
  const TensorShape& shape = view.shape;
  const int64_t lanes = kernels.lanes, row_floats = region.columns * lanes;
  const Window part = window(view, region, view.residues.offsets[0]);
  const auto [top, bottom] = part.rows;
  const auto [left, right] = part.columns;
  float* const lane = image + first * shape.stride[1];
  if (has_narrow_rows(shape, part) && right - left == region.columns) {
    kernels.unpack_planes(staged + top * row_floats, lane + (part.first_h + top) * shape.stride[2],
                          shape.stride[1], (bottom - top) * region.columns, used);
    return;
  }
  for (int64_t i = top; i < bottom && left < right; ++i) {
    const float* const from = staged + i * row_floats + left * lanes;
    float* const to = lane + (part.first_h + i) * shape.stride[2] + (part.first_w + left) * shape.stride[3];
    if (shape.stride[3] == 1)
      kernels.unpack_planes(from, to, shape.stride[1], right - left, used);
    else
      kernels.unpack_pixels(from, to, shape.stride[3], right - left, used);
  }
}

// For the rows of each lane, calls move(in_tensor, in_staged, count, step): the offsets of the first pixel in
// the image and in the staged form, the pixels, and the step from one to the next in the image. Lanes of
// several residues are moved one by one.
template <typename Move>
void for_each_lane_row(const TensorView& view, const Region& region, int64_t lanes, int64_t first,
                       int64_t used, const Move& move) {
  const auto& stride = view.shape.stride;
  const Extent2 step = view.residues.step;
  for (int64_t l = 0; l < used; ++l) {
    const Window part = window(view, region, view.residues.offsets[(first + l) / view.channels]);
    const auto [left, right] = part.columns;
    for (int64_t i = part.rows.begin; i < part.rows.end; ++i)
      move((first + l) % view.channels * stride[1] + (part.first_h + i * step.h) * stride[2] +
               (part.first_w + left * step.w) * stride[3],
           (i * region.columns + left) * lanes + l, right - left, step.w * stride[3]);
  }
}

}  // namespace

void gather(const VectorKernels& kernels, const TensorView& view, const float* tensor, const Region& region,
            int64_t vector, float* staged) {
  const int64_t lanes = kernels.lanes, first = vector * lanes;
  const int64_t used = std::min(lanes, view.lanes() - first);
  const float* const image = tensor + region.n * view.shape.stride[0];
  if (view.residues.offsets.size() == 1) {
    gather_one_residue(kernels, view, image, region, first, used, staged);
    return;
  }
  std::fill_n(staged, region.rows * region.columns * lanes, 0.0f);
  for_each_lane_row(view, region, lanes, first, used,
                    [=](int64_t in_tensor, int64_t in_staged, int64_t count, int64_t step) {
                      const float* const from = image + in_tensor;
                      float* const to = staged + in_staged;
                      for (int64_t j = 0; j < count; ++j) to[j * lanes] = from[j * step];
                    });
}

void scatter(const VectorKernels& kernels, const TensorView& view, const float* staged, const Region& region,
             int64_t vector, float* tensor) {
  const int64_t lanes = kernels.lanes, first = vector * lanes;
  const int64_t used = std::min(lanes, view.lanes() - first);
  float* const image = tensor + region.n * view.shape.stride[0];
  if (view.residues.offsets.size() == 1) {
    scatter_one_residue(kernels, view, staged, region, first, used, image);
    return;
  }
  for_each_lane_row(view, region, lanes, first, used,
                    [=](int64_t in_tensor, int64_t in_staged, int64_t count, int64_t step) {
                      const float* const from = staged + in_staged;
                      float* const to = image + in_tensor;
                      for (int64_t j = 0; j < count; ++j) to[j * step] = from[j * lanes];
                    });
}

}  // namespace convscope::winograd

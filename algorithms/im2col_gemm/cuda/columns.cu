// The kernels that move data around the products. Neighbouring threads take neighbours of the tensor: pixels
// of a channel in NCHW, channels of a pixel in NHWC, so the strides of its map make one kernel serve both. A
// thread does all taps of its element, so that the divisions that find the element are few per element moved.
#include "algorithms/im2col_gemm/cuda/columns.hpp"
#include "bench/core/rounding.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using im2col_gemm::AxisMap;
using im2col_gemm::ColumnMap;
using im2col_gemm::PlaneCopy;

constexpr int kThreads = 256;

// The element of a thread: block x counts the two inner counters, y the outer one, z images.
struct Place {
  int channel, y, x, image;
  bool inside;
};
__device__ __forceinline__ Place place_of_thread(const ColumnMap& map, int height, int width) {
  const int inner = map.nchw ? width : map.channels, outer = map.nchw ? height : width;
  const int at = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int i = at / inner, j = at - i * inner, k = static_cast<int>(blockIdx.y);
  const int image = static_cast<int>(blockIdx.z);
  if (map.nchw) return {k, i, j, image, i < outer};
  return {j, k, i, image, i < outer};
}

__device__ __forceinline__ int64_t column_offset(const ColumnMap& map, const Place& at) {
  const int group = at.channel / map.group_channels;
  return at.image * map.column_image + group * map.column_group +
         int64_t{at.channel - group * map.group_channels} * map.column_channel;
}

__global__ void __launch_bounds__(kThreads)
    im2col_kernel(const __grid_constant__ ColumnMap map, const float* __restrict__ input,
                  float* __restrict__ columns) {
  const Place at = place_of_thread(map, map.rows, map.q);
  if (!at.inside) return;
  const float* const from = input + at.image * map.image + int64_t{at.channel} * map.channel;
  float* const to = columns + column_offset(map, at) + int64_t{at.y * map.q + at.x} * map.column_pixel;
  const int first_y = (map.first_row + at.y) * map.h.stride - map.h.pad;
  const int first_x = at.x * map.w.stride - map.w.pad;
  for (int r = 0; r < map.h.taps; ++r) {
    const int y = first_y + r * map.h.dilation;
    const bool row_inside = y >= 0 && y < map.h.size;
    for (int s = 0; s < map.w.taps; ++s) {
      const int x = first_x + s * map.w.dilation;
      const bool inside = row_inside && x >= 0 && x < map.w.size;
      to[r * map.column_r + s * map.column_s] = inside ? from[y * map.y + x * map.x] : 0.0f;
    }
  }
}

// The first tap that meets an input and the output that it does so at; no tap where the stride skips it.
struct Meeting {
  int tap, output;
};
__device__ __forceinline__ Meeting first_meeting(const AxisMap& axis, int position) {
  for (int tap = 0; tap < min(axis.tap_step, axis.taps); ++tap) {
    const int reach = position + axis.pad - tap * axis.dilation, output = reach / axis.stride;
    if (output * axis.stride == reach) return {tap, output};
  }
  return {axis.taps, 0};
}

// Gathers what the chunk's columns add to an input, taps in order; adds to what earlier chunks left in it.
__global__ void __launch_bounds__(kThreads)
    col2im_kernel(const __grid_constant__ ColumnMap map, const float* __restrict__ columns,
                  float* __restrict__ input) {
  const int begin = static_cast<int>(map.input_rows.begin);
  const Place at = place_of_thread(map, static_cast<int>(map.input_rows.end) - begin, map.w.size);
  if (!at.inside) return;
  const int y = begin + at.y;
  const float* const from = columns + column_offset(map, at);
  float* const to = input + at.image * map.image +
                    (int64_t{at.channel} * map.channel + int64_t{y} * map.y + int64_t{at.x} * map.x);
  const Meeting first_y = first_meeting(map.h, y), first_x = first_meeting(map.w, at.x);
  float sum = y < map.input_rows.fresh ? *to : 0.0f;
  int p = first_y.output - map.first_row;
  for (int r = first_y.tap; r < map.h.taps; r += map.h.tap_step, p -= map.h.output_step) {
    if (p < 0 || p >= map.rows) continue;
    int q = first_x.output;
    for (int s = first_x.tap; s < map.w.taps; s += map.w.tap_step, q -= map.w.output_step)
      if (q >= 0 && q < map.q)
        sum += from[int64_t{p * map.q + q} * map.column_pixel + (r * map.column_r + s * map.column_s)];
  }
  *to = sum;
}

__global__ void __launch_bounds__(kThreads)
    copy_kernel(const PlaneCopy map, const float* __restrict__ from, float* __restrict__ to) {
  const int pixel = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (pixel >= map.pixels) return;
  const int channel = static_cast<int>(blockIdx.y), image = static_cast<int>(blockIdx.z);
  to[image * map.to_image + channel * map.to_channel + pixel] =
      from[image * map.from_image + channel * map.from_channel + pixel];
}

dim3 grid(int64_t inner, int outer, int images) {
  return dim3(static_cast<unsigned>(ceil_div(inner, kThreads)), static_cast<unsigned>(outer),
              static_cast<unsigned>(images));
}

dim3 grid_of(const ColumnMap& map, int height, int width) {
  if (map.nchw) return grid(int64_t{height} * width, map.channels, map.images);
  return grid(int64_t{width} * map.channels, height, map.images);
}

}  // namespace

void im2col(const ColumnMap& map, const float* input, float* columns, Queue& queue) {
  launch(im2col_kernel, grid_of(map, map.rows, map.q), kThreads, 0, queue, map, input, columns);
}

void col2im(const ColumnMap& map, const float* columns, float* input, Queue& queue) {
  const int height = static_cast<int>(map.input_rows.end - map.input_rows.begin);
  if (height == 0) return;
  launch(col2im_kernel, grid_of(map, height, map.w.size), kThreads, 0, queue, map, columns, input);
}

void copy_planes(const PlaneCopy& map, const float* from, float* to, Queue& queue) {
  launch(copy_kernel, grid(map.pixels, map.channels, map.images), kThreads, 0, queue, map, from, to);
}

}  // namespace convscope::CONVSCOPE_KERNELS

// Legend: n c h w input, k c r s filter (c within its group), n k p q output. Nothing is staged in shared
// memory: it need only be much faster than the CPU. Thread blocks and grid follow from the number of outputs
// alone.
#include <algorithm>

#include "bench/core/rounding.hpp"
#include "bench/device/kernel/kernel.hpp"
#include "bench/verify/device_reference.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 128;
constexpr int64_t kMaxBlocks = int64_t{1} << 20;

// A tensor's logical sizes and its steps in memory, in elements.
struct Axes {
  int64_t size[4], step[4];
  __host__ __device__ int64_t offset(int64_t a, int64_t b, int64_t c, int64_t d) const {
    return a * step[0] + b * step[1] + c * step[2] + d * step[3];
  }
};

struct Geometry {
  Axes x, f, y;
  int64_t out_channels_per_group;
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

struct Sum {
  double value = 0, magnitude = 0;
  __device__ void add(float a, float b) {
    const double product = static_cast<double>(a) * b;
    value += product;
    magnitude += fabs(product);
  }
};

__device__ Sum forward(const Geometry& g, const float* x, const float* f, const int64_t (&at)[4]) {
  const int64_t n = at[0], k = at[1], p = at[2], q = at[3];
  const int64_t first_c = k / g.out_channels_per_group * g.f.size[1];
  Sum sum;
  for (int64_t r = 0; r < g.f.size[2]; ++r) {
    const int64_t h = p * g.stride_h - g.pad_h + r * g.dilation_h;
    if (h < 0 || h >= g.x.size[2]) continue;
    for (int64_t s = 0; s < g.f.size[3]; ++s) {
      const int64_t w = q * g.stride_w - g.pad_w + s * g.dilation_w;
      if (w < 0 || w >= g.x.size[3]) continue;
      for (int64_t c = 0; c < g.f.size[1]; ++c)
        sum.add(x[g.x.offset(n, first_c + c, h, w)], f[g.f.offset(k, c, r, s)]);
    }
  }
  return sum;
}

__device__ Sum backward_data(const Geometry& g, const float* f, const float* y, const int64_t (&at)[4]) {
  const int64_t n = at[0], channel = at[1], h = at[2], w = at[3];
  const int64_t group = channel / g.f.size[1], c = channel % g.f.size[1];
  const int64_t first_k = group * g.out_channels_per_group;
  Sum sum;
  for (int64_t r = 0; r < g.f.size[2]; ++r) {
    const int64_t strided_p = h + g.pad_h - r * g.dilation_h, p = strided_p / g.stride_h;
    if (strided_p < 0 || strided_p % g.stride_h != 0 || p >= g.y.size[2]) continue;
    for (int64_t s = 0; s < g.f.size[3]; ++s) {
      const int64_t strided_q = w + g.pad_w - s * g.dilation_w, q = strided_q / g.stride_w;
      if (strided_q < 0 || strided_q % g.stride_w != 0 || q >= g.y.size[3]) continue;
      for (int64_t k = first_k; k < first_k + g.out_channels_per_group; ++k)
        sum.add(y[g.y.offset(n, k, p, q)], f[g.f.offset(k, c, r, s)]);
    }
  }
  return sum;
}

__device__ Sum backward_filter(const Geometry& g, const float* x, const float* y, const int64_t (&at)[4]) {
  const int64_t k = at[0], c = at[1], r = at[2], s = at[3];
  const int64_t channel = k / g.out_channels_per_group * g.f.size[1] + c;
  Sum sum;
  for (int64_t n = 0; n < g.y.size[0]; ++n)
    for (int64_t p = 0; p < g.y.size[2]; ++p) {
      const int64_t h = p * g.stride_h - g.pad_h + r * g.dilation_h;
      if (h < 0 || h >= g.x.size[2]) continue;
      for (int64_t q = 0; q < g.y.size[3]; ++q) {
        const int64_t w = q * g.stride_w - g.pad_w + s * g.dilation_w;
        if (w < 0 || w >= g.x.size[3]) continue;
        sum.add(x[g.x.offset(n, channel, h, w)], y[g.y.offset(n, k, p, q)]);
      }
    }
  return sum;
}

// Threads take the outputs in logical order, the last axis fastest.
template <Pass pass>
__global__ void __launch_bounds__(kThreads) reference(Geometry g, ReferenceArgs args, int64_t count) {
  const Axes& written = pass == Pass::forward ? g.y : pass == Pass::backward_data ? g.x : g.f;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += threads) {
    int64_t at[4], rest = i;
    for (int axis = 3; axis >= 0; --axis) {
      at[axis] = rest % written.size[axis];
      rest /= written.size[axis];
    }
    Sum sum;
    if constexpr (pass == Pass::forward)
      sum = forward(g, args.input, args.filter, at);
    else if constexpr (pass == Pass::backward_data)
      sum = backward_data(g, args.filter, args.output, at);
    else
      sum = backward_filter(g, args.input, args.output, at);
    const int64_t offset = written.offset(at[0], at[1], at[2], at[3]);
    args.values[offset] = static_cast<float>(sum.value);
    if (args.magnitudes != nullptr) args.magnitudes[offset] = static_cast<float>(sum.magnitude);
  }
}

Axes axes_of(const TensorShape& shape) {
  Axes axes{};
  for (size_t i = 0; i < 4; ++i) {
    axes.size[i] = shape.size[i];
    axes.step[i] = shape.stride[i];
  }
  return axes;
}

}  // namespace

void enqueue_reference(const ConvProblem& problem, const ReferenceArgs& args, Queue& queue) {
  const Geometry geometry{axes_of(problem.shape(Role::input)),
                          axes_of(problem.shape(Role::filter)),
                          axes_of(problem.shape(Role::output)),
                          problem.out_channels_per_group(),
                          problem.stride.h,
                          problem.stride.w,
                          problem.pad.h,
                          problem.pad.w,
                          problem.dilation.h,
                          problem.dilation.w};
  const int64_t count = problem.elements(written_role(problem.pass));
  const auto kernel = problem.pass == Pass::forward         ? reference<Pass::forward>
                      : problem.pass == Pass::backward_data ? reference<Pass::backward_data>
                                                            : reference<Pass::backward_filter>;
  const auto blocks = static_cast<unsigned>(std::min(ceil_div(count, kThreads), kMaxBlocks));
  launch(kernel, blocks, kThreads, 0, queue, geometry, args, count);
}

}  // namespace convscope::CONVSCOPE_KERNELS

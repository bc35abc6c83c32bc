// Backward-filter of direct.tiled.cuda and direct.chwn.cuda, every layout: a block sums 64 written channels
// by 128 columns (read channel and tap) of the gradient over its slice of the pixels, 16 pixels a step.
// Slices leave partial sums in the workspace that a second kernel adds in fixed order, so that two runs agree
// bit for bit. A launch takes at most 16,384 pixels of each slice and adds to the sums of the one before: the
// error of a running sum grows with its length. Design: README.md.
#include "algorithms/common/rounding.hpp"
#include "algorithms/common/sum_levels.hpp"
#include "algorithms/common/tally.hpp"
#include "algorithms/direct/cuda/add_slices.cuh"
#include "algorithms/direct/cuda/geometry.hpp"
#include "algorithms/direct/cuda/plans.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using direct::GradientTile;

// Strides are elements.
struct GradientArgs {
  const float* x;
  const float* dy;
  float* sums;  // one slice after the other, each laid out as the filter
  int64_t x_n, x_c, x_h, x_w;
  int64_t dy_n, dy_k, dy_p, dy_q;
  int64_t dw_k, dw_c, dw_r, dw_s;
  int64_t dw_elements;
  int height, width, batch, out_h, out_w;
  int filter_h, filter_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int in_channels, out_channels;  // of one group
  int row_tiles;
  int pixels, slice_pixels;  // slice_pixels is a multiple of GradientTile::kDepth
  int first, count;          // of a slice's pixels, in this launch; first not 0: sums are added to
  bool batch_inner;     // pixels in memory order: (p, q, n) where images lie innermost, (n, p, q) elsewhere
  bool channels_inner;  // columns in memory order: (r, s, c) or (c, r, s)
};

struct Column {
  int64_t x_offset, dw_offset;
  int h, w;  // of the tap, relative to the pixel's first
};

struct Pixel {
  int64_t x_offset, dy_offset;
  int h, w;  // of its first tap, without padding
  bool inside;
};

__device__ Column column_at(const GradientArgs& a, int index) {
  const int taps = a.filter_h * a.filter_w;
  const int c = a.channels_inner ? index % a.in_channels : index / taps;
  const int tap = a.channels_inner ? index / a.in_channels : index % taps;
  const int r = tap / a.filter_w, s = tap % a.filter_w;
  const int h = r * a.dilation_h - a.pad_h, w = s * a.dilation_w - a.pad_w;
  return {c * a.x_c + h * a.x_h + w * a.x_w, c * a.dw_c + r * a.dw_r + s * a.dw_s, h, w};
}

__device__ Pixel pixel_at(const GradientArgs& a, int index, int end) {
  const int inner = a.batch_inner ? a.batch : a.out_w, middle = a.batch_inner ? a.out_w : a.out_h;
  const int i2 = index % inner, i1 = index / inner % middle, i0 = index / inner / middle;
  const int n = a.batch_inner ? i2 : i0, p = a.batch_inner ? i0 : i1, q = a.batch_inner ? i1 : i2;
  const int h = p * a.stride_h, w = q * a.stride_w;
  return {n * a.x_n + h * a.x_h + w * a.x_w, n * a.dy_n + p * a.dy_p + q * a.dy_q, h, w, index < end};
}

__device__ float x_value(const GradientArgs& a, const float* x, const Pixel& pixel, const Column& column,
                         bool used) {
  const int h = pixel.h + column.h, w = pixel.w + column.w;
  const bool inside = used && pixel.inside && h >= 0 && h < a.height && w >= 0 && w < a.width;
  return inside ? __ldg(x + pixel.x_offset + column.x_offset) : 0.0f;
}

// kPixelsInner: neighbouring threads take neighbouring pixels (NCHW, CHWN), otherwise channels (NHWC), as
// they lie in memory.
template <bool kPixelsInner>
__global__ void __launch_bounds__(GradientTile::kThreads) gradient(GradientArgs a) {
  constexpr int kRows = GradientTile::kRows, kColumns = GradientTile::kColumns, kDepth = GradientTile::kDepth;
  // Rows of whole float4, shifted by four banks from pixel to pixel.
  __shared__ __align__(16) float dy_tile[kDepth][kRows + 4];
  __shared__ __align__(16) float x_tile[kDepth][kColumns + 4];
  __shared__ Column columns[kColumns];
  __shared__ Pixel pixels[2][kDepth];

  const int thread = static_cast<int>(threadIdx.x);
  const int column_count = a.in_channels * a.filter_h * a.filter_w;
  const int first_column = static_cast<int>(blockIdx.x) * kColumns;
  const int group = static_cast<int>(blockIdx.y) / a.row_tiles;
  const int first_row = static_cast<int>(blockIdx.y) % a.row_tiles * kRows;
  const int begin = static_cast<int>(blockIdx.z) * a.slice_pixels + a.first;
  const int end = min(begin + a.count, a.pixels);
  const float* const x = a.x + static_cast<int64_t>(group) * a.in_channels * a.x_c;
  const float* const dy = a.dy + (static_cast<int64_t>(group) * a.out_channels + first_row) * a.dy_k;

  columns[thread] = column_at(a, min(first_column + thread, column_count - 1));
  if (thread < kDepth) pixels[0][thread] = pixel_at(a, begin + thread, end);
  __syncthreads();

  const int tk = thread / 16, tc = thread % 16;  // rows tk * 8 + i, columns tc * 4 + j and 64 more
  float sum[8][8] = {};
  for (int m0 = begin, buffer = 0; m0 < end; m0 += kDepth, buffer ^= 1) {
    const int inner = kPixelsInner ? thread % kDepth : 0, outer = kPixelsInner ? thread / kDepth : thread;
    if constexpr (kPixelsInner) {
      const Pixel pixel = pixels[buffer][inner];
      for (int k = outer; k < kRows; k += GradientTile::kThreads / kDepth)
        dy_tile[inner][k] =
            pixel.inside && first_row + k < a.out_channels ? __ldg(dy + pixel.dy_offset + k * a.dy_k) : 0.0f;
      for (int j = outer; j < kColumns; j += GradientTile::kThreads / kDepth)
        x_tile[inner][j] = x_value(a, x, pixel, columns[j], first_column + j < column_count);
    } else {
      const int k = outer % kRows;
      for (int m = outer / kRows; m < kDepth; m += GradientTile::kThreads / kRows) {
        const Pixel& pixel = pixels[buffer][m];
        dy_tile[m][k] =
            pixel.inside && first_row + k < a.out_channels ? __ldg(dy + pixel.dy_offset + k * a.dy_k) : 0.0f;
      }
      const Column column = columns[outer];
      for (int m = 0; m < kDepth; ++m)
        x_tile[m][outer] = x_value(a, x, pixels[buffer][m], column, first_column + outer < column_count);
    }
    if (thread < kDepth) pixels[buffer ^ 1][thread] = pixel_at(a, m0 + kDepth + thread, end);
    __syncthreads();
    UNROLL
    for (int m = 0; m < kDepth; ++m) {
      const float4 d0 = *reinterpret_cast<const float4*>(&dy_tile[m][tk * 8]);
      const float4 d1 = *reinterpret_cast<const float4*>(&dy_tile[m][tk * 8 + 4]);
      const float4 x0 = *reinterpret_cast<const float4*>(&x_tile[m][tc * 4]);
      const float4 x1 = *reinterpret_cast<const float4*>(&x_tile[m][tc * 4 + 64]);
      const float rows[8] = {d0.x, d0.y, d0.z, d0.w, d1.x, d1.y, d1.z, d1.w};
      const float values[8] = {x0.x, x0.y, x0.z, x0.w, x1.x, x1.y, x1.z, x1.w};
      UNROLL
      for (int i = 0; i < 8; ++i) UNROLL
      for (int j = 0; j < 8; ++j) sum[i][j] += rows[i] * values[j];
    }
    tally_product(2 * 8 * 8 * kDepth);
    tally_staged(threadIdx.x == 0 ? kDepth * (kRows + kColumns) * int64_t{sizeof(float)} : 0);
    __syncthreads();
  }

  float* const out = a.sums + static_cast<int64_t>(blockIdx.z) * a.dw_elements +
                     (static_cast<int64_t>(group) * a.out_channels + first_row) * a.dw_k;
  UNROLL
  for (int i = 0; i < 8; ++i) UNROLL
  for (int j = 0; j < 8; ++j) {
    const int k = tk * 8 + i, column = tc * 4 + j % 4 + j / 4 * 64;
    if (first_row + k >= a.out_channels || first_column + column >= column_count) continue;
    float* const to = out + k * a.dw_k + columns[column].dw_offset;
    *to = a.first > 0 ? *to + sum[i][j] : sum[i][j];
  }
}

class GradientPlan final : public Plan {
 public:
  GradientPlan(const ConvProblem& problem, const PlanOptions& options)
      : problem_(problem), slices_(direct::gradient_slices(problem, options.workspace_cap)) {}

  int64_t workspace_bytes() const override {
    return slices_ == 1 ? 0 : slices_ * problem_.bytes(Role::filter);
  }
  std::string implementation() const override { return std::to_string(slices_) + " slices of the pixels"; }
  // Whole tiles of rows and columns, whole steps of pixels, taps on padding included.
  std::optional<OperationCount> operations() const override {
    const GradientArgs a = sizes();
    constexpr int kRows = GradientTile::kRows, kColumns = GradientTile::kColumns;
    const int64_t column_tiles = ceil_div(int64_t{a.in_channels} * a.filter_h * a.filter_w, kColumns);
    const double steps = static_cast<double>(problem_.groups * a.row_tiles * column_tiles) *
                         static_cast<double>(round_up(a.pixels, GradientTile::kDepth));
    return OperationCount{2 * steps * kRows * kColumns, 0,
                          static_cast<double>(problem_.total_bytes() + 2 * workspace_bytes()),
                          steps * (kRows + kColumns) * sizeof(float)};
  }
  double longest_sum() const override {
    const GradientArgs a = sizes();
    return in_chains(a.slice_pixels, pixels_of_launch(a)).longest() + slices_ - 1;
  }

  void run(const ConvArgs& args, Queue& queue) override {
    GradientArgs a = sizes();
    a.x = static_cast<const float*>(args.input);
    a.dy = static_cast<const float*>(args.output);
    a.sums = static_cast<float*>(slices_ == 1 ? args.filter : args.workspace);
    const int columns = a.in_channels * a.filter_h * a.filter_w;
    const dim3 grid(static_cast<unsigned>(ceil_div(columns, GradientTile::kColumns)),
                    static_cast<unsigned>(a.row_tiles * problem_.groups), static_cast<unsigned>(slices_));
    const int chain = pixels_of_launch(a);
    queue.phase(Phase::product);
    for (; a.first < a.slice_pixels; a.first += a.count) {
      a.count = std::min(chain, a.slice_pixels - a.first);
      if (problem_.layout == Layout::nhwc)
        launch(gradient<false>, grid, GradientTile::kThreads, 0, queue, a);
      else
        launch(gradient<true>, grid, GradientTile::kThreads, 0, queue, a);
    }
    if (slices_ > 1)
      add_filter_slices(a.sums, static_cast<float*>(args.filter), a.dw_elements, slices_, queue);
    queue.end_phase();
  }

 private:
  static int pixels_of_launch(const GradientArgs& a) {
    const int64_t steps = ceil_div(int64_t{a.slice_pixels}, int64_t{GradientTile::kDepth});
    const int64_t pixels = ceil_div(steps, int64_t{GradientTile::kMaxLaunches}) * GradientTile::kDepth;
    return static_cast<int>(std::max<int64_t>(GradientTile::kMaxChain, pixels));
  }

  GradientArgs sizes() const {
    const ConvProblem& p = problem_;
    const TensorShape x = p.shape(Role::input), w = p.shape(Role::filter), y = p.shape(Role::output);
    GradientArgs a{};
    a.x_n = x.stride[0], a.x_c = x.stride[1], a.x_h = x.stride[2], a.x_w = x.stride[3];
    a.dy_n = y.stride[0], a.dy_k = y.stride[1], a.dy_p = y.stride[2], a.dy_q = y.stride[3];
    a.dw_k = w.stride[0], a.dw_c = w.stride[1], a.dw_r = w.stride[2], a.dw_s = w.stride[3];
    a.dw_elements = p.elements(Role::filter);
    a.height = static_cast<int>(p.input.h), a.width = static_cast<int>(p.input.w);
    a.batch = static_cast<int>(p.batch);
    a.out_h = static_cast<int>(y.size[2]), a.out_w = static_cast<int>(y.size[3]);
    a.filter_h = static_cast<int>(p.filter.h), a.filter_w = static_cast<int>(p.filter.w);
    a.stride_h = static_cast<int>(p.stride.h), a.stride_w = static_cast<int>(p.stride.w);
    a.pad_h = static_cast<int>(p.pad.h), a.pad_w = static_cast<int>(p.pad.w);
    a.dilation_h = static_cast<int>(p.dilation.h), a.dilation_w = static_cast<int>(p.dilation.w);
    a.in_channels = static_cast<int>(p.in_channels_per_group());
    a.out_channels = static_cast<int>(p.out_channels_per_group());
    a.row_tiles = static_cast<int>(ceil_div(a.out_channels, GradientTile::kRows));
    a.pixels = a.batch * a.out_h * a.out_w;
    const int64_t steps = ceil_div(a.pixels, GradientTile::kDepth);
    a.slice_pixels = narrow(ceil_div(steps, slices_) * GradientTile::kDepth);
    a.batch_inner = p.layout == Layout::chwn;
    a.channels_inner = p.layout == Layout::nhwc;
    return a;
  }

  ConvProblem problem_;
  int slices_;
};

}  // namespace

std::unique_ptr<Plan> make_gradient_plan(const ConvProblem& problem, const PlanOptions& options) {
  return std::make_unique<GradientPlan>(problem, options);
}

}  // namespace convscope::CONVSCOPE_KERNELS

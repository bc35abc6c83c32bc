// direct.depthwise.cuda: groups of one input channel, bound by memory. Forward and backward-data: a thread
// computes four written pixels of one channel; reuse comes from L1. Backward-filter: a block sums the taps of
// one channel (NCHW) or of 32 (NHWC) over a slice of the images. Design: README.md.
#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/common/tally.hpp"
#include "algorithms/direct/cuda/add_slices.cuh"
#include "algorithms/direct/cuda/geometry.hpp"
#include "algorithms/direct/cuda/plans.hpp"
#include "bench/algorithm/epilogue.cuh"
#include "bench/core/rounding.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 256;
// Written pixels per thread, a quarter of the row apart, so that neighbouring threads read neighbours.
constexpr int kStrip = 4;

// Strides are elements.
struct DepthwiseArgs {
  const float* read;
  const float* filter;
  float* written;
  int64_t read_n, read_c, read_h, read_w;
  int64_t written_n, written_k, written_h, written_w;
  int64_t filter_k, filter_r, filter_s;
  int read_height, read_width;
  int read_each, written_each;  // channels of one group: one of the two is 1
  int channels;                 // written, of all groups
  int strips;                   // of one row
  bool channels_inner;
  int64_t threads;
  direct::AxisResidue y, x;
  Finish finish;
};

// The sum over the read channels of the group: one in forward. kFinishes: applies an epilogue.
template <bool kFinishes>
__global__ void __launch_bounds__(kThreads) depthwise(DepthwiseArgs a) {
  int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= a.threads) return;
  const auto take = [&index](int extent) {
    const int digit = static_cast<int>(index % extent);
    index /= extent;
    return digit;
  };
  int k, strip, u;
  if (a.channels_inner) {
    k = take(a.channels), strip = take(a.strips), u = take(a.y.extent);
  } else {
    strip = take(a.strips), u = take(a.y.extent), k = take(a.channels);
  }
  const int64_t n = index;
  const int y0 = u * a.y.read_step + a.y.first_read, x0 = strip * a.x.read_step + a.x.first_read;
  const int x_apart = a.strips * a.x.read_step;

  float sum[kStrip] = {};
  int products = 0;  // for the tally
  for (int e = 0; e < a.read_each; ++e) {
    const int read_channel = k / a.written_each * a.read_each + e;
    const float* const plane = a.read + n * a.read_n + read_channel * a.read_c;
    const float* const filter = a.filter + max(k, read_channel) * a.filter_k;
    for (int i = 0; i < a.y.taps; ++i) {
      const int y = y0 + i * a.y.read_tap_step;
      if (y < 0 || y >= a.read_height) continue;
      const float* const weights = filter + (a.y.first_tap + i * a.y.tap_step) * a.filter_r;
      for (int j = 0; j < a.x.taps; ++j) {
        const float weight = __ldg(weights + (a.x.first_tap + j * a.x.tap_step) * a.filter_s);
        UNROLL
        for (int m = 0; m < kStrip; ++m) {
          const int x = x0 + m * x_apart + j * a.x.read_tap_step;
          if (x >= 0 && x < a.read_width) {
            sum[m] += weight * __ldg(plane + y * a.read_h + x * a.read_w);
            ++products;
          }
        }
      }
    }
  }
  tally_product(2 * products);
  if constexpr (kFinishes) finish_all(sum, at_channel(a.finish, k));
  float* const out = a.written + n * a.written_n + k * a.written_k +
                     static_cast<int64_t>(a.y.written_first + u * a.y.written_step) * a.written_h;
  UNROLL
  for (int m = 0; m < kStrip; ++m) {
    const int v = strip + m * a.strips;
    if (v < a.x.extent)
      out[static_cast<int64_t>(a.x.written_first + v * a.x.written_step) * a.written_w] = sum[m];
  }
}

struct DepthwiseGradientArgs {
  const float* x;
  const float* dy;
  float* sums;
  int64_t x_n, x_c, x_h, x_w;
  int64_t dy_n, dy_k, dy_p, dy_q;
  int64_t dw_k, dw_r, dw_s, dw_elements;
  int height, width, batch, out_h, out_w;
  int filter_w, taps, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int channels, written_each;
  int channel_lanes;  // threads side by side on neighbouring channels, 1 or 32; the others share the pixels
  int slice_images;
  int first, images;  // of a slice, in this launch; first not 0: sums are added to
};

constexpr int kTapsAtOnce = 9;
// Pixels per thread and launch, which sums in registers run over, unless a single image has more.
constexpr int kMaxChain = 4096;

__global__ void __launch_bounds__(kThreads) depthwise_gradient(DepthwiseGradientArgs a) {
  __shared__ float sums[kThreads];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % a.channel_lanes;
  const int pixel_lane = thread / a.channel_lanes, pixel_lanes = kThreads / a.channel_lanes;
  const int k = static_cast<int>(blockIdx.x) * a.channel_lanes + lane;
  const bool used = k < a.channels;
  const int first_image = static_cast<int>(blockIdx.y) * a.slice_images + a.first;
  const int last_image = min(first_image + a.images, a.batch);

  for (int tap0 = 0; tap0 < a.taps; tap0 += kTapsAtOnce) {
    float sum[kTapsAtOnce] = {};
    int64_t products = 0;  // for the tally
    for (int n = first_image; used && n < last_image; ++n) {
      const float* const x = a.x + n * a.x_n + k / a.written_each * a.x_c;
      const float* const dy = a.dy + n * a.dy_n + k * a.dy_k;
      for (int m = pixel_lane; m < a.out_h * a.out_w; m += pixel_lanes) {
        const int p = m / a.out_w, q = m % a.out_w;
        const float gradient = __ldg(dy + p * a.dy_p + q * a.dy_q);
        UNROLL
        for (int t = 0; t < kTapsAtOnce; ++t) {
          const int tap = tap0 + t, h = p * a.stride_h - a.pad_h + tap / a.filter_w * a.dilation_h;
          const int w = q * a.stride_w - a.pad_w + tap % a.filter_w * a.dilation_w;
          if (tap < a.taps && h >= 0 && h < a.height && w >= 0 && w < a.width) {
            sum[t] += gradient * __ldg(x + h * a.x_h + w * a.x_w);
            ++products;
          }
        }
      }
    }
    tally_product(2 * products);
    UNROLL
    for (int t = 0; t < kTapsAtOnce; ++t) {
      sums[thread] = sum[t];
      __syncthreads();
      for (int half = pixel_lanes / 2; half > 0; half /= 2) {
        if (pixel_lane < half) sums[thread] += sums[thread + half * a.channel_lanes];
        __syncthreads();
      }
      const int tap = tap0 + t;
      if (pixel_lane == 0 && used && tap < a.taps) {
        float* const to = a.sums + blockIdx.y * a.dw_elements + k * a.dw_k + tap / a.filter_w * a.dw_r +
                          tap % a.filter_w * a.dw_s;
        *to = a.first > 0 ? *to + sums[thread] : sums[thread];
      }
      // No barrier: the next tap overwrites what only the thread itself still reads.
    }
  }
}

class DepthwiseCudaPlan final : public Plan {
 public:
  explicit DepthwiseCudaPlan(const ConvProblem& problem) : problem_(problem) {
    const bool forward = problem.pass == Pass::forward;
    const TensorShape read = problem.shape(forward ? Role::input : Role::output);
    const TensorShape written = problem.shape(written_role(problem.pass));
    const TensorShape filter = problem.shape(Role::filter);
    const direct::PassChannels each = direct::pass_channels(problem);
    forward_ = forward;
    for (const direct::AxisResidue& y : direct::axis_residues(direct::vertical(problem), forward))
      for (const direct::AxisResidue& x : direct::axis_residues(direct::horizontal(problem), forward)) {
        DepthwiseArgs a{};
        a.read_n = read.stride[0], a.read_c = read.stride[1], a.read_h = read.stride[2],
        a.read_w = read.stride[3];
        a.written_n = written.stride[0], a.written_k = written.stride[1];
        a.written_h = written.stride[2], a.written_w = written.stride[3];
        a.filter_k = filter.stride[0], a.filter_r = filter.stride[2], a.filter_s = filter.stride[3];
        a.read_height = static_cast<int>(read.size[2]), a.read_width = static_cast<int>(read.size[3]);
        a.read_each = each.read, a.written_each = each.written;
        a.channels = static_cast<int>(written.size[1]);
        a.strips = narrow(ceil_div(x.extent, kStrip));
        a.channels_inner = problem.layout == Layout::nhwc;
        a.threads = problem.batch * a.channels * y.extent * a.strips;
        a.y = y, a.x = x;
        residues_.push_back(a);
      }
  }

  double longest_sum() const override {
    int longest = 0;
    for (const DepthwiseArgs& a : residues_) longest = std::max(longest, a.read_each * a.y.taps * a.x.taps);
    return longest;
  }

  // Taps on padding are no work; pixels past the end of a row, up to a whole strip, are.
  std::optional<OperationCount> operations() const override {
    int64_t products = 0;
    for (const DepthwiseArgs& a : residues_) {
      int64_t rows = 0, columns = 0;
      for (int u = 0; u < a.y.extent; ++u) rows += direct::taps_inside(a.y, u, a.read_height);
      for (int v = 0; v < kStrip * a.strips; ++v) columns += direct::taps_inside(a.x, v, a.read_width);
      products += rows * columns * a.read_each;
    }
    const int64_t planes = problem_.shape(written_role(problem_.pass)).size[1] * problem_.batch;
    return OperationCount{2 * static_cast<double>(planes) * static_cast<double>(products), 0,
                          static_cast<double>(problem_.total_bytes())};
  }

  void run(const ConvArgs& args, Queue& queue) override {
    const auto kernel = problem_.epilogue == Epilogue::none ? depthwise<false> : depthwise<true>;
    queue.phase(Phase::product);
    for (DepthwiseArgs a : residues_) {
      a.read = static_cast<const float*>(forward_ ? args.input : args.output);
      a.filter = static_cast<const float*>(args.filter);
      a.written = static_cast<float*>(forward_ ? args.output : args.input);
      a.finish = finish_of(problem_.epilogue, args.bias);
      launch(kernel, static_cast<unsigned>(ceil_div(a.threads, kThreads)), kThreads, 0, queue, a);
    }
    queue.end_phase();
  }

 private:
  ConvProblem problem_;
  bool forward_ = true;
  std::vector<DepthwiseArgs> residues_;
};

class DepthwiseGradientPlan final : public Plan {
 public:
  DepthwiseGradientPlan(const ConvProblem& problem, const PlanOptions& options) : problem_(problem) {
    // Enough blocks to fill the GPU several times over.
    constexpr int64_t kBlocks = 2048;
    const TensorShape x = problem.shape(Role::input), w = problem.shape(Role::filter);
    const TensorShape y = problem.shape(Role::output);
    DepthwiseGradientArgs& a = args_;
    a.x_n = x.stride[0], a.x_c = x.stride[1], a.x_h = x.stride[2], a.x_w = x.stride[3];
    a.dy_n = y.stride[0], a.dy_k = y.stride[1], a.dy_p = y.stride[2], a.dy_q = y.stride[3];
    a.dw_k = w.stride[0], a.dw_r = w.stride[2], a.dw_s = w.stride[3];
    a.dw_elements = problem.elements(Role::filter);
    a.height = static_cast<int>(problem.input.h), a.width = static_cast<int>(problem.input.w);
    a.batch = static_cast<int>(problem.batch);
    a.out_h = static_cast<int>(y.size[2]), a.out_w = static_cast<int>(y.size[3]);
    a.filter_w = static_cast<int>(problem.filter.w);
    a.taps = static_cast<int>(problem.filter.h * problem.filter.w);
    a.stride_h = static_cast<int>(problem.stride.h), a.stride_w = static_cast<int>(problem.stride.w);
    a.pad_h = static_cast<int>(problem.pad.h), a.pad_w = static_cast<int>(problem.pad.w);
    a.dilation_h = static_cast<int>(problem.dilation.h), a.dilation_w = static_cast<int>(problem.dilation.w);
    a.channels = static_cast<int>(problem.out_channels);
    a.written_each = static_cast<int>(problem.out_channels_per_group());
    a.channel_lanes = problem.layout == Layout::nhwc ? 32 : 1;
    channel_blocks_ = narrow(ceil_div(a.channels, a.channel_lanes));
    const int64_t by_cap = options.workspace_cap / problem.bytes(Role::filter);
    const int64_t wanted = std::clamp<int64_t>(kBlocks / channel_blocks_, 1,
                                               std::max<int64_t>(1, std::min(problem.batch, by_cap)));
    a.slice_images = narrow(ceil_div(problem.batch, wanted));
    slices_ = narrow(ceil_div(a.batch, a.slice_images));
    const int lanes = kThreads / a.channel_lanes;
    image_pixels_ = narrow(ceil_div(a.out_h * a.out_w, lanes));
    a.images = std::clamp(kMaxChain / image_pixels_, 1, a.slice_images);
  }

  int64_t workspace_bytes() const override {
    return slices_ == 1 ? 0 : slices_ * args_.dw_elements * static_cast<int64_t>(sizeof(float));
  }

  // Taps on padding are no work, and neither are channels past the last.
  std::optional<OperationCount> operations() const override {
    return OperationCount{problem_.effective_flops(), 0,
                          static_cast<double>(problem_.total_bytes() + 2 * workspace_bytes())};
  }
  // Within a thread, over the threads, over launches, over slices.
  double longest_sum() const override {
    const auto lanes = static_cast<unsigned>(kThreads / args_.channel_lanes);
    const int launches = narrow(ceil_div(args_.slice_images, args_.images));
    return image_pixels_ * args_.images + std::bit_width(lanes) + launches + slices_ - 2;
  }

  void run(const ConvArgs& args, Queue& queue) override {
    DepthwiseGradientArgs a = args_;
    a.x = static_cast<const float*>(args.input);
    a.dy = static_cast<const float*>(args.output);
    a.sums = static_cast<float*>(slices_ == 1 ? args.filter : args.workspace);
    queue.phase(Phase::product);
    for (; a.first < a.slice_images; a.first += a.images) {
      a.images = std::min(a.images, a.slice_images - a.first);
      launch(depthwise_gradient, dim3(static_cast<unsigned>(channel_blocks_), static_cast<unsigned>(slices_)),
             kThreads, 0, queue, a);
    }
    if (slices_ > 1)
      add_filter_slices(a.sums, static_cast<float*>(args.filter), a.dw_elements, slices_, queue);
    queue.end_phase();
  }

 private:
  ConvProblem problem_;
  DepthwiseGradientArgs args_{};
  int channel_blocks_ = 0, slices_ = 1;
  int image_pixels_ = 0;  // per thread
};

}  // namespace

std::unique_ptr<Plan> make_depthwise_plan(const ConvProblem& problem, const PlanOptions&) {
  return std::make_unique<DepthwiseCudaPlan>(problem);
}

std::unique_ptr<Plan> make_depthwise_gradient_plan(const ConvProblem& problem, const PlanOptions& options) {
  return std::make_unique<DepthwiseGradientPlan>(problem, options);
}

}  // namespace convscope::CONVSCOPE_KERNELS

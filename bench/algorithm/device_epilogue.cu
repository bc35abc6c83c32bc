// Each thread goes over quads of neighbouring elements a grid apart, and carries its place in the tensor
// along: it divides once, not at every quad.
#include <algorithm>

#include "bench/algorithm/device_epilogue.hpp"
#include "bench/algorithm/epilogue.cuh"
#include "bench/core/rounding.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 1024;  // about as many as a GPU has room for at once

// The channel of an element, and its number among the neighbours of that channel.
struct Place {
  int64_t channel, inside;
};

struct FinishArgs {
  float* values;
  const float* bias;
  int64_t count, channels;
  int64_t inside;  // neighbours of one channel: pixels, pixels of all images, or with channels innermost 1
  Place step;      // from one quad of a thread to its next
};

__device__ __forceinline__ Place moved(const FinishArgs& args, Place at, const Place& by) {
  at.channel += by.channel;
  at.inside += by.inside;
  if (at.inside >= args.inside) at.inside -= args.inside, ++at.channel;
  if (at.channel >= args.channels) at.channel -= args.channels;
  return at;
}

template <Epilogue kEpilogue>
__global__ void __launch_bounds__(kThreads) finish(const __grid_constant__ FinishArgs args) {
  const int64_t step = 4 * static_cast<int64_t>(gridDim.x) * kThreads;
  int64_t i = 4 * (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  const Place one = {1 / args.inside, 1 % args.inside};
  Place first = {i / args.inside % args.channels, i % args.inside};
  for (; i < args.count; i += step) {
    float bias[4] = {};
    if constexpr (has_bias(kEpilogue)) {
      Place at = first;
      UNROLL
      for (float& value : bias) {
        value = args.bias[at.channel];
        at = moved(args, at, one);
      }
      first = moved(args, first, args.step);
    }
    float* const values = args.values + i;
    if (i + 4 <= args.count) {
      float4 quad = *reinterpret_cast<const float4*>(values);
      quad = make_float4(finished<kEpilogue>(quad.x, bias[0]), finished<kEpilogue>(quad.y, bias[1]),
                         finished<kEpilogue>(quad.z, bias[2]), finished<kEpilogue>(quad.w, bias[3]));
      *reinterpret_cast<float4*>(values) = quad;
    } else {
      UNROLL
      for (int lane = 0; lane < 3; ++lane)
        if (i + lane < args.count) values[lane] = finished<kEpilogue>(values[lane], bias[lane]);
    }
  }
}

}  // namespace

void enqueue_epilogue(const ConvProblem& problem, const float* bias, float* output, Queue& queue) {
  const Extent2 image = problem.output();
  const int64_t pixels = image.h * image.w;
  FinishArgs args{output, bias, problem.elements(Role::output), problem.out_channels, 1, {}};
  if (problem.layout == Layout::nchw) args.inside = pixels;
  if (problem.layout == Layout::chwn) args.inside = pixels * problem.batch;
  const int64_t blocks = std::min(kMaxBlocks, ceil_div(args.count, int64_t{4 * kThreads}));
  const int64_t step = 4 * blocks * kThreads;
  args.step = {step / args.inside % args.channels, step % args.inside};
  const auto kernel = problem.epilogue == Epilogue::relu   ? finish<Epilogue::relu>
                      : problem.epilogue == Epilogue::bias ? finish<Epilogue::bias>
                                                           : finish<Epilogue::bias_relu>;
  launch(kernel, static_cast<unsigned>(blocks), kThreads, 0, queue, args);
}

}  // namespace convscope::CONVSCOPE_KERNELS

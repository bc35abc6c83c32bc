// What an epilogue does to one sum in a kernel. Included by .cu files only. A NaN stays one, so that what was
// never written shows.
#pragma once

#include "bench/core/problem.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// `bias` is that of the sum's channel, and not used where the epilogue has none.
template <Epilogue kEpilogue>
__device__ __forceinline__ float finished(float sum, [[maybe_unused]] float bias) {
  constexpr bool kBias = has_bias(kEpilogue), kRelu = has_relu(kEpilogue);
  const float value = kBias ? sum + bias : sum;
  return kRelu && value < 0 ? 0 : value;
}

// The same where only the launch knows the epilogue, for kernels that are large and store little.
struct Finish {
  const float* bias;  // of all output channels, or null
  bool relu;
};

inline Finish finish_of(Epilogue epilogue, const float* bias) {
  return {has_bias(epilogue) ? bias : nullptr, has_relu(epilogue)};
}

// Of one channel, whose bias is read once.
struct ChannelFinish {
  float bias;
  bool relu;
};

__device__ __forceinline__ ChannelFinish at_channel(const Finish& finish, int channel) {
  return {finish.bias == nullptr ? 0 : finish.bias[channel], finish.relu};
}

__device__ __forceinline__ float finished(float sum, const ChannelFinish& finish) {
  const float value = sum + finish.bias;
  return finish.relu && value < 0 ? 0 : value;
}

__device__ __forceinline__ float finished(float sum, const Finish& finish, int channel) {
  return finished(sum, at_channel(finish, channel));
}

template <int kCount>
__device__ __forceinline__ void finish_all(float (&sums)[kCount], const ChannelFinish& finish) {
  UNROLL
  for (float& sum : sums) sum = finished(sum, finish);
}

}  // namespace
}  // namespace convscope::CONVSCOPE_KERNELS

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

__device__ __forceinline__ float finished(float sum, const Finish& finish, int channel) {
  const float value = finish.bias == nullptr ? sum : sum + finish.bias[channel];
  return finish.relu && value < 0 ? 0 : value;
}

// Of sums of one channel, in place: its bias is read once.
template <int kCount>
__device__ __forceinline__ void finish_all(float (&sums)[kCount], const Finish& finish, int channel) {
  const float bias = finish.bias == nullptr ? 0 : finish.bias[channel];
  UNROLL
  for (float& sum : sums) {
    sum += bias;
    if (finish.relu && sum < 0) sum = 0;
  }
}

}  // namespace
}  // namespace convscope::CONVSCOPE_KERNELS

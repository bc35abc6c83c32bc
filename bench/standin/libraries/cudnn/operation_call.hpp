// What the stand-in's operations between convolutions have in common: their tensors, dense f32 in nchw, and
// how a call of the legacy API is checked and enqueued.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>

#include "bench/standin/libraries/cudnn/legacy_descriptors.hpp"

namespace convscope::standin {

struct Scales {
  double alpha, beta;
};

// alpha * value + beta * what was there, which with beta 0 is not read.
inline void put(float& to, double value, const Scales& scales) {
  to = static_cast<float>(scales.alpha * value + (scales.beta == 0 ? 0 : scales.beta * to));
}

// What was set, which is looked at before anybody checks that there is a descriptor.
template <typename Descriptor>
Descriptor set_in(const Descriptor* descriptor) {
  return descriptor == nullptr ? Descriptor{} : *descriptor;
}
inline std::array<int64_t, 4> sizes(const cudnnTensorStruct* tensor) {
  return set_in(tensor).view.shape.size;
}

// The sizes of a tensor and where it is.
template <typename T>
struct Tensor {
  int64_t pixels() const { return h * w; }
  int64_t elements() const { return n * c * h * w; }
  int64_t n, c, h, w;
  T* data;
};
using In = Tensor<const float>;
using Out = Tensor<float>;

inline In in(const cudnnTensorStruct* descriptor, const void* at) {
  const auto [n, c, h, w] = sizes(descriptor);
  return {n, c, h, w, static_cast<const float*>(at)};
}
inline Out out(const cudnnTensorStruct* descriptor, void* at) {
  const auto [n, c, h, w] = sizes(descriptor);
  return {n, c, h, w, static_cast<float*>(at)};
}

struct Call {
  const char* function;
  cudnnHandle_t handle;
  std::initializer_list<cudnnTensorDescriptor_t> tensors;
  std::initializer_list<const void*> pointers;  // alpha and beta are the first two
  bool is_described = true;                     // what else has a descriptor was set
  bool fits = true;                             // the tensors' sizes belong together
};

// Checks the call, and enqueues `work` with its alpha and beta on the handle's stream; or says why not.
cudnnStatus_t run(const Call& call, std::function<void(Scales)> work);

inline bool same(const cudnnTensorStruct* a, const cudnnTensorStruct* b) {
  return sizes(a) == sizes(b);
}
inline bool is_one_a_channel(const cudnnTensorStruct* bias, const cudnnTensorStruct* of) {
  return sizes(bias) == std::array<int64_t, 4>{1, sizes(of)[1], 1, 1};
}
// Each place of a channel, in all images.
template <typename Visit>
void for_channel(const In& of, int64_t channel, const Visit& visit) {
  for (int64_t n = 0; n < of.n; ++n)
    for (int64_t i = 0; i < of.pixels(); ++i) visit((n * of.c + channel) * of.pixels() + i);
}

}  // namespace convscope::standin

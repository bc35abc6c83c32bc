// Functions that come with kernels exist in two builds under one name: in namespace cuda by nvcc, in
// namespace emulated by the C++ compiler for the emulator, both from the same source
// (bench/device/kernel/kernel.hpp). This declares them once, and takes the one that a device runs:
//
//   CONVSCOPE_IN_BOTH(void enqueue_scale(std::span<float>, float factor, Queue&);)
//   CONVSCOPE_BUILDS(enqueue_scale).of(device.info().kind)(values, factor, queue);
//
// Without nvcc those of namespace cuda are declared alone. The only CUDA device is then the stand-in's, which
// runs the emulator's. Only for targets with kernels: scripts/cmake tells those that there is nvcc.
#pragma once

#include "bench/core/device_info.hpp"

namespace convscope {

template <typename Function>
struct Builds {
  Function gpu, emulator;

  // Of a device that runs kernels: the CPU's has none.
  constexpr Function of(DeviceKind kind) const { return kind == DeviceKind::cuda ? gpu : emulator; }
};

}  // namespace convscope

// Declarations, in namespace convscope.
#define CONVSCOPE_IN_BOTH(...) \
  namespace cuda {             \
  __VA_ARGS__                  \
  }                            \
  namespace emulated {         \
  __VA_ARGS__                  \
  }

#if defined(CONVSCOPE_HAS_CUDA)
#define CONVSCOPE_GPU_BUILD cuda
#else
#define CONVSCOPE_GPU_BUILD emulated
#endif
// Both builds of a function that is not overloaded.
#define CONVSCOPE_BUILDS(function)                                  \
  (::convscope::Builds<decltype(&::convscope::emulated::function)>{ \
      &::convscope::CONVSCOPE_GPU_BUILD::function, &::convscope::emulated::function})

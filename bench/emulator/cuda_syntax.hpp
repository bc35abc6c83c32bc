// CUDA's keywords, launch() and dynamic_smem() for g++: how a .cu file becomes plain C++ that runs on the
// executor. Included by bench/device/kernel/kernel.hpp only. The macros are CUDA's keywords.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "bench/emulator/builtins.hpp"
#include "bench/emulator/executor.hpp"
#include "bench/emulator/half.hpp"
#include "bench/emulator/vector_types.hpp"

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

// Static shared memory is storage of the kernel function. All of it lies in one linker section, which the
// executor fills with NaN before each block and in which the address sanitizer puts red zones. Under the
// thread sanitizer a block has an OS thread of its own, and so a copy of its own.
#if defined(CONVSCOPE_EMULATOR_TSAN)
#define __shared__ static thread_local
#else
#define __shared__ static __attribute__((section("convscope_shared")))
#endif

#define threadIdx \
  (static_cast<const ::convscope::emulated::uint3&>(::convscope::emulated::executor::current_thread->index))
#define blockIdx \
  (static_cast<const ::convscope::emulated::uint3&>(::convscope::emulated::executor::current_block->index))
#define blockDim \
  (static_cast<const ::convscope::emulated::dim3&>(::convscope::emulated::executor::current_block->block))
#define gridDim \
  (static_cast<const ::convscope::emulated::dim3&>(::convscope::emulated::executor::current_block->grid))

namespace convscope::emulated {

// Exactly the bytes that the launch asked for, aligned to 1024.
template <typename T>
T* dynamic_smem() {
  return reinterpret_cast<T*>(executor::current_block->dynamic_smem);
}

namespace executor {
template <typename T>
const void* pointer_or_null(const T& argument) {
  if constexpr (std::is_pointer_v<T>)
    return argument;
  else
    return nullptr;
}
}  // namespace executor

// Runs the kernel to its end; on a queue of CudaDevice enqueues it (bench/device/cuda/emulated_launch.hpp).
// Throws DeviceError that names this call's file and line.
template <typename... P>
void launch(void (*kernel)(P...), LaunchGrid<dim3> grid, dim3 block, size_t smem_bytes, Queue& queue,
            std::type_identity_t<P>... arguments) {
  const void* const pointers[] = {nullptr, executor::pointer_or_null(arguments)...};
  executor::run(reinterpret_cast<const void*>(kernel), grid, block, smem_bytes, queue, pointers,
                [=] { kernel(arguments...); });
}

}  // namespace convscope::emulated

#include <atomic>
#include <thread>

#include "bench/device/cuda/blocker.hpp"
#include "bench/standin/kernels.hpp"

namespace convscope::cuda {
namespace {

std::string spin(int* released, int* timed_out, std::chrono::nanoseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::atomic_ref(*released).load(std::memory_order_acquire) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      std::atomic_ref(*timed_out).store(1, std::memory_order_release);
      break;
    }
    std::this_thread::yield();
  }
  return "";
}

}  // namespace

const void* blocker_kernel() {
  const auto* function = reinterpret_cast<const void*>(spin);
  standin::register_host_kernel(function, "blocker_kernel");
  return function;
}

void enqueue_blocker_kernel(cudaStream_t stream, int* released, int* timed_out,
                            std::chrono::nanoseconds limit) {
  standin::HostLaunch launch{.pointers = {released, timed_out},
                             .run = [=] { return spin(released, timed_out, limit); },
                             .waits_for_host = true};
  void* arguments[] = {&launch};
  cudaLaunchKernel(blocker_kernel(), 1, 1, arguments, 0, stream);
}

}  // namespace convscope::cuda

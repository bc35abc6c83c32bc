// The load's kernel as a function of the host, which copies until the host says so.
#include "bench/device/cuda/memory_load_kernel.hpp"

#include <atomic>
#include <cstring>
#include <thread>

#include "bench/core/stopwatch.hpp"
#include "bench/standin/kernels.hpp"

namespace convscope::cuda {
namespace {

std::string copy_at_rate(const LoadPlan& plan, LoadFlags& said) {
  const auto begin = Clock::now();
  std::atomic_ref(said.copies).store(1, std::memory_order_release);
  for (int64_t place = 0; std::atomic_ref(said.over).load(std::memory_order_acquire) == 0;) {
    const double elapsed = 1e9 * seconds_since(begin);
    if (elapsed > static_cast<double>(plan.limit_nanoseconds)) {
      said.timed_out = 1;
      break;
    }
    if (elapsed < static_cast<double>(said.chunks * plan.chunk_nanoseconds)) {
      std::this_thread::yield();
      continue;
    }
    std::memcpy(plan.to + place, plan.from + place, kLoadChunk * sizeof(LoadValue));
    ++said.chunks;
    place = place + kLoadChunk < plan.values ? place + kLoadChunk : 0;
  }
  return "";
}

}  // namespace

const void* load_kernel() {
  const auto* function = reinterpret_cast<const void*>(copy_at_rate);
  standin::register_host_kernel(function, "copy_at_rate");
  return function;
}

void enqueue_load_kernel(cudaStream_t stream, int64_t shared_bytes, const LoadPlan& plan, LoadFlags* flags) {
  standin::HostLaunch launch{.pointers = {plan.to, plan.from, flags},
                             .run = [=] { return copy_at_rate(plan, *flags); },
                             .waits_for_host = true};
  void* arguments[] = {&launch};
  cudaLaunchKernel(load_kernel(), 1, kLoadThreads, arguments, static_cast<size_t>(shared_bytes), stream);
}

}  // namespace convscope::cuda

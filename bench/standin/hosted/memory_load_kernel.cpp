// The load's kernel as a function of the host: the emulator runs the blocks of a grid one after the other,
// and each of them copies until all are told to end.
#include "bench/device/cuda/memory_load_kernel.hpp"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/core/stopwatch.hpp"
#include "bench/standin/kernels.hpp"

namespace convscope::cuda {
namespace {

void copy_part(const LoadPlan& plan, LoadFlags& flags, int block, int blocks) {
  LoadFlags::Block& mine = flags.blocks[block];
  const int64_t part = plan.values / blocks / kLoadChunk * kLoadChunk;
  const auto begin = Clock::now();
  std::atomic_ref(mine.copies).store(1, std::memory_order_release);
  for (int64_t place = 0; std::atomic_ref(flags.over).load(std::memory_order_acquire) == 0;) {
    const double elapsed = 1e9 * seconds_since(begin);
    if (elapsed > static_cast<double>(plan.limit_nanoseconds)) {
      mine.timed_out = 1;
      return;
    }
    if (elapsed < static_cast<double>(mine.chunks * plan.chunk_nanoseconds)) {
      std::this_thread::yield();
      continue;
    }
    const int64_t at = part * block + place;
    std::memcpy(plan.to + at, plan.from + at, kLoadChunk * sizeof(LoadValue));
    ++mine.chunks;
    place = place + kLoadChunk < part ? place + kLoadChunk : 0;
  }
}

std::string copy_at_rate(const LoadPlan& plan, LoadFlags& flags, int blocks) {
  std::vector<std::thread> threads;
  for (int block = 0; block < blocks; ++block)
    threads.emplace_back([&, block] { copy_part(plan, flags, block, blocks); });
  for (std::thread& thread : threads) thread.join();
  return "";
}

}  // namespace

const void* load_kernel() {
  const auto* function = reinterpret_cast<const void*>(copy_at_rate);
  standin::register_host_kernel(function, "copy_at_rate");
  return function;
}

void enqueue_load_kernel(cudaStream_t stream, int blocks, int64_t shared_bytes, const LoadPlan& plan,
                         LoadFlags* flags) {
  standin::HostLaunch launch{.pointers = {plan.to, plan.from, flags},
                             .run = [=] { return copy_at_rate(plan, *flags, blocks); },
                             .waits_for_host = true};
  void* arguments[] = {&launch};
  cudaLaunchKernel(load_kernel(), static_cast<unsigned>(blocks), kLoadThreads, arguments,
                   static_cast<size_t>(shared_bytes), stream);
}

}  // namespace convscope::cuda

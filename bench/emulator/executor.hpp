// What the emulated device functions need of the executor: who runs, barriers, warp collectives, asynchronous
// work, and the way out with an error. Not for kernels. The executor itself is block_runner.hpp;
// docs/emulator.md tells how it works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/device/kernel/call_site.hpp"
#include "bench/emulator/vector_types.hpp"

// Plumbing that the thread sanitizer must not look at, in templates that are instantiated in kernel files.
#define CONVSCOPE_UNWATCHED __attribute__((no_sanitize("thread"), noinline))

namespace convscope::emulated::executor {

struct ThreadContext {
  uint3 index{};
  unsigned linear = 0, lane = 0, warp = 0;
};
struct BlockContext {
  uint3 index{};
  dim3 block, grid;
  unsigned char* dynamic_smem = nullptr;
  size_t dynamic_smem_bytes = 0;
};
extern constinit thread_local ThreadContext* current_thread;
extern constinit thread_local BlockContext* current_block;

// Ends the launch with a DeviceError that names the launch, `text`, the place, the block and the thread.
[[noreturn]] void fail(const std::string& text, const CallSite& site);

// All of the block, or `threads` of it, wait for each other at barrier `id`. Barrier 0 also demands that they
// come from one place.
void block_barrier(int id, unsigned threads, const char* operation, const CallSite& site);

// The lanes of `mask` wait for each other; the last one calls combine(arguments by lane, mask) for all. Only
// `orders_memory` makes their earlier writes visible to the thread sanitizer.
using Combine = void (*)(void* const* arguments, unsigned mask, const CallSite& site);
void join_warp(unsigned mask, void* argument, Combine combine, bool orders_memory, const char* operation,
               const CallSite& site);

// One turn of a spin wait; reports a livelock when nobody makes progress.
void spin(const char* operation, const CallSite& site);
void note_progress();
// In random order, lets other threads overtake here.
void maybe_overtake();
// Runs while some thread spins: the copy engine. The block must not end before.
void run_later(std::function<void()> work);

// A thread's own asynchronous operations: issued, closed into groups, handed back at the wait for the caller
// to do. The result lives until the thread's next call of the same function.
struct Copy {
  unsigned char* to;
  const unsigned char* from;
  unsigned bytes, valid;
};
void issue_copy(const Copy&);
void commit_copies();
const std::vector<Copy>& finish_copies(unsigned keep_groups);

// A wgmma. A fence must precede the first one of each group.
struct WarpgroupProduct {
  void (*run)(const WarpgroupProduct&);
  float* d;
  uint64_t a, b;
  bool accumulate;
  CallSite site;
};
void fence_products();
void issue_product(const WarpgroupProduct&);
void commit_products();
const std::vector<WarpgroupProduct>& finish_products(unsigned keep_groups);

// Barriers that this thread has set up and not fenced yet; take_unfenced() forgets them.
void remember_unfenced(uint64_t* barrier);
std::vector<uint64_t*> take_unfenced();

// Runs body(), which calls `kernel`, once for each thread of the grid. `pointers` are the kernel's pointer
// arguments. Throws DeviceError.
void run(const void* kernel, const LaunchGrid<dim3>& grid, dim3 block, size_t smem_bytes, Queue& queue,
         std::span<const void* const> pointers, const std::function<void()>& body);

}  // namespace convscope::emulated::executor

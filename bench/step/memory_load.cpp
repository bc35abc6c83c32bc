#include "bench/step/memory_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/core/error.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

constexpr int64_t kChunk = int64_t{1} << 16;        // values copied between two looks at the clock
constexpr int64_t kMostBytes = int64_t{256} << 20;  // of a buffer

double now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

MemoryLoad::MemoryLoad(const LoadRate& rate, int compute_threads, const DeviceInfo& device)
    : rate_(rate), compute_threads_(compute_threads) {
  if (compute_threads + rate.threads > device.cores)
    throw UsageError(
        fmt::format("a load on {} thread{} beside {} needs as many cores, and this process may use {}; "
                    "take fewer --threads",
                    rate.threads, rate.threads == 1 ? "" : "s", compute_threads, device.cores));
  const int64_t bytes = std::min(std::max<int64_t>(2 * device.llc_bytes, 64 << 20), kMostBytes);
  values_ = std::max(kChunk, bytes / static_cast<int64_t>(sizeof(float)) / kChunk * kChunk);
  for (int i = 0; i < rate.threads; ++i) threads_.emplace_back([this, i] { run(i); });
}

MemoryLoad::~MemoryLoad() {
  is_over_ = true;
  is_on_ = true;
  is_on_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void MemoryLoad::start() {
  begin_ = now();
  is_on_ = true;
  is_on_.notify_all();
  while (copying_ < rate_.threads) std::this_thread::yield();
}

void MemoryLoad::stop() {
  is_on_ = false;
  while (copying_ > 0) std::this_thread::yield();
  seconds_ += now() - begin_;
}

double MemoryLoad::measured_rate() const {
  return seconds_ > 0 ? static_cast<double>(bytes_) / seconds_ : 0;
}

void MemoryLoad::run(int thread) {
  pin_this_thread(compute_threads_ + thread);
  std::vector<float> from(static_cast<size_t>(values_), 1.0F), to(from.size());
  const double share = rate_.bytes_per_second / rate_.threads;
  constexpr auto bytes = static_cast<int64_t>(2 * kChunk * sizeof(float));  // read and written
  int64_t place = 0;
  while (true) {
    is_on_.wait(false);
    if (is_over_) return;
    ++copying_;
    const double begin = now();
    for (int64_t done = 0; is_on_ && !is_over_;) {
      if (static_cast<double>(done) > share * (now() - begin)) continue;  // ahead of its rate
      std::memcpy(to.data() + place, from.data() + place, static_cast<size_t>(kChunk) * sizeof(float));
      asm volatile("" : : "r"(to.data()) : "memory");  // the copy is wanted
      place = (place + kChunk) % values_;
      done += bytes;
      bytes_ += bytes;
    }
    --copying_;
  }
}

}  // namespace convscope

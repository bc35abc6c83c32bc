#include "bench/device/memory_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/core/counted.hpp"
#include "bench/core/error.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/cuda/cuda.hpp"

namespace convscope {
namespace {

constexpr int64_t kChunk = int64_t{1} << 16;       // values copied between two looks at the clock
constexpr int64_t kMaxBytes = int64_t{256} << 20;  // of a buffer

class ThreadLoad final : public MemoryLoad {
 public:
  ThreadLoad(const LoadRate& rate, int compute_threads, const DeviceInfo& device)
      : rate_(rate), compute_threads_(compute_threads) {
    if (compute_threads + rate.units > device.cores)
      throw UsageError(
          fmt::format("a load on {} beside {} needs as many cores, and this process may use {}; "
                      "take fewer --threads",
                      counted(rate.units, "thread"), compute_threads, device.cores));
    const int64_t bytes = std::min(std::max<int64_t>(2 * device.llc_bytes, 64 << 20), kMaxBytes);
    values_ = std::max(kChunk, bytes / static_cast<int64_t>(sizeof(float)) / kChunk * kChunk);
    for (int i = 0; i < rate.units; ++i)  // their pages are a thread's to touch first
      buffers_.emplace_back(new float[2 * static_cast<size_t>(values_)]);
    for (int i = 0; i < rate.units; ++i) threads_.emplace_back([this, i] { run(i); });
    while (ready_ < rate.units) std::this_thread::yield();
  }
  ~ThreadLoad() override {
    is_over_ = true;
    is_on_ = true;
    is_on_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void start() override {
    watch_ = Clock::now();
    is_on_ = true;
    is_on_.notify_all();
    while (copying_ < rate_.units) std::this_thread::yield();
  }
  void stop() override {
    is_on_ = false;
    while (copying_ > 0) std::this_thread::yield();
    seconds_ += seconds_since(watch_);
  }
  double measured_rate() const override { return seconds_ > 0 ? static_cast<double>(bytes_) / seconds_ : 0; }

 private:
  void run(int thread) {
    pin_this_thread(compute_threads_ + thread);
    float* const from = buffers_[static_cast<size_t>(thread)].get();
    float* const to = from + values_;
    std::fill(from, to + values_, 1.0F);
    ++ready_;
    const double share = rate_.bytes_per_second / rate_.units;
    constexpr auto bytes = static_cast<int64_t>(2 * kChunk * sizeof(float));  // read and written
    int64_t place = 0;
    while (true) {
      is_on_.wait(false);
      if (is_over_) return;
      ++copying_;
      const auto begin = Clock::now();
      for (int64_t done = 0; is_on_ && !is_over_;) {
        if (static_cast<double>(done) > share * seconds_since(begin)) continue;  // ahead of its rate
        std::memcpy(to + place, from + place, static_cast<size_t>(kChunk) * sizeof(float));
        asm volatile("" : : "r"(to) : "memory");  // the copy is wanted
        place = (place + kChunk) % values_;
        done += bytes;
        bytes_ += bytes;
      }
      --copying_;
    }
  }

  LoadRate rate_;
  int compute_threads_;
  int64_t values_;                                 // of a thread's buffer
  std::vector<std::unique_ptr<float[]>> buffers_;  // of each thread one to copy from and one to copy to
  std::atomic<bool> is_on_{false}, is_over_{false};
  std::atomic<int> ready_{0}, copying_{0};
  std::atomic<int64_t> bytes_{0};
  double seconds_ = 0;       // on, so far
  Clock::time_point watch_;  // since when it is on
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<MemoryLoad> make_memory_load(const LoadRate& rate, int compute_threads, Device& device) {
  if (device.info().kind == DeviceKind::cuda) return cuda::make_memory_load(rate, device);
  return std::make_unique<ThreadLoad>(rate, compute_threads, device.info());
}

}  // namespace convscope

// A load of a GPU's memory. Its blocks ask for all the shared memory of a multiprocessor, of which each other
// block would need 1 KiB at least (CUDA C++ Programming Guide, compute capability 8.x and 9.0), so that
// nothing runs beside them.
#include "bench/device/memory_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "bench/core/error.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cuda/check.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/device/cuda/handles.hpp"
#include "bench/device/cuda/memory_load_kernel.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cuda {
namespace {

constexpr int64_t kSystemShared = 1 << 10;  // of each block, in bytes
constexpr int64_t kMinBytes = int64_t{64} << 20;
// Longer than any candidate runs; the host has long been gone when a load ends by itself.
constexpr std::chrono::seconds kLimit{30};

class DeviceLoad final : public MemoryLoad {
 public:
  DeviceLoad(const LoadRate& rate, Device& device) : blocks_(rate.units) {
    if (blocks_ >= device.info().cores)
      throw UsageError(
          fmt::format("a load on {} multiprocessors leaves none of the {} of {} to what runs beside it",
                      blocks_, device.info().cores, device.info().name));
    constexpr auto chunk_bytes = static_cast<int64_t>(kLoadChunk * sizeof(LoadValue));
    const int64_t chunks = std::max(2 * device.info().llc_bytes, kMinBytes) / chunk_bytes / blocks_ + 1;
    const int64_t bytes = chunks * blocks_ * chunk_bytes;
    memory_ = Buffer(device, static_cast<size_t>(2 * bytes));
    device.fill(memory_.data(), 0, memory_.bytes());
    const double share = rate.bytes_per_second / blocks_;
    plan_ = {memory_.as<LoadValue>(), memory_.as<LoadValue>() + bytes / sizeof(LoadValue),
             bytes / static_cast<int64_t>(sizeof(LoadValue)),
             static_cast<uint64_t>(std::llround(1e9 * kChunkTraffic / share)),
             static_cast<uint64_t>(std::chrono::nanoseconds(kLimit).count())};
    allow_all_shared_memory(device);
    flags_ = make_pinned_memory(sizeof(LoadFlags) + sizeof(LoadFlags::Block) * static_cast<size_t>(blocks_));
    stream_ = make_stream();
  }
  ~DeviceLoad() override {
    set_over();
    if (is_on_) cudaStreamSynchronize(stream_.get());  // its flags are about to be freed
  }

  void start() override {
    host().over = 0;
    std::fill_n(host().blocks, blocks_, LoadFlags::Block{});
    void* device_view = nullptr;
    check(cudaHostGetDevicePointer(&device_view, flags_.get(), 0), "cudaHostGetDevicePointer");
    enqueue_load_kernel(stream_.get(), blocks_, shared_bytes_, plan_, static_cast<LoadFlags*>(device_view));
    check_launch(cudaGetLastError(), load_kernel(), CallSite::current());
    is_on_ = true;
    for (int block = 0; block < blocks_; ++block)
      while (std::atomic_ref(host().blocks[block].copies).load(std::memory_order_acquire) == 0) {
        const cudaError_t state = cudaStreamQuery(stream_.get());
        if (state == cudaErrorNotReady) continue;
        check(state, "cudaStreamQuery");
        if (host().blocks[block].copies == 0) throw DeviceError("the load ended before it copied anything");
      }
    begin_ = Clock::now();
  }
  void stop() override {
    const double seconds = seconds_since(begin_);
    set_over();
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    is_on_ = false;
    seconds_ += seconds;
    for (int block = 0; block < blocks_; ++block) {
      if (host().blocks[block].timed_out != 0)
        throw DeviceError(
            fmt::format("the load ended after {} s, before what ran beside it", kLimit.count()));
      bytes_ += kChunkTraffic * static_cast<double>(host().blocks[block].chunks);
    }
  }
  double measured_rate() const override { return seconds_ > 0 ? bytes_ / seconds_ : 0; }

 private:
  static constexpr double kChunkTraffic = 2.0 * kLoadChunk * sizeof(LoadValue);  // bytes read and written

  // Loads the kernel, too, as a first launch would only once the device is idle.
  void allow_all_shared_memory(const Device& device) {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, load_kernel()), "cudaFuncGetAttributes");
    shared_bytes_ = device.info().l1_bytes - kSystemShared - static_cast<int64_t>(attributes.sharedSizeBytes);
    check(cudaFuncSetAttribute(load_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes_)),
          "cudaFuncSetAttribute");
  }
  LoadFlags& host() const { return *static_cast<LoadFlags*>(flags_.get()); }
  void set_over() { std::atomic_ref(host().over).store(1, std::memory_order_release); }

  int blocks_;
  Buffer memory_;  // both buffers
  LoadPlan plan_{};
  int64_t shared_bytes_ = 0;
  PinnedMemory flags_;
  Stream stream_;
  bool is_on_ = false;
  Clock::time_point begin_;
  double seconds_ = 0, bytes_ = 0;  // on, so far
};

}  // namespace

std::unique_ptr<MemoryLoad> make_memory_load(const LoadRate& rate, Device& device) {
  return std::make_unique<DeviceLoad>(rate, device);
}

}  // namespace convscope::cuda

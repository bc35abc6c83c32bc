// A load of a GPU's memory: a kernel of one block for each multiprocessor, on a stream of its own. The block
// asks for all the shared memory of a multiprocessor, of which any other block would need 1 KiB at least
// (CUDA C++ Programming Guide, compute capability 8.x and 9.0), so that nothing runs beside it.
#include "bench/device/memory_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

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
constexpr int kMaxGrids = 128;  // that run at a time (the same guide, table of technical specifications)
// Longer than any candidate runs; the host has long been gone when a load ends by itself.
constexpr std::chrono::seconds kLimit{30};

class DeviceLoad final : public MemoryLoad {
 public:
  DeviceLoad(const LoadRate& rate, Device& device) : kernels_(static_cast<size_t>(rate.units)) {
    const int most = std::min(device.info().cores, kMaxGrids) - 1;
    if (rate.units > most)
      throw UsageError(
          fmt::format("a load on {} multiprocessors leaves nothing of {} to what runs beside it; "
                      "at most {} of its {} can be loaded",
                      rate.units, device.info().name, most, device.info().cores));
    constexpr auto chunk_bytes = static_cast<int64_t>(kLoadChunk * sizeof(LoadValue));
    const int64_t chunks = std::max(2 * device.info().llc_bytes, kMinBytes) / chunk_bytes / rate.units + 1;
    const int64_t values = chunks * kLoadChunk;  // of a kernel, of either buffer
    memory_ = Buffer(device, 2 * kernels_.size() * static_cast<size_t>(chunks * chunk_bytes));
    device.fill(memory_.data(), 0, memory_.bytes());
    const double share = rate.bytes_per_second / rate.units;
    flags_ = make_pinned_memory(sizeof(LoadFlags) * kernels_.size());
    void* device_view = nullptr;
    check(cudaHostGetDevicePointer(&device_view, flags_.get(), 0), "cudaHostGetDevicePointer");
    for (size_t i = 0; i < kernels_.size(); ++i) {
      auto* const part = memory_.as<LoadValue>() + 2 * values * static_cast<int64_t>(i);
      kernels_[i] = {
          make_stream(),
          {part, part + values, values, static_cast<uint64_t>(std::llround(1e9 * kChunkTraffic / share)),
           static_cast<uint64_t>(std::chrono::nanoseconds(kLimit).count())},
          static_cast<LoadFlags*>(flags_.get()) + i,
          static_cast<LoadFlags*>(device_view) + i};
    }
    allow_all_shared_memory(device);
  }
  ~DeviceLoad() override {
    if (is_on_) end();  // the flags are about to be freed
  }

  void start() override {
    is_on_ = true;
    for (const Kernel& kernel : kernels_) {
      *kernel.flags = {};
      enqueue_load_kernel(kernel.stream.get(), shared_bytes_, kernel.plan, kernel.flags_on_device);
      check_launch(cudaGetLastError(), load_kernel(), CallSite::current());
    }
    for (const Kernel& kernel : kernels_) wait_until_it_copies(kernel);
    begin_ = Clock::now();
  }
  void stop() override {
    const double seconds = seconds_since(begin_);
    const cudaError_t state = end();
    is_on_ = false;
    check(state, "cudaStreamSynchronize");
    seconds_ += seconds;
    for (const Kernel& kernel : kernels_) {
      if (kernel.flags->timed_out != 0)
        throw DeviceError(
            fmt::format("the load ended after {} s, before what ran beside it", kLimit.count()));
      bytes_ += kChunkTraffic * static_cast<double>(kernel.flags->chunks);
    }
  }
  double measured_rate() const override { return seconds_ > 0 ? bytes_ / seconds_ : 0; }

 private:
  static constexpr double kChunkTraffic = 2.0 * kLoadChunk * sizeof(LoadValue);  // bytes read and written

  struct Kernel {
    Stream stream;
    LoadPlan plan;
    LoadFlags *flags, *flags_on_device;
  };

  // Loads the kernel, too, as a first launch would only once the device is idle.
  void allow_all_shared_memory(const Device& device) {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, load_kernel()), "cudaFuncGetAttributes");
    shared_bytes_ = device.info().l1_bytes - kSystemShared - static_cast<int64_t>(attributes.sharedSizeBytes);
    check(cudaFuncSetAttribute(load_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes_)),
          "cudaFuncSetAttribute");
  }
  static void wait_until_it_copies(const Kernel& kernel) {
    const std::atomic_ref copies(kernel.flags->copies);
    while (copies.load(std::memory_order_acquire) == 0) {
      const cudaError_t state = cudaStreamQuery(kernel.stream.get());
      if (state == cudaErrorNotReady) continue;
      check(state, "cudaStreamQuery");
      if (copies.load(std::memory_order_acquire) == 0)
        throw DeviceError("the load ended before it copied anything");
    }
  }
  // Returns when no kernel runs any more; the first error of a stream.
  cudaError_t end() {
    for (const Kernel& kernel : kernels_)
      std::atomic_ref(kernel.flags->over).store(1, std::memory_order_release);
    cudaError_t first = cudaSuccess;
    for (const Kernel& kernel : kernels_) {
      const cudaError_t state = cudaStreamSynchronize(kernel.stream.get());
      if (first == cudaSuccess) first = state;
    }
    return first;
  }

  std::vector<Kernel> kernels_;
  Buffer memory_;  // both buffers of each
  PinnedMemory flags_;
  int64_t shared_bytes_ = 0;
  bool is_on_ = false;
  Clock::time_point begin_;
  double seconds_ = 0, bytes_ = 0;  // on, so far
};

}  // namespace

std::unique_ptr<MemoryLoad> make_memory_load(const LoadRate& rate, Device& device) {
  return std::make_unique<DeviceLoad>(rate, device);
}

}  // namespace convscope::cuda

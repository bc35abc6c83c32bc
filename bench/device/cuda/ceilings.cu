// The measured ceilings of a GPU: every kernel here does one thing as fast as it goes, and nothing useful.
// Start at measure_ceilings().
#include <algorithm>
#include <functional>
#include <limits>

#include "bench/device/buffer.hpp"
#include "bench/device/cuda/ceiling_values.cuh"
#include "bench/device/cuda/ceilings.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerCore = 8;
constexpr int kRepetitions = 5;

// 16 independent chains of multiply-adds a thread; the store is never done and keeps the work alive. A factor
// of nearly -1 makes each chain alternate between two values, which approach each other by half in 45,000
// steps: bits change at every step, and nothing grows.
constexpr int kChains = 16;
__global__ void __launch_bounds__(kThreads) multiply_add(float* sink, float factor, int steps) {
  const uint32_t self = (blockIdx.x * kThreads + threadIdx.x) * 2 * kChains;
  float sums[kChains], addends[kChains];
  UNROLL
  for (int i = 0; i < kChains; ++i) {
    sums[i] = scattered_value(self + 2 * i);
    addends[i] = scattered_value(self + 2 * i + 1);
  }
  for (int step = 0; step < steps; ++step) {
    UNROLL
    for (int i = 0; i < kChains; ++i) sums[i] = fmaf(sums[i], factor, addends[i]);
  }
  float total = 0;
  UNROLL
  for (int i = 0; i < kChains; ++i) total += sums[i];
  if (total == 12345.678f) *sink = total;
}
constexpr float kFactor = -1 + 0x1p-16f;

// 8 independent accumulators a warp, each with an A of its own.
constexpr int kTiles = 8;
template <typename Element>
__global__ void __launch_bounds__(kThreads) tensor_multiply_add(float* sink, int steps) {
  const uint32_t self = (blockIdx.x * kThreads + threadIdx.x) * (4 * kTiles + 2);
  float sums[kTiles][4] = {};
  uint32_t a[kTiles][4];
  UNROLL
  for (int i = 0; i < kTiles; ++i) {
    UNROLL
    for (int j = 0; j < 4; ++j) a[i][j] = scattered_operands<Element>(self + 4 * i + j);
  }
  const uint32_t b[2] = {scattered_operands<Element>(self + 4 * kTiles),
                         scattered_operands<Element>(self + 4 * kTiles + 1)};
  for (int step = 0; step < steps; ++step) {
    UNROLL
    for (int i = 0; i < kTiles; ++i)
      if constexpr (std::is_same_v<Element, float>)
        mma_m16n8k8_tf32(sums[i], a[i], b, sums[i]);
      else
        mma_m16n8k16<Element>(sums[i], a[i], b, sums[i]);
  }
  float total = 0;
  UNROLL
  for (int i = 0; i < kTiles; ++i) total += sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];
  if (total == 12345.678f) *sink = total;
}

__global__ void scatter(float4* to, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const auto index = static_cast<uint32_t>(4 * i);
    to[i] = {scattered_value(index), scattered_value(index + 1), scattered_value(index + 2),
             scattered_value(index + 3)};
  }
}

// Consecutive threads take consecutive 16 bytes.
__global__ void copy(float4* to, const float4* from, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = from[i];
}

// Reads the whole of `from` `times` times. Each block begins elsewhere every time, so that L1 does not serve
// it.
__global__ void read(float* sink, const float4* from, int64_t count, int times) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t self = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float total = 0;
  for (int time = 0; time < times; ++time) {
    const int64_t first = (self + static_cast<int64_t>(time) * 97 * blockDim.x) % threads;
    for (int64_t i = first; i < count; i += threads) {
      const float4 value = __ldcg(from + i);
      total += value.x + value.y + value.z + value.w;
    }
  }
  if (total == 12345.678f) *sink = total;
}

// The shortest of several runs, after one that is not timed.
double best_seconds(Queue& queue, const std::function<void()>& run) {
  run();
  queue.synchronize();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepetitions; ++i) {
    queue.begin_timing();
    run();
    best = std::min(best, queue.end_timing().seconds);
  }
  return best;
}

class Bench {
 public:
  explicit Bench(Device& device)
      : device_(device),
        queue_(device.make_queue()),
        sink_(device, sizeof(float)),
        blocks_(static_cast<unsigned>(device.info().cores * kBlocksPerCore)) {}

  double fma_flops() {
    constexpr int steps = 8192;
    const double seconds = best_seconds(*queue_, [&] { enqueue_multiply_adds(steps); });
    return 2.0 * kChains * steps * kThreads * blocks_ / seconds;
  }

  // Of mma.sync with sums in FP32.
  template <typename Element>
  double tensor_flops() {
    constexpr int steps = 4096;
    constexpr double flops_per_tile = 2.0 * 16 * 8 * (std::is_same_v<Element, float> ? 8 : 16);
    const double seconds = best_seconds(*queue_, [&] {
      launch(tensor_multiply_add<Element>, blocks_, kThreads, 0, *queue_, sink_.as<float>(), steps);
    });
    return flops_per_tile * kTiles * steps * (kThreads / 32) * blocks_ / seconds;
  }

  void memory(Ceilings& ceilings) {
    const DeviceInfo& info = device_.info();
    const int64_t bytes =
        std::min(std::max<int64_t>(4 * info.llc_bytes, int64_t{256} << 20), info.memory_bytes / 8) / 16 * 16;
    const Buffer from(device_, static_cast<size_t>(bytes)), to(device_, static_cast<size_t>(bytes));
    const int64_t count = bytes / 16;
    scatter_values(from);
    const double copied = best_seconds(*queue_, [&] {
      launch(copy, blocks_, kThreads, 0, *queue_, to.as<float4>(), from.as<float4>(), count);
    });
    ceilings.copy_bytes = 2.0 * static_cast<double>(bytes) / copied;
    ceilings.read_bytes = read_rate(from, bytes, 1);
  }

  // A third of L2, which fits however the hardware splits it.
  double cache_rate() {
    const int64_t bytes = std::max<int64_t>(device_.info().llc_bytes / 3 / 16 * 16, 4096);
    const Buffer values(device_, static_cast<size_t>(bytes));
    scatter_values(values);
    return read_rate(values, bytes, static_cast<int>(std::max<int64_t>((int64_t{1} << 30) / bytes, 1)));
  }

  void enqueue_multiply_adds(int steps) {
    launch(multiply_add, blocks_, kThreads, 0, *queue_, sink_.as<float>(), kFactor, steps);
  }
  Queue& queue() { return *queue_; }

 private:
  void scatter_values(const Buffer& values) {
    launch(scatter, blocks_, kThreads, 0, *queue_, values.as<float4>(),
           static_cast<int64_t>(values.bytes() / sizeof(float4)));
  }

  double read_rate(const Buffer& from, int64_t bytes, int times) {
    const double seconds = best_seconds(*queue_, [&] {
      launch(read, blocks_, kThreads, 0, *queue_, sink_.as<float>(), from.as<float4>(), bytes / 16, times);
    });
    return static_cast<double>(bytes) * times / seconds;
  }

  Device& device_;
  std::unique_ptr<Queue> queue_;
  Buffer sink_;
  unsigned blocks_;
};

// "sm_90" -> 90.
int capability(const DeviceInfo& info) {
  return std::stoi(info.instructions.substr(info.instructions.find('_') + 1));
}

}  // namespace

Ceilings measure_ceilings(Device& device) {
  Bench bench(device);
  Ceilings ceilings;
  ceilings.device = DeviceKind::cuda;
  ceilings.fma_flops = bench.fma_flops();
  if (capability(device.info()) >= 75) ceilings.fp16_flops = bench.tensor_flops<__half>();
  if (capability(device.info()) >= 80) {
    ceilings.bf16_flops = bench.tensor_flops<__nv_bfloat16>();
    ceilings.tf32_flops = bench.tensor_flops<float>();
  }
  raise_to_wgmma_rates(device, bench.queue(), ceilings);
  bench.memory(ceilings);
  ceilings.cache_read_bytes = bench.cache_rate();
  return ceilings;
}

void burn_in(Device& device, double seconds) {
  Bench bench(device);
  constexpr int steps = 65536;
  bench.enqueue_multiply_adds(steps);  // loads the kernel, which would wait for a queue that is held back
  bench.queue().synchronize();
  for (double done = 0; done < seconds;) {
    bench.queue().begin_timing();
    bench.enqueue_multiply_adds(steps);
    done += std::max(bench.queue().end_timing().seconds, 1e-6);
  }
}

}  // namespace convscope::cuda

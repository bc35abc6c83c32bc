#include "bench/measure/ceilings.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "bench/core/random.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/measure/watches.hpp"

namespace convscope {
namespace {

constexpr double kSecondsEach = 0.1;  // for each of the two of memory
// For multiply-adds, the private cache and the latency between cores, pauses included: threads that share a
// core or no cache may take some of them to be placed better.
constexpr double kSecondsOfRate = 0.3, kSecondsOfLatency = 0.5;
constexpr int64_t kBlock = 1024;  // floats; the read loop's unit
constexpr int64_t kMaxBytes = int64_t{1} << 30;

// The shortest time of `work` on all threads, over at least three turns and `limit`. In the pause before each
// a hypervisor may place threads better that shared a core.
double best_seconds(const std::function<void(int thread)>& work, double limit = kSecondsEach) {
  double best = std::numeric_limits<double>::infinity();
  const auto begin = Clock::now();
  for (int turn = 0; turn < 3 || seconds_since(begin) < limit; ++turn) {
    std::this_thread::sleep_for(kPlacingPause);
#pragma omp parallel
    keep(multiply_add_chains(2));  // awake again
    const auto start = Clock::now();
#pragma omp parallel
    work(omp_get_thread_num());
    best = std::min(best, seconds_since(start));
  }
  return best;
}

double fma_flops(int threads) {
  constexpr int64_t rounds = 200'000;
  const double seconds = best_seconds([&](int) { keep(multiply_add_chains(rounds)); }, kSecondsOfRate);
  return static_cast<double>(threads * rounds * operations_per_round()) / seconds;
}

int64_t in_blocks(int64_t bytes) {
  return std::max<int64_t>(bytes / static_cast<int64_t>(sizeof(float)) / kBlock, 1) * kBlock;
}

// A block of random values again and again. `count` is a multiple of kBlock.
void fill_at_random(float* values, int64_t count) {
  for (int64_t i = 0; i < kBlock; ++i) values[i] = random_uniform(1, static_cast<uint64_t>(i));
  for (int64_t i = kBlock; i < count; i += kBlock) std::copy_n(values, kBlock, values + i);
}

// Two arrays of four times the last-level cache together, sliced among the threads, which touch them first.
void measure_memory(CpuDevice& device, Ceilings& ceilings) {
  const int64_t total =
      std::min({std::max<int64_t>(4 * device.info().llc_bytes, int64_t{64} << 20), kMaxBytes,
                std::max<int64_t>(device.info().memory_bytes / 8, int64_t{1} << 20)});
  const int64_t slice = in_blocks(total / 2 / ceilings.threads);
  const int64_t bytes = slice * static_cast<int64_t>(sizeof(float)) * ceilings.threads;
  Buffer from(device, static_cast<size_t>(bytes)), to(device, static_cast<size_t>(bytes));
#pragma omp parallel
  {
    const int64_t start = omp_get_thread_num() * slice;
    fill_at_random(from.as<float>() + start, slice);
    fill_at_random(to.as<float>() + start, slice);
  }
  const double copied = best_seconds([&](int thread) {
    std::memcpy(to.as<float>() + thread * slice, from.as<float>() + thread * slice,
                static_cast<size_t>(slice) * sizeof(float));
  });
  const double read = best_seconds([&](int thread) {
    keep(read_all(from.as<float>() + thread * slice, slice));
    keep(read_all(to.as<float>() + thread * slice, slice));
  });
  ceilings.copy_bytes = 2.0 * static_cast<double>(bytes) / copied;
  ceilings.read_bytes = 2.0 * static_cast<double>(bytes) / read;
}

// Half of the private cache, again and again.
void measure_cache(CpuDevice& device, Ceilings& ceilings) {
  const int64_t slice = in_blocks(std::max<int64_t>(device.info().l2_bytes, int64_t{64} << 10) / 2);
  const int64_t bytes = slice * static_cast<int64_t>(sizeof(float));
  const int64_t times = std::max<int64_t>((int64_t{64} << 20) / bytes, 1);
  Buffer values(device, static_cast<size_t>(bytes * ceilings.threads));
#pragma omp parallel
  fill_at_random(values.as<float>() + omp_get_thread_num() * slice, slice);
  const double seconds = best_seconds(
      [&](int thread) {
        for (int64_t i = 0; i < times; ++i) keep(read_all(values.as<float>() + thread * slice, slice));
      },
      kSecondsOfRate);
  ceilings.cache_read_bytes = static_cast<double>(times * bytes * ceilings.threads) / seconds;
}

double core_to_core_latency(double fma_flops) {
  CoreWatch cores(read_cores, {fma_flops, std::nullopt}, 0);
  const auto begin = Clock::now();
  while (seconds_since(begin) < kSecondsOfLatency) {
    std::this_thread::sleep_for(kPlacingPause);
    cores.read();
  }
  return cores.best().core_to_core_latency_seconds.value_or(0);
}

Ceilings cpu_ceilings(CpuDevice& device, int threads) {
  device.set_threads(threads);
  Ceilings ceilings;
  ceilings.threads = threads;
  ceilings.fma_flops = fma_flops(threads);
  if (threads > 1) ceilings.core_to_core_latency_seconds = core_to_core_latency(ceilings.fma_flops);
  measure_memory(device, ceilings);
  measure_cache(device, ceilings);
  return ceilings;
}

void burn_in_cpu(double seconds) {
  const auto begin = Clock::now();
#pragma omp parallel
  while (seconds_since(begin) < seconds) keep(multiply_add_chains(10'000));
}

}  // namespace

Ceilings measure_ceilings(Device& device, int threads) {
  if (device.info().kind == DeviceKind::cpu) return cpu_ceilings(dynamic_cast<CpuDevice&>(device), threads);
  if (device.info().kind == DeviceKind::cuda) {
    Ceilings ceilings = cuda::measure_ceilings(device);
    ceilings.device_index = device.info().index;
    return ceilings;
  }
  Ceilings unknown;
  unknown.device = device.info().kind;
  return unknown;
}

void burn_in(Device& device, double seconds) {
  if (device.info().kind == DeviceKind::cpu) burn_in_cpu(seconds);
  if (device.info().kind == DeviceKind::cuda) cuda::burn_in(device, seconds);
}

}  // namespace convscope

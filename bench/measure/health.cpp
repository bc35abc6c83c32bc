#include "bench/measure/health.hpp"

#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/system_files.hpp"
#include "bench/measure/ceilings.hpp"

namespace convscope {
namespace {

constexpr int kAdditions = 1 << 14;

// Additions that each wait for the one before. The empty assembly hides the values from the compiler, which
// would multiply instead; adding a register, not a constant, keeps the processor from merging them.
uint64_t dependent_additions(uint64_t x, uint64_t y) {
  asm volatile("" : "+r"(y));
#pragma GCC unroll 16
  for (int i = 0; i < kAdditions; ++i) {
    x += y;
    asm volatile("" : "+r"(x));
  }
  return x;
}

constexpr int64_t kBurstRounds = 3000;  // of 12 vector multiply-adds: 5 to 15 us
constexpr int64_t kWakeRounds = kBurstRounds / 2;
constexpr int kTurns = 3;
constexpr int kLaps = 10;  // of the cache line in one turn
// Otherwise a thread without a core would make a turn take milliseconds.
constexpr double kMaxTurnSeconds = 200e-6;

struct alignas(64) Mailbox {
  std::atomic<int> lap{0};
};

// Each thread waits for the lap in its own mailbox and passes it on to the next one's. The first ends the
// turn for all, by setting `stop`, if it takes too long.
void pass_round(std::vector<Mailbox>& mailboxes, int thread, int first_lap, std::atomic<bool>& stop) {
  const auto begin = Clock::now();
  const auto threads = static_cast<int>(mailboxes.size());
  auto& own = mailboxes[static_cast<size_t>(thread)].lap;
  auto& next = mailboxes[static_cast<size_t>((thread + 1) % threads)].lap;
  for (int lap = first_lap; lap < first_lap + kLaps; ++lap) {
    if (thread == 0) next.store(lap, std::memory_order_release);
    for (int64_t spins = 1; own.load(std::memory_order_acquire) < lap; ++spins) {
      if (thread == 0 && spins % 1024 == 0 && seconds_since(begin) > kMaxTurnSeconds) stop = true;
      if (stop.load(std::memory_order_relaxed)) return;
    }
    if (thread != 0) next.store(lap, std::memory_order_release);
  }
}

}  // namespace

std::optional<std::string> frequency_governor() {
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return governor.empty() ? std::nullopt : std::optional(governor);
}

std::optional<double> load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

double measured_clock_mhz() {
  double shortest = std::numeric_limits<double>::infinity();
  uint64_t x = 0;
  // The best of several: one may be interrupted.
  for (int turn = 0; turn < 4; ++turn) {
    const auto begin = Clock::now();
    x = dependent_additions(x, 1);
    shortest = std::min(shortest, seconds_since(begin));
  }
  return kAdditions / shortest * 1e-6;
}

double involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_nivcsw);
}

CoreReading cores_of(const Ceilings& ceilings) {
  CoreReading cores{ceilings.fma_flops, std::nullopt};
  if (const double latency = ceilings.core_to_core_latency_seconds; latency > 0)
    cores.core_to_core_latency_seconds = latency;
  return cores;
}

CoreReading read_cores() {
  const int threads = omp_get_max_threads();
  std::array<double, kTurns> slowest{}, round{};
  std::vector<Mailbox> mailboxes(static_cast<size_t>(threads));
  std::array<std::atomic<bool>, kTurns> stop{};
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    for (int turn = 0; turn < kTurns; ++turn) {
      // All together: only then do two on one core slow each other down.
#pragma omp barrier
      const double seconds = seconds_of_awake_burst([] { keep(multiply_add_chains(kWakeRounds)); },
                                                    [] { keep(multiply_add_chains(kBurstRounds)); });
#pragma omp critical
      slowest[static_cast<size_t>(turn)] = std::max(slowest[static_cast<size_t>(turn)], seconds);
#pragma omp barrier
      const auto start = Clock::now();
      if (threads > 1) pass_round(mailboxes, thread, 1 + turn * kLaps, stop[static_cast<size_t>(turn)]);
      if (thread == 0) round[static_cast<size_t>(turn)] = seconds_since(start);
    }
  }
  std::sort(slowest.begin(), slowest.end());
  CoreReading reading;
  reading.multiply_add_rate =
      static_cast<double>(threads * kBurstRounds * operations_per_round()) / slowest[kTurns / 2];
  if (threads > 1)
    reading.core_to_core_latency_seconds = *std::min_element(round.begin(), round.end()) / (kLaps * threads);
  return reading;
}

}  // namespace convscope

#include "bench/measure/core_reading.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "bench/measure/ceiling_kernels.hpp"
#include "bench/measure/stopwatch.hpp"

namespace convscope {
namespace {

constexpr int64_t kBurstRounds = 3000;  // of 12 vector multiply-adds: 5 to 15 us
constexpr int kTurns = 3;
constexpr int kLaps = 10;  // of a signal in one turn
// A turn ends here where a thread has no core at all and would make it one of milliseconds.
constexpr double kLongestTurn = 200e-6;

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
      if (thread == 0 && spins % 1024 == 0 && seconds_since(begin) > kLongestTurn) stop = true;
      if (stop.load(std::memory_order_relaxed)) return;
    }
    if (thread != 0) next.store(lap, std::memory_order_release);
  }
}

}  // namespace

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
      const auto begin = Clock::now();
      keep(multiply_add_chains(kBurstRounds));
      const double seconds = seconds_since(begin);
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

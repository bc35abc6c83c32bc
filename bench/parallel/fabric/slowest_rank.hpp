// The time of the slowest rank, from a barrier on. Every rank calls these with the same work and gets the
// same number.
#pragma once

#include <cstdint>
#include <utility>

#include "bench/core/stopwatch.hpp"
#include "bench/measure/lost_time.hpp"
#include "bench/parallel/fabric/fabric.hpp"

namespace convscope {

// `work` gets the time at which it began.
template <typename Work>
double slowest_rank(Fabric& fabric, const Work& work) {
  largest_over_ranks(fabric, 0);  // a barrier
  const auto begin = Clock::now();
  work(begin);
  return largest_over_ranks(fabric, seconds_since(begin));
}

// A sample of all ranks, taken again where it was disturbed on one of them; of a second such one the time is
// kept and `disturbed` counted up. `sample` returns the seconds of the slowest rank, and whether this one was
// disturbed.
template <typename Sample>
double quiet_slowest(Fabric& fabric, const Sample& sample, int64_t& disturbed) {
  for (int tries = 0;; ++tries) {
    const std::pair<double, bool> taken = sample();
    const bool is_disturbed = largest_over_ranks(fabric, taken.second ? 1 : 0) > 0;
    if (is_disturbed && tries == 0) continue;
    disturbed += is_disturbed;
    return taken.first;
  }
}

// slowest_rank(), and whether this rank's threads, which never sleep, lost more time than a sample may.
// Waiting for the core at the barrier counts, because a rank that shares its core with another one reads its
// own clock only when it has left the barrier.
template <typename Work>
std::pair<double, bool> slowest_rank_and_loss(Fabric& fabric, const Work& work) {
  const ThreadReading before = read_threads();
  const double seconds = slowest_rank(fabric, [&](Clock::time_point) { work(); });
  return {seconds, lost_time(before, read_threads()).share() > kDisturbedShare};
}

// Of work on CPUs that never sleeps: a rank is disturbed where it lost time. One that only waits never is.
template <typename Work>
double quiet_slowest_rank(Fabric& fabric, const Work& work, int64_t& disturbed, bool works = true) {
  const auto sample = [&] {
    const std::pair<double, bool> taken = slowest_rank_and_loss(fabric, work);
    return std::pair(taken.first, works && taken.second);
  };
  return quiet_slowest(fabric, sample, disturbed);
}

}  // namespace convscope

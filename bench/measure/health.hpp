// The state of the machine while something is measured: load, clock, governor, forced context switches, and
// how fast and how far apart the threads are. Reads /proc, /sys and a clock; changes nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "bench/core/device_info.hpp"
#include "bench/core/stopwatch.hpp"

namespace convscope {

// CPU 0's frequency governor; nothing where the kernel shows none (most virtual machines).
std::optional<std::string> frequency_governor();

// The 1-minute load average.
std::optional<double> load_average();

// The calling core's clock, from a chain of dependent additions of one cycle each: about 30 us.
double measured_clock_mhz();

// Context switches forced on this process so far, all threads together.
double involuntary_switches();

// How fast the threads compute together and how far apart they are. A hypervisor moves virtual CPUs: two of
// them may share a physical core, or lie in parts of the chip that share no cache, for milliseconds or
// minutes.
struct CoreReading {
  // Operations per second of all OpenMP threads together, two per multiply-add. Two threads on one core halve
  // it; the clock does not show that.
  double multiply_add_rate = 0;
  // The time that a cache line takes from one thread to the next; null with one thread. Several times as long
  // between threads that share no cache.
  std::optional<double> core_to_core_latency_seconds;
};

// The time of burst(). wake() runs the same instructions just before: on a Xeon that has executed no 512-bit
// instruction for a while a burst takes 7 us instead of 5, which looks like a shared core. Threads that leave
// a barrier at different times overlap more with it, not less.
template <typename Wake, typename Burst, typename Now = decltype(&Clock::now)>
double seconds_of_awake_burst(const Wake& wake, const Burst& burst, const Now& now = &Clock::now) {
  wake();
  const auto begin = now();
  burst();
  return std::chrono::duration<double>(now() - begin).count();
}

// The rate is the slowest thread's times their number, the median of three bursts. The latency is from the
// fastest of three turns of a line round all threads; a turn ends after 0.2 ms where a thread has no core at
// all. About 50 us for two threads.
CoreReading read_cores();

// What the ceilings know of threads that have cores of their own; a rate of 0 where they do not.
CoreReading cores_of(const Ceilings& ceilings);

}  // namespace convscope

// CoreReading: how fast the threads compute together and how far apart they are. A hypervisor moves virtual
// CPUs: two of them may share a physical core, or lie in parts of the chip that share no cache, for
// milliseconds or minutes.
#pragma once

#include <optional>

namespace convscope {

struct CoreReading {
  // Operations per second of all OpenMP threads together, two per multiply-add. Two threads on one core halve
  // it; the clock does not show that.
  double multiply_add_rate = 0;
  // The time that a cache line takes from one thread to the next; null with one thread. Several times as long
  // between threads that share no cache.
  std::optional<double> core_to_core_latency_seconds;
};

// The rate is the slowest thread's times their number, the median of three bursts. The latency is from the
// fastest of three turns of a line round all threads; a turn ends after 0.2 ms where a thread has no core at
// all. About 60 us for two threads.
CoreReading read_cores();

}  // namespace convscope

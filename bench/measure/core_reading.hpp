// CoreReading: where the threads run right now, as far as it shows. A hypervisor moves virtual CPUs about:
// two of them may share a physical core, or lie in different parts of the chip, for milliseconds or minutes.
#pragma once

#include <optional>

namespace convscope {

struct CoreReading {
  // Operations a second (2 a multiply-add) of all OpenMP threads together. Two threads on one core halve it,
  // though the clock stays as it is.
  double multiply_add_rate = 0;
  // The time a cache line takes from one thread to the next; nothing of a single thread. Threads that share
  // no cache have a multiple.
  std::optional<double> core_to_core_latency_seconds;
};

// The rate is the slowest thread's times their number, the median of three bursts; the signal goes round all
// threads, the shortest of three turns, which
// end after 0.2 ms where a thread has no core at all. About 60 us for two threads.
CoreReading read_cores();

}  // namespace convscope

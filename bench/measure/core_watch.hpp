// CoreWatch: whether the threads run as fast as they can where they run right now. It compares readings with
// the best one: on two virtual CPUs that share a core, multiply-adds take twice as long; between threads that
// share no cache, which did before, signals take several times as long. Not here: taking a reading
// (core_reading.hpp).
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "bench/measure/core_reading.hpp"

namespace convscope {

// Threads that reach less than this share of the best multiply-add rate do not have cores of their own.
inline constexpr double kOwnCores = 0.7;
// Threads whose signals take more than this many times the shortest lie further apart than they can.
inline constexpr double kFarApart = 2;

// Threads that sleep this long are placed anew, busy ones stay where they are: two that lay far apart were
// near again after 0.06 to 0.13 s of such pauses, 0.5 to 1.7 s of pauses of 1 ms, and not within 3 s of work
// (seven spells; not kept).
inline constexpr auto kPlacingPause = std::chrono::milliseconds(10);

class CoreWatch {
 public:
  using Read = std::function<CoreReading()>;  // empty: nothing to watch, as on a GPU

  // `known` holds the best figures known from elsewhere; 0 and nothing where there are none. All calls of
  // wait() together wait for about `patience_seconds` at most.
  CoreWatch(Read read, const CoreReading& known, double patience_seconds);

  // A reading; what is best in it is kept, a signal if the reading before was as short.
  std::optional<CoreReading> read();
  // A reading, but while it is a slow one another after a short pause, in which the hypervisor may place the
  // threads anew.
  std::optional<CoreReading> wait();

  // Compared with the best so far; the rate of the best is 1, its distance too.
  double share(const CoreReading& reading) const;
  double distance(const CoreReading& reading) const;
  bool is_slow(const CoreReading& reading) const;

  const CoreReading& best() const { return best_; }
  double waited_seconds() const { return waited_; }

 private:
  Read read_;
  CoreReading best_;
  std::optional<double> before_;  // the signal of the last reading, if the threads had cores of their own
  double patience_;
  double waited_ = 0;
};

}  // namespace convscope

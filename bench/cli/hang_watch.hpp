// HangWatch: ends the process where its work on a device makes no progress. A call that waits for a kernel
// that never ends cannot be broken off, and Ctrl-C is held back until the work comes to ask for it
// (StopSignal). For verbs that have no worker process.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "bench/core/stopwatch.hpp"
#include "bench/runner/isolation.hpp"

namespace convscope {

struct HangLimits {
  // The longest that work takes from one beat to the next: planning may profile, checks compute in f64 on the
  // host.
  std::chrono::milliseconds silence = std::chrono::minutes(5);
  std::chrono::milliseconds after_stop = std::chrono::seconds(10);  // likewise, once the user wants it to end
};

class HangWatch {
 public:
  // Writes what there is and prints the note, as in "no progress for 300 s in checking conv2 forward
  // fft.full.cuda". Called on a thread of the watch, once at most; then the process ends, with kDeviceLost
  // or, where the user wanted it to end, kInterrupted. What it throws is printed.
  using AtEnd = std::function<void(const std::string& note)>;

  // `stop` outlives it.
  HangWatch(StopSignal& stop, AtEnd at_end, HangLimits limits = {});

  // The work goes on, to what `stage` says.
  void beat(const std::string& stage);
  // The same stage, from now on.
  void beat();

 private:
  void watch(const std::stop_token& over);

  StopSignal& stop_;
  const AtEnd at_end_;
  const HangLimits limits_;
  std::mutex mutex_;  // of the stage and its time
  std::string stage_ = "the beginning";
  Clock::time_point since_ = Clock::now();
  std::jthread thread_;  // last: it uses the others
};

// While nothing is begun that has files to write: Ctrl-C and SIGTERM end the process at once with
// kInterrupted, whatever it waits for, a driver that hangs included.
class EndAtStop : public HangWatch {
 public:
  explicit EndAtStop(StopSignal& stop);
};

}  // namespace convscope

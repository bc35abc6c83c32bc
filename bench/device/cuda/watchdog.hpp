// Watchdog: calls a function when something that was started is not stopped in time. One thread, which sleeps
// until a deadline; starting and stopping costs the caller less than a microsecond while it is busy with
// earlier ones.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace convscope::cuda {

class Watchdog {
 public:
  // `bark` is called on another thread, at most once a start, `limit` after it.
  Watchdog(std::chrono::nanoseconds limit, std::function<void()> bark);
  ~Watchdog();

  // Starts the limit anew.
  void start();
  // Once it has returned, `bark` is neither running nor called before the next start. Allowed at any time.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  const std::chrono::nanoseconds limit_;
  const std::function<void()> bark_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::optional<Clock::time_point> deadline_;  // of what is running
  bool is_idle_ = false;                       // the thread waits for a start, not for a deadline
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace convscope::cuda

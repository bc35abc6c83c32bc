#include "bench/cli/hang_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

#include "bench/cli/verbs.hpp"

namespace convscope {
namespace {

constexpr int kPeriodMilliseconds = 50;

// Whether a signal waits to be asked for; asks for none.
bool is_signalled(const StopSignal& stop) {
  pollfd file{stop.file(), POLLIN, 0};
  return poll(&file, 1, 0) > 0;
}

}  // namespace

HangWatch::HangWatch(StopSignal& stop, AtEnd at_end, HangLimits limits)
    : stop_(stop), at_end_(std::move(at_end)), limits_(limits), thread_([this] { watch(); }) {}

HangWatch::~HangWatch() {
  is_over_ = true;
  thread_.join();
}

void HangWatch::beat(const std::string& stage) {
  const std::lock_guard lock(mutex_);
  stage_ = stage;
  since_ = Clock::now();
}

void HangWatch::beat() {
  const std::lock_guard lock(mutex_);
  since_ = Clock::now();
}

void HangWatch::watch() {
  bool is_stopped = false;  // also after the work has asked, which takes the signal away
  while (!is_over_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kPeriodMilliseconds));
    is_stopped = is_stopped || is_signalled(stop_);
    std::string note;
    {
      const std::lock_guard lock(mutex_);
      const auto silent = Clock::now() - since_;
      if (silent < (is_stopped ? limits_.after_stop : limits_.silence)) continue;
      note = fmt::format("no progress for {:.0f} s in {}", std::chrono::duration<double>(silent).count(),
                         stage_);
    }
    at_end_(note);
    _exit(is_stopped ? kInterrupted : kDeviceLost);
  }
}

}  // namespace convscope

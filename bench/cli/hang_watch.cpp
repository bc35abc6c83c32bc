#include "bench/cli/hang_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
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

int make_event_file() {
  const int file = eventfd(0, EFD_CLOEXEC);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return file;
}

// Waits for a period, or shorter; whether the event has come.
bool has_come(int event) {
  pollfd file{event, POLLIN, 0};
  return poll(&file, 1, kPeriodMilliseconds) > 0;
}

}  // namespace

HangWatch::HangWatch(StopSignal& stop, AtEnd at_end, HangLimits limits)
    : stop_(stop), at_end_(std::move(at_end)), limits_(limits), over_(make_event_file()), thread_([this] {
        watch();
      }) {}

HangWatch::~HangWatch() {
  eventfd_write(over_.get(), 1);
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
  while (!has_come(over_.get())) {
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

EndAtStop::EndAtStop(StopSignal& stop)
    : HangWatch(stop, [](const std::string&) {}, {std::chrono::years(1), std::chrono::milliseconds(0)}) {}

}  // namespace convscope

#include "bench/cli/hang_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <utility>

#include "bench/cli/verbs.hpp"

namespace convscope {
namespace {

constexpr std::chrono::milliseconds kPeriod{50};

// Whether a signal waits to be asked for; asks for none.
bool is_signalled(const StopSignal& stop) {
  pollfd file{stop.file(), POLLIN, 0};
  return poll(&file, 1, 0) > 0;
}

}  // namespace

HangWatch::HangWatch(StopSignal& stop, AtEnd at_end, HangLimits limits)
    : stop_(stop),
      at_end_(std::move(at_end)),
      limits_(limits),
      thread_([this](const std::stop_token& over) { watch(over); }) {}

void HangWatch::beat(const std::string& stage) {
  const std::lock_guard lock(mutex_);
  stage_ = stage;
  since_ = Clock::now();
}

void HangWatch::beat() {
  const std::lock_guard lock(mutex_);
  since_ = Clock::now();
}

void HangWatch::watch(const std::stop_token& over) {
  bool is_stopped = false;  // also after the work has asked, which takes the signal away
  std::condition_variable_any never;
  std::unique_lock lock(mutex_);
  for (;;) {
    never.wait_for(lock, over, kPeriod, [] { return false; });
    if (over.stop_requested()) return;
    is_stopped = is_stopped || is_signalled(stop_);
    const auto silent = Clock::now() - since_;
    if (silent >= (is_stopped ? limits_.after_stop : limits_.silence)) break;
  }
  const std::chrono::duration<double> silent = Clock::now() - since_;
  const std::string note = fmt::format("no progress for {:.0f} s in {}", silent.count(), stage_);
  lock.unlock();
  try {
    at_end_(note);
  } catch (const std::exception& error) {  // what there is could not be written
    std::fprintf(stderr, "convscope: %s\n", error.what());
  }
  _exit(is_stopped ? kInterrupted : kDeviceLost);
}

EndAtStop::EndAtStop(StopSignal& stop)
    : HangWatch(stop, [](const std::string&) {}, {std::chrono::years(1), std::chrono::milliseconds(0)}) {}

}  // namespace convscope

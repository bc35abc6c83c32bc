#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "bench/device/cuda/blocker.hpp"

namespace convscope::cuda {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Watchdog, BarksWhenWhatWasStartedIsNotStopped) {
  std::promise<void> barked;
  Watchdog dog(milliseconds(1), [&] { barked.set_value(); });  // a second bark would throw
  dog.start();
  barked.get_future().wait();
  dog.stop();
}

TEST(Watchdog, BarksOnceAStart) {
  std::atomic<int> barks = 0;
  Watchdog dog(milliseconds(1), [&] {
    ++barks;
    barks.notify_all();
  });
  for (int start = 1; start <= 3; ++start) {
    dog.start();
    for (int seen = 0; seen != start; seen = barks) barks.wait(seen);
    dog.stop();
    EXPECT_EQ(barks, start);
  }
}

TEST(Watchdog, BarksHoweverOftenItWasStoppedBefore) {
  for (int turn = 0; turn < 20; ++turn) {
    std::promise<void> barked;
    std::atomic<bool> may_bark = false;
    Watchdog dog(milliseconds(30), [&] {
      if (may_bark) barked.set_value();
    });
    for (int start = 0; start <= turn; ++start) {  // its thread may be awake by now or not
      dog.start();
      dog.stop();
    }
    may_bark = true;
    dog.start();
    barked.get_future().wait();
  }
}

TEST(Watchdog, KeepsQuietWhenItIsStoppedInTime) {
  std::atomic<int> barks = 0;
  {
    Watchdog dog(hours(1), [&] { ++barks; });
    for (int start = 0; start < 3; ++start) {
      dog.start();
      dog.stop();
    }
    dog.start();  // and ends with it
  }
  EXPECT_EQ(barks, 0);
}

TEST(Watchdog, ForgetsADeadlineOnceItIsStopped) {
  std::atomic<int> barks = 0;
  Watchdog dog(milliseconds(300), [&] { ++barks; });
  dog.start();
  dog.stop();
  std::promise<void> later;
  Watchdog clock(milliseconds(400), [&] { later.set_value(); });
  clock.start();
  later.get_future().wait();
  EXPECT_EQ(barks, 0);
}

TEST(Watchdog, MayBeStoppedWhenNothingRuns) {
  Watchdog dog(milliseconds(1), [] { FAIL(); });
  dog.stop();
}

}  // namespace
}  // namespace convscope::cuda

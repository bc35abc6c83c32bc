#include "bench/cli/hang_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "bench/cli/verbs.hpp"

namespace convscope {
namespace {

using std::chrono::milliseconds;

void print_note(const std::string& note) {
  std::fprintf(stderr, "note: %s\n", note.c_str());
}

// Work that begins a stage and never ends it.
void hang(milliseconds silence, milliseconds after_stop, bool with_signal, bool asks = false) {
  StopSignal stop;
  HangWatch watch(stop, print_note, {silence, after_stop});
  watch.beat("checking conv2");
  if (with_signal) kill(getpid(), SIGINT);
  if (asks) {
    std::this_thread::sleep_for(after_stop / 2);  // the watch looks several times
    if (!stop.requested()) std::exit(1);
  }
  for (;;) pause();
}

TEST(HangWatchDeathTest, EndsWorkThatMakesNoProgressAndSaysWhere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(hang(milliseconds(200), milliseconds(200), false), ::testing::ExitedWithCode(kDeviceLost),
              "note: no progress for 0 s in checking conv2");
}

TEST(HangWatchDeathTest, EndsWorkThatDoesNotComeToAskWhetherItIsStopped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(hang(std::chrono::hours(1), milliseconds(200), true), ::testing::ExitedWithCode(kInterrupted),
              "note: no progress for 0 s in checking conv2");
}

TEST(HangWatchDeathTest, EndsWorkThatHangsAfterItAskedWhetherItIsStopped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(hang(std::chrono::hours(1), milliseconds(2000), true, true),
              ::testing::ExitedWithCode(kInterrupted), "note: no progress for 2 s in checking conv2");
}

TEST(HangWatchDeathTest, EndsWorkAlsoWhereWhatThereIsCannotBeWritten) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang_on_a_full_disk = [] {
    StopSignal stop;
    HangWatch watch(stop, [](const std::string&) { throw std::runtime_error("the disk is full"); },
                    {milliseconds(200), milliseconds(200)});
    for (;;) pause();
  };
  EXPECT_EXIT(hang_on_a_full_disk(), ::testing::ExitedWithCode(kDeviceLost), "convscope: the disk is full");
}

TEST(EndAtStopDeathTest, EndsWorkAtOnceThatNeverAsks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wait = [](int signal) {
    StopSignal stop;
    EndAtStop planning(stop);
    kill(getpid(), signal);
    for (;;) pause();
  };
  EXPECT_EXIT(wait(SIGINT), ::testing::ExitedWithCode(kInterrupted), "^$");
  EXPECT_EXIT(wait(SIGTERM), ::testing::ExitedWithCode(kInterrupted), "^$");
}

TEST(EndAtStop, LetsASignalAloneThatComesAfterIt) {
  StopSignal stop;
  std::optional<EndAtStop> planning(std::in_place, stop);
  planning.reset();
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(stop.requested());
}

TEST(HangWatch, LetsWorkAloneThatGoesOn) {
  StopSignal stop;
  HangWatch watch(stop, [](const std::string& note) { FAIL() << note; },
                  {milliseconds(5000), milliseconds(5000)});
  kill(getpid(), SIGINT);
  for (int beat = 0; beat < 60; ++beat) {
    std::this_thread::sleep_for(milliseconds(100));
    watch.beat();
  }
  EXPECT_TRUE(stop.requested());
}

}  // namespace
}  // namespace convscope

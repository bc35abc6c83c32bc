#include "bench/measure/lost_time.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/system_files.hpp"
#include "bench/measure/other_programs.hpp"
#include "bench/measure/scripted_plan.hpp"

namespace convscope {
namespace {

using testing::Bench;
using testing::ScriptedPlan;

// Readings that begin at 0 and end after `seconds`.
LostTime lost_in(double seconds, std::vector<ThreadReading::Thread> then,
                 std::vector<ThreadReading::Thread> now, double stolen = 0) {
  ThreadReading before, after;
  after.at = before.at + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  before.threads = std::move(then);
  after.threads = std::move(now);
  before.stolen_seconds = {{1, 7}, {2, 7}};
  // A thread was pinned to another core in between.
  after.stolen_seconds = {{0, 900}, {1, 7}, {2, 7 + stolen}};
  return lost_time(before, after);
}

TEST(LostTime, IsNothingWhereTheThreadsRan) {
  const LostTime lost = lost_in(0.1, {{1, 3, 0.5}, {2, 4, 0.25}}, {{1, 3.1, 0.5}, {2, 4.09, 0.25}});
  EXPECT_EQ(lost.share(), 0);
  EXPECT_DOUBLE_EQ(lost.wall_seconds, 0.1);
}

TEST(LostTime, IsThatOfTheThreadThatWaitedLongest) {
  const LostTime lost = lost_in(0.1, {{1, 3, 0.5}, {2, 4, 0.25}}, {{1, 3.09, 0.51}, {2, 4.05, 0.30}});
  EXPECT_NEAR(lost.share(), 0.5, 1e-9);
  EXPECT_EQ(lost.thief(), TimeThief::other_programs);
}

TEST(LostTime, DoesNotTakeAThreadThatSleepsForAStop) {
  EXPECT_EQ(lost_in(0.1, {{1, 0, 0}, {2, 0, 0}}, {{1, 0.1, 0}, {2, 0, 0}}).share(), 0);
  EXPECT_EQ(lost_in(0.1, {{1, 0, 0}, {2, 0, 0}}, {{1, 0.085, 0}, {2, 0.085, 0}}).share(), 0)
      << "each may have waited for the other at a barrier";
}

TEST(LostTime, SeesThatNoThreadRan) {
  const LostTime lost = lost_in(0.1, {{1, 0, 0}, {2, 0, 0}}, {{1, 0.06, 0}, {2, 0.05, 0}});
  EXPECT_NEAR(lost.share(), 0.4, 1e-9);
  EXPECT_EQ(lost.thief(), TimeThief::stop);
}

TEST(LostTime, IsNoStopWhereTheThreadsClocksCannotBeRead) {
  EXPECT_EQ(lost_in(0.1, {}, {}).share(), 0);
  EXPECT_EQ(lost_in(0.1, {{1, 0, 0}}, {{1, 0, 0}}).share(), 0);
}

TEST(LostTime, SeesWhatTheHypervisorTookBeyondAClockTick) {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_EQ(lost_in(0.1, {{1, 0, 0}}, {{1, 0.1, 0}}, tick).share(), 0);
  const LostTime lost = lost_in(0.1, {{1, 0, 0}}, {{1, 0.1, 0}}, 4 * tick);
  EXPECT_NEAR(lost.stolen_seconds, 3 * tick, 1e-9);
  EXPECT_EQ(lost.thief(), TimeThief::hypervisor);
}

TEST(LostTime, CountsAThreadThatBeganInBetween) {
  EXPECT_NEAR(lost_in(0.1, {{1, 0, 0}}, {{1, 0.1, 0}, {2, 0.01, 0.04}}).share(), 0.4, 1e-9);
}

TEST(LostTime, LeavesOutTheWaitOfAWakeUp) {
  EXPECT_EQ(lost_in(0.001, {{1, 0, 0}}, {{1, 0.001, 40e-6}}).share(), 0);
}

void compute_for(double seconds) {
  const auto begin = Clock::now();
  while (seconds_since(begin) < seconds) {
  }
}

void pin_to_core_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(sched_getcpu(), &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

// Runs `body` in a process of its own, which other tests' threads and pinning do not reach.
template <typename Body, typename Beside>
int exit_code_of(const Body& body, const Beside& beside) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  beside(child);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(LostTime, SeesAHogOnTheCore) {
  const auto body = [] {
    pin_to_core_of_this_thread();
    const pid_t hog = fork();
    if (hog == 0) {
      compute_for(10);
      _exit(0);
    }
    compute_for(0.02);  // the hog has begun
    const ThreadReading before = read_threads();
    compute_for(0.2);
    const LostTime lost = lost_time(before, read_threads());
    kill(hog, SIGKILL);
    waitpid(hog, nullptr, 0);
    if (lost.waiting_seconds == 0 && lost.stopped_seconds == 0) return 1;
    return lost.share() > kDisturbedShare ? 0 : 2;
  };
  EXPECT_EQ(exit_code_of(body, [](pid_t) {}), 0);
}

TEST(LostTime, SeesAStopOfTheProcess) {
  const auto body = [] {
    const ThreadReading before = read_threads();
    compute_for(0.3);
    const LostTime lost = lost_time(before, read_threads());
    return lost.stopped_seconds > kDisturbedShare * lost.wall_seconds ? 0 : 1;
  };
  const auto stop = [](pid_t child) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(child, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(child, SIGCONT);
  };
  EXPECT_EQ(exit_code_of(body, stop), 0);
}

TEST(LostTime, ReadsEachThread) {
  const ThreadReading reading = read_threads();
  ASSERT_FALSE(reading.threads.empty());
  double running = 0;
  for (const auto& thread : reading.threads) running += thread.running_seconds;
  EXPECT_GT(running, 0);
}

TEST(LostTime, IsNotWhatTheHypervisorTookOfAllCoresWhereAThreadMayRunOnSeveral) {
  if (cores_for(0).size() < 2 || !has_hypervisor("")) GTEST_SKIP() << "one core, or none of a hypervisor's";
  const auto body = [] { return read_threads().stolen_seconds.contains(-1) ? 1 : 0; };
  EXPECT_EQ(exit_code_of(body, [](pid_t) {}), 0);
}

// Readings of one thread: every second one ends a sample. `lost` says of each sample which share it lost.
struct ScriptedReadings {
  std::vector<double> lost;
  bool waits = true;  // or stands still, as when it is stopped
  size_t reading = 0;
  ThreadReading now;

  ThreadReading read() {
    if (now.threads.empty()) now.threads.push_back({1, 0, 0});
    if (reading % 2 == 1) {
      const double share = lost.at(std::min(reading / 2, lost.size() - 1));
      now.at += std::chrono::milliseconds(100);
      now.threads[0].running_seconds += 0.1 * (1 - share);
      if (waits) now.threads[0].waiting_seconds += 0.1 * share;
    }
    ++reading;
    return now;
  }
};

Health health_under(std::vector<double> lost, std::vector<BusyProgram> programs = {}) {
  Bench bench;
  ScriptedReadings readings;
  readings.lost = std::move(lost);
  bench.options.read_threads = [&] { return readings.read(); };
  bench.options.other_programs = [&] { return programs; };
  ScriptedPlan plan;
  return bench.measure({&plan}).results.at(0).health;
}

TEST(Disturbance, TakesADisturbedSampleAgain) {
  const Health health = health_under({0, 0.5, 0.4, 0, 0.2, 0});
  EXPECT_EQ(health.discarded_samples, 3);
  EXPECT_EQ(health.disturbed_samples, 0);
  EXPECT_FALSE(health.disturbed);
  EXPECT_EQ(health.disturbed_by, "");
}

TEST(Disturbance, MarksARecordWithoutQuietSamplesAndSaysWho) {
  const Health health = health_under({0.5}, {{4242, "stress-ng", 0.98}});
  EXPECT_TRUE(health.disturbed);
  EXPECT_EQ(health.discarded_samples, 10) << "a budget, so that a busy machine ends, too";
  EXPECT_EQ(health.disturbed_samples, 10);
  EXPECT_DOUBLE_EQ(health.lost_share.value(), 0.5);
  EXPECT_EQ(health.disturbed_by,
            "other programs had a core for 50% of the time; now stress-ng (pid 4242) 98% of a core");
}

// How often a group of two disturbed candidates asks who is busy.
int times_asked(bool waits) {
  Bench bench;
  ScriptedReadings readings;
  readings.lost = {0.5};
  readings.waits = waits;
  int asked = 0;
  bench.options.read_threads = [&] { return readings.read(); };
  bench.options.other_programs = [&]() -> std::vector<BusyProgram> {
    ++asked;
    return {};
  };
  ScriptedPlan one, other;
  for (const MeasureResult& result : bench.measure({&one, &other}).results)
    EXPECT_TRUE(result.health.disturbed);
  return asked;
}

TEST(Disturbance, OfOtherProgramsAsksOnceAGroupWhoTheyAre) {
  EXPECT_EQ(times_asked(true), 1);
  EXPECT_EQ(times_asked(false), 0) << "a stop names nobody";
}

TEST(Disturbance, MarksARecordOfWhichMoreThanAQuarterIsDisturbed) {
  std::vector<double> lost(10, 0.5);  // the budget
  lost.insert(lost.end(), {0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_FALSE(health_under(lost).disturbed);
  lost[12] = 0.5;
  EXPECT_TRUE(health_under(lost).disturbed);
}

TEST(Disturbance, IsNotKnownWhereThreadsAreNotWatched) {
  Bench bench;
  ScriptedPlan plan;
  const Health health = bench.measure({&plan}).results.at(0).health;
  EXPECT_EQ(health.lost_share, std::nullopt);
  EXPECT_FALSE(health.disturbed);
}

TEST(OtherPrograms, AreNamedBusiestFirst) {
  EXPECT_EQ(text(std::vector<BusyProgram>{}), "");
  EXPECT_EQ(text({{7, "cc1plus", 0.984}, {8, "ld", 0.25}}),
            "cc1plus (pid 7) 98% of a core, ld (pid 8) 25% of a core");
  EXPECT_EQ(text({{1, "a", 1}, {2, "b", 1}, {3, "c", 1}, {4, "d", 1}}),
            "a (pid 1) 100% of a core, b (pid 2) 100% of a core, c (pid 3) 100% of a core, 1 more");
}

TEST(OtherPrograms, DoNotIncludeThisOneAndItsChildren) {
  const pid_t child = fork();
  if (child == 0) {
    compute_for(10);
    _exit(0);
  }
  std::thread own([] { compute_for(0.2); });
  for (const BusyProgram& program : busy_programs(0.2)) {
    EXPECT_NE(program.pid, child);
    EXPECT_NE(program.pid, getpid());
  }
  own.join();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// A process whose parent has ended is nobody's child here.
TEST(OtherPrograms, AreFound) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const pid_t hog = fork();
    if (hog == 0) {
      compute_for(30);
      _exit(0);
    }
    if (write(ends[1], &hog, sizeof hog) != sizeof hog) _exit(1);
    _exit(0);
  }
  pid_t hog = 0;
  ASSERT_EQ(read(ends[0], &hog, sizeof hog), static_cast<ssize_t>(sizeof hog));
  waitpid(parent, nullptr, 0);
  bool found = false;
  for (int look = 0; look < 20 && !found; ++look)
    for (const BusyProgram& program : busy_programs(0.2)) found = found || program.pid == hog;
  kill(hog, SIGKILL);
  close(ends[0]);
  close(ends[1]);
  EXPECT_TRUE(found);
}

TEST(OtherPrograms, AreWaitedForUntilTheyAreGone) {
  int looks = 0;
  const auto look = [&] {
    return is_quiet(++looks < 3 ? std::vector<BusyProgram>{{7, "hog", 0.5}}
                                : std::vector<BusyProgram>{{8, "top", 0.02}});
  };
  const auto never = [] { return false; };
  EXPECT_TRUE(wait_for_quiet(1000, never, look));
  EXPECT_EQ(looks, 3);
  looks = -1000;
  EXPECT_FALSE(wait_for_quiet(0, never, look));
  EXPECT_EQ(looks, -999) << "one look, where nobody asked to wait";
  EXPECT_FALSE(wait_for_quiet(
      1000, [] { return true; }, look))
      << "interrupted";
}

}  // namespace
}  // namespace convscope

// LostTime: what a sample's threads could not compute although they had work: other programs had their core,
// something stopped the process, or the hypervisor took the core away. Neither the clock nor the load average
// shows it for one sample. Sources: proc(5) (stat, field "steal") and the kernel's
// Documentation/scheduler/sched-stats.rst (schedstat of a task).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace convscope {

// A point in time and what the kernel had counted of this process until then, all of its threads: those of
// OpenMP and those of libraries.
struct ThreadReading {
  struct Thread {
    int64_t id = 0;
    double running_seconds = 0;
    double waiting_seconds =
        0;  // ready to run while another thread had the core; 0 where the kernel counts none
  };
  std::chrono::steady_clock::time_point at;
  std::vector<Thread> threads;  // by id
  // By core that a thread is pinned to, in steps of 10 ms; empty where there is no hypervisor.
  std::map<int, double> stolen_seconds;
};

// About 10 us per thread. Never fails: what cannot be read is missing.
ThreadReading read_threads();

enum class TimeThief { other_programs, stop, hypervisor };

struct LostTime {
  double wall_seconds = 0;     // between the two readings
  double waiting_seconds = 0;  // of the thread that waited longest
  // In which no thread ran or waited: a stop (SIGSTOP, cpulimit, a frozen cgroup). 0 where no clock of theirs
  // can be read.
  double stopped_seconds = 0;
  double stolen_seconds = 0;  // of the core that lost most

  double seconds() const;  // the largest of the three; 0 where it is no more than the readings' own error
  double share() const { return wall_seconds > 0 ? seconds() / wall_seconds : 0; }
  TimeThief thief() const;  // whose the largest is
};
LostTime lost_time(const ThreadReading& before, const ThreadReading& after);

// A sample that lost more than this share of its time is disturbed.
inline constexpr double kDisturbedShare = 0.03;

// "other programs had a core", and so on.
std::string text(TimeThief thief);

}  // namespace convscope

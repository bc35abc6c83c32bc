#include "bench/measure/lost_time.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <system_error>

#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/system_files.hpp"

namespace convscope {
namespace {

// A thread that is woken waits for its core a little on a quiet machine, too.
constexpr double kWakeUpSeconds = 50e-6;
// One thread may sleep at a barrier while another computes, and the other way round: only a long standstill
// of all threads shows that something stopped them.
constexpr double kStoppedShare = 0.2;

// The clock of a thread's processor time, as pthread_getcpuclockid() makes it; it takes no thread id.
clockid_t processor_clock(int64_t thread) {
  return static_cast<clockid_t>((~static_cast<uint64_t>(thread) << 3) | 6);
}

// The second number of a line "running waiting slices", nanoseconds.
double waiting_seconds(const std::filesystem::path& task) {
  std::ifstream file(task / "schedstat");
  uint64_t running = 0, waiting = 0;
  return file >> running >> waiting ? static_cast<double>(waiting) * 1e-9 : 0;
}

double tick_seconds() {
  static const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  return tick;
}

// The core that a thread is pinned to; -1 where it may run on several.
int core_of(int64_t thread) {
  const std::vector<int> allowed = cores_for(static_cast<pid_t>(thread));
  return allowed.size() == 1 ? allowed.front() : -1;
}

// Of each of the cores, from the eighth number of its line "cpuN", in clock ticks.
std::map<int, double> stolen_seconds(const std::set<int>& cores) {
  std::map<int, double> stolen;
  std::ifstream file("/proc/stat");
  for (std::string name; file >> name && name.starts_with("cpu");) {
    double ticks = 0;
    for (int field = 0; field < 8; ++field) file >> ticks;
    int core = -1;
    std::from_chars(name.data() + 3, name.data() + name.size(), core);
    if (cores.contains(core)) stolen[core] = ticks * tick_seconds();
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return stolen;
}

}  // namespace

ThreadReading read_threads() {
  static const bool is_virtual = has_hypervisor("");
  ThreadReading reading;
  std::set<int> cores;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    ThreadReading::Thread& thread = reading.threads.emplace_back();
    const std::string id = entry.path().filename().string();
    std::from_chars(id.data(), id.data() + id.size(), thread.id);
    thread.waiting_seconds = waiting_seconds(entry.path());
    if (const int core = is_virtual ? core_of(thread.id) : -1; core >= 0) cores.insert(core);
    timespec running{};
    if (clock_gettime(processor_clock(thread.id), &running) == 0)
      thread.running_seconds =
          static_cast<double>(running.tv_sec) + static_cast<double>(running.tv_nsec) * 1e-9;
  }
  std::sort(reading.threads.begin(), reading.threads.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  if (is_virtual) reading.stolen_seconds = stolen_seconds(cores);
  reading.at = Clock::now();
  return reading;
}

double LostTime::seconds() const {
  const double most = std::max({waiting_seconds, stopped_seconds, stolen_seconds});
  return most > kWakeUpSeconds ? most : 0;
}

TimeThief LostTime::thief() const {
  if (stolen_seconds > std::max(waiting_seconds, stopped_seconds)) return TimeThief::hypervisor;
  return stopped_seconds > waiting_seconds ? TimeThief::stop : TimeThief::other_programs;
}

LostTime lost_time(const ThreadReading& before, const ThreadReading& after) {
  LostTime lost;
  lost.wall_seconds = std::chrono::duration<double>(after.at - before.at).count();
  double standstill = lost.wall_seconds, max_running = 0;
  for (const ThreadReading::Thread& now : after.threads) {
    const auto same = std::find_if(before.threads.begin(), before.threads.end(),
                                   [&](const auto& then) { return then.id == now.id; });
    const ThreadReading::Thread then = same == before.threads.end() ? ThreadReading::Thread{} : *same;
    const double waited = now.waiting_seconds - then.waiting_seconds;
    const double running = now.running_seconds - then.running_seconds;
    lost.waiting_seconds = std::max(lost.waiting_seconds, waited);
    max_running = std::max(max_running, running);
    standstill = std::min(standstill, lost.wall_seconds - waited - running);
  }
  // A thread read the clocks: where none of them went on, they cannot be read.
  if (max_running > 0 && standstill > kStoppedShare * lost.wall_seconds) lost.stopped_seconds = standstill;
  for (const auto& [core, stolen] : after.stolen_seconds)
    if (const auto then = before.stolen_seconds.find(core); then != before.stolen_seconds.end())
      lost.stolen_seconds = std::max(lost.stolen_seconds, stolen - then->second - tick_seconds());
  return lost;
}

std::string text(TimeThief thief) {
  switch (thief) {
    case TimeThief::other_programs:
      return "other programs had a core";
    case TimeThief::stop:
      return "the process was stopped";
    case TimeThief::hypervisor:
      return "the hypervisor had a core";
  }
  return "";
}

}  // namespace convscope

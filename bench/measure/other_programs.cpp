#include "bench/measure/other_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/processes.hpp"

namespace convscope {
namespace {

constexpr double kWorthNaming = 0.01;  // of a core
constexpr auto kPauseBetweenLooks = std::chrono::milliseconds(200);

}  // namespace

std::vector<BusyProgram> busy_programs(double seconds) {
  const auto begin = Clock::now();
  const std::map<int64_t, Process> before = read_processes();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const std::map<int64_t, Process> after = read_processes();
  const double wall = seconds_since(begin);
  const std::set<int64_t> own = own_family(after);
  std::vector<BusyProgram> busy;
  for (const auto& [pid, now] : after) {
    const auto then = before.find(pid);
    const double used = (now.seconds - (then == before.end() ? 0 : then->second.seconds)) / wall;
    if (used > kWorthNaming && !own.contains(pid)) busy.push_back({pid, now.name, used});
  }
  std::sort(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.cores > b.cores; });
  return busy;
}

std::string text(const std::vector<BusyProgram>& programs) {
  std::vector<std::string> words;
  words.reserve(programs.size());
  for (const BusyProgram& program : programs)
    words.push_back(
        fmt::format("{} (pid {}) {:.0f}% of a core", program.name, program.pid, 100 * program.cores));
  return three_of(words);
}

bool is_quiet(const std::vector<BusyProgram>& programs) {
  double cores = 0;
  for (const BusyProgram& program : programs) cores += program.cores;
  return cores <= kQuietCores;
}

bool wait_for_quiet(double seconds, const std::function<bool()>& stopped,
                    const std::function<bool()>& is_quiet) {
  const auto begin = Clock::now();
  while (!is_quiet()) {
    if (seconds_since(begin) >= seconds || stopped()) return false;
    std::this_thread::sleep_for(kPauseBetweenLooks);
  }
  return true;
}

}  // namespace convscope

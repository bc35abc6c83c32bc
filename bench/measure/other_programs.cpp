#include "bench/measure/other_programs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>

#include "bench/core/stopwatch.hpp"

namespace convscope {
namespace {

constexpr double kWorthNaming = 0.01;  // of a core
constexpr size_t kNamed = 3;
constexpr auto kPauseBetweenLooks = std::chrono::milliseconds(200);

struct Process {
  std::string name;
  int64_t parent = 0;
  double seconds = 0;  // of the processor, so far
};

// proc(5): "pid (name) state parent ... utime stime", the name with any characters.
Process read_process(const std::filesystem::path& folder) {
  Process process;
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return process;
  process.name = line.substr(open + 1, close - open - 1);
  std::istringstream rest(line.substr(close + 1));
  std::string state;
  rest >> state >> process.parent;
  std::string skipped;
  for (int field = 5; field < 14; ++field) rest >> skipped;
  double user = 0, system = 0;
  rest >> user >> system;
  process.seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return process;
}

std::map<int64_t, Process> read_processes() {
  std::map<int64_t, Process> processes;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    int64_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr == name.data() + name.size())
      processes[pid] = read_process(entry.path());
  }
  return processes;
}

// This process, those that started it and those that it started.
std::set<int64_t> own_family(const std::map<int64_t, Process>& processes) {
  std::set<int64_t> family;
  for (int64_t pid = getpid(); pid > 0 && family.insert(pid).second;) {
    const auto found = processes.find(pid);
    pid = found == processes.end() ? 0 : found->second.parent;
  }
  for (const auto& [pid, process] : processes)
    for (int64_t above = process.parent; above > 1;) {
      if (above == getpid()) family.insert(pid);
      const auto found = processes.find(above);
      above = found == processes.end() || above == getpid() ? 0 : found->second.parent;
    }
  return family;
}

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
  std::string words;
  for (size_t i = 0; i < std::min(kNamed, programs.size()); ++i)
    words += fmt::format("{}{} (pid {}) {:.0f}% of a core", i == 0 ? "" : ", ", programs[i].name,
                         programs[i].pid, 100 * programs[i].cores);
  if (programs.size() > kNamed) words += fmt::format(", {} more", programs.size() - kNamed);
  return words;
}

bool is_quiet(const std::vector<BusyProgram>& programs) {
  double cores = 0;
  for (const BusyProgram& program : programs) cores += program.cores;
  return cores <= kQuietCores;
}

bool wait_for_quiet(double seconds, const std::function<bool()>& stopped,
                    const std::function<std::vector<BusyProgram>()>& look) {
  const auto begin = Clock::now();
  while (!is_quiet(look())) {
    if (seconds_since(begin) >= seconds || stopped()) return false;
    std::this_thread::sleep_for(kPauseBetweenLooks);
  }
  return true;
}

}  // namespace convscope

#include "bench/device/cpu/processes.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace convscope {
namespace {

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

}  // namespace

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

std::string three_of(const std::vector<std::string>& processes) {
  constexpr size_t named = 3;
  std::string words;
  for (size_t i = 0; i < std::min(named, processes.size()); ++i) words += (i == 0 ? "" : ", ") + processes[i];
  if (processes.size() > named) words += ", " + std::to_string(processes.size() - named) + " more";
  return words;
}

}  // namespace convscope

#include "bench/device/cpu/system_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

namespace convscope {
namespace {

// Bytes in a sysfs size such as "36608K".
int64_t size_in_bytes(const std::string& text) {
  char* end = nullptr;
  const int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (*end == 'K') return value << 10;
  if (*end == 'M') return value << 20;
  return value;
}

struct Cache {
  int level = 0;
  int64_t bytes = 0;
  std::string shared_by;  // the list of cores
};

// The caches of a core that hold data.
std::vector<Cache> caches_of(const std::string& root, int core) {
  std::vector<Cache> caches;
  const std::string base = root + "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index";
  for (int index = 0;; ++index) {
    const std::string folder = base + std::to_string(index) + "/";
    const std::string level = first_line(folder + "level");
    if (level.empty()) return caches;
    if (first_line(folder + "type") == "Instruction") continue;
    caches.push_back({std::atoi(level.c_str()), size_in_bytes(first_line(folder + "size")),
                      first_line(folder + "shared_cpu_list")});
  }
}

// What a control group's folder allows; nothing without a limit.
using LimitOf = std::optional<double> (*)(const std::string& folder);

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;  // "max", or no such file
  return value;
}

std::optional<double> share(std::optional<double> quota, std::optional<double> period) {
  if (!quota || *quota <= 0 || !period || *period <= 0) return std::nullopt;  // -1 is none
  return *quota / *period;
}

// The lowest limit of `folder` + `group` and of the groups above it.
void lower_to(std::optional<double>& lowest, const std::string& folder, std::string group, LimitOf limit_of) {
  for (;;) {
    if (const auto limit = limit_of(folder + group)) lowest = std::min(lowest.value_or(*limit), *limit);
    if (group.empty()) return;
    group.erase(group.find_last_of('/'));
  }
}

// The lowest that the process's groups and those above them allow of what the controller `name` counts;
// `unified` reads version 2, `single` version 1.
std::optional<double> control_group_limit(const std::string& root, const std::string& name, LimitOf unified,
                                          LimitOf single) {
  const std::string groups = root + "/sys/fs/cgroup", own = groups + "/" + name;
  std::optional<double> lowest;
  // A container sees its own limits at the top, whatever the lines below call its group.
  lower_to(lowest, groups, "", unified);
  lower_to(lowest, own, "", single);
  std::ifstream lines(root + "/proc/self/cgroup");  // "number:controllers:/group"
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line.find('/', second) != second + 1) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (controllers == ",,") lower_to(lowest, groups, group, unified);
    if (controllers.find("," + name + ",") != std::string::npos) lower_to(lowest, own, group, single);
  }
  return lowest;
}

}  // namespace

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string cpuinfo(const std::string& root, const std::string& key) {
  std::ifstream file(root + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.rfind(key, 0) != 0 ||
        line.find_first_not_of(" \t", key.size()) != colon)
      continue;
    const size_t value = line.find_first_not_of(' ', colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

bool has_hypervisor(const std::string& root) {
  return (" " + cpuinfo(root, "flags") + " ").find(" hypervisor ") != std::string::npos;
}

bool is_container(const std::string& root) {
  for (const char* sign : {"/.dockerenv", "/run/.containerenv", "/.singularity.d"})
    if (std::error_code unknown; std::filesystem::exists(root + sign, unknown)) return true;
  std::ifstream mounts(root + "/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string source, place, type;
    if (words >> source >> place >> type && place == "/" && type == "overlay") return true;
  }
  return false;
}

CacheSizes cache_sizes(const std::string& root, const std::vector<int>& cores) {
  CacheSizes sizes;
  int last_level = 0;
  std::map<std::string, int64_t> last_level_caches;  // by the cores that share them
  for (const int core : cores)
    for (const Cache& cache : caches_of(root, core)) {
      if (core == cores.front() && cache.level == 1) sizes.l1 = cache.bytes;
      if (core == cores.front() && cache.level == 2) sizes.l2 = cache.bytes;
      if (cache.level > last_level) last_level_caches.clear();
      last_level = std::max(last_level, cache.level);
      if (cache.level == last_level) last_level_caches[cache.shared_by] = cache.bytes;
    }
  for (const auto& [shared_by, bytes] : last_level_caches) sizes.last_level += bytes;
  return sizes;
}

int64_t physical_memory() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

int64_t control_group_memory(const std::string& root) {
  const auto limit = control_group_limit(
      root, "memory", [](const std::string& folder) { return number(first_line(folder + "/memory.max")); },
      [](const std::string& folder) { return number(first_line(folder + "/memory.limit_in_bytes")); });
  constexpr double kMeansNone = 0x1p62;  // or more, in version 1
  return limit && *limit < kMeansNone ? static_cast<int64_t>(*limit) : std::numeric_limits<int64_t>::max();
}

int64_t allowed_memory(const std::string& root) {
  return std::min(physical_memory(), control_group_memory(root));
}

std::optional<double> control_group_cores(const std::string& root) {
  return control_group_limit(
      root, "cpu",
      [](const std::string& folder) {
        std::istringstream words(first_line(folder + "/cpu.max"));  // "200000 100000", microseconds
        std::string quota, period;
        words >> quota >> period;
        return share(number(quota), number(period));
      },
      [](const std::string& folder) {
        return share(number(first_line(folder + "/cpu.cfs_quota_us")),
                     number(first_line(folder + "/cpu.cfs_period_us")));
      });
}

std::optional<int64_t> available_memory(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  int64_t kibibytes = 0;
  for (std::string word; file >> word;)
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes << 10;
  return std::nullopt;
}

std::vector<int> cores_for(pid_t thread, int (*ask)(pid_t, size_t, cpu_set_t*)) {
  constexpr size_t kMaxSets = 64;  // of 1024 cores each; Linux builds have numbers for 8192 at most
  for (size_t sets = 1; sets <= kMaxSets; sets *= 2) {
    std::vector<cpu_set_t> set(sets);
    const size_t bytes = sets * sizeof(cpu_set_t);
    if (ask(thread, bytes, set.data()) != 0) {
      if (errno == EINVAL) continue;  // smaller than the kernel's
      return {};
    }
    std::vector<int> cores;
    for (int core = 0; core < static_cast<int>(8 * bytes); ++core)
      if (CPU_ISSET_S(core, bytes, set.data())) cores.push_back(core);
    return cores;
  }
  return {};
}

}  // namespace convscope

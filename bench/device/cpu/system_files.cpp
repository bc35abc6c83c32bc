#include "bench/device/cpu/system_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
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

// The lowest number that `file` holds in `folder` + `group` and in the groups above it.
int64_t lowest_limit(const std::string& folder, std::string group, const std::string& file) {
  int64_t lowest = std::numeric_limits<int64_t>::max();
  for (;;) {
    const std::string limit = first_line(folder + group + "/" + file);  // "max" is no limit
    if (!limit.empty() && limit != "max")
      lowest = std::min<int64_t>(lowest, std::strtoll(limit.c_str(), nullptr, 10));
    if (group.empty()) return lowest;
    group.erase(group.find_last_of('/'));
  }
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

int64_t control_group_memory(const std::string& root) {
  const std::string groups = root + "/sys/fs/cgroup";
  // A container sees its own limits at the top, whatever the lines below call its group.
  int64_t lowest = std::min(lowest_limit(groups, "", "memory.max"),
                            lowest_limit(groups + "/memory", "", "memory.limit_in_bytes"));
  std::ifstream lines(root + "/proc/self/cgroup");  // "number:controllers:/group"
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line.find('/', second) != second + 1) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (controllers == ",,") lowest = std::min(lowest, lowest_limit(groups, group, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos)
      lowest = std::min(lowest, lowest_limit(groups + "/memory", group, "memory.limit_in_bytes"));
  }
  return lowest;
}

std::optional<int64_t> available_memory(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  int64_t kibibytes = 0;
  for (std::string word; file >> word;)
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes << 10;
  return std::nullopt;
}

}  // namespace convscope

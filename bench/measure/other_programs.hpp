// OtherPrograms: which programs besides this one use the processor, read from /proc twice with a pause
// between. In a container only its own programs are seen.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace convscope {

struct BusyProgram {
  int64_t pid = 0;
  std::string name;  // as the kernel has it, 15 characters at most
  double cores = 0;  // processor time over wall time: 1 is one core, all the time
};

// Programs that used more than a hundredth of a core within the next `seconds`, the busiest first. Not this
// process, nor one that started it or that it started (a shell, a worker).
std::vector<BusyProgram> busy_programs(double seconds);

// "stress-ng (pid 4242) 98% of a core, 2 more": the three busiest; "" for none.
std::string text(const std::vector<BusyProgram>& programs);

// All other programs together may use this share of a core before a machine is called loaded.
inline constexpr double kQuietCores = 0.05;
double cores_used(const std::vector<BusyProgram>& programs);

struct Quiet {
  bool is_quiet = false;
  double waited_seconds = 0;
  std::vector<BusyProgram> programs;  // of the last look
};
// Looks at once, then again and again until the others use no more than kQuietCores or `seconds` are over.
// `stopped` ends it early; tests have another `look`.
Quiet wait_for_quiet(double seconds, const std::function<bool()>& stopped,
                     const std::function<std::vector<BusyProgram>()>& look);

}  // namespace convscope

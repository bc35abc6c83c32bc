// Which programs besides this one use the processor, read from /proc twice with a pause between. In a
// container only its own programs are seen.
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
bool is_quiet(const std::vector<BusyProgram>& programs);

// Asks at once, then again and again until the machine is quiet, `seconds` are over or `stopped`. Returns
// whether it is quiet.
bool wait_for_quiet(double seconds, const std::function<bool()>& stopped,
                    const std::function<bool()>& is_quiet);

}  // namespace convscope

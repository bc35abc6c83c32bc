#include "bench/measure/health.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "bench/device/cpu/system_files.hpp"
#include "bench/measure/stopwatch.hpp"

namespace convscope {
namespace {

constexpr int kAdditions = 1 << 14;

// Additions that each wait for the one before. The empty assembly hides the values from the compiler, which
// would multiply instead; adding a register, not a constant, keeps the processor from merging them.
uint64_t dependent_additions(uint64_t x, uint64_t y) {
  asm volatile("" : "+r"(y));
#pragma GCC unroll 16
  for (int i = 0; i < kAdditions; ++i) {
    x += y;
    asm volatile("" : "+r"(x));
  }
  return x;
}

}  // namespace

std::optional<std::string> frequency_governor() {
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return governor.empty() ? std::nullopt : std::optional(governor);
}

std::optional<double> load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

double measured_clock_mhz() {
  double shortest = std::numeric_limits<double>::infinity();
  uint64_t x = 0;
  // The best of several: one may be interrupted.
  for (int turn = 0; turn < 4; ++turn) {
    const auto begin = Clock::now();
    x = dependent_additions(x, 1);
    shortest = std::min(shortest, seconds_since(begin));
  }
  return kAdditions / shortest * 1e-6;
}

double involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_nivcsw);
}

}  // namespace convscope

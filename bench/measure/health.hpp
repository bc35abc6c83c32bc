// The state of the machine while something is measured: load, clock, governor, forced context switches. Reads
// /proc, /sys and a clock; changes nothing.
#pragma once

#include <optional>
#include <string>

namespace convscope {

// CPU 0's frequency governor; nothing where the kernel shows none (most virtual machines).
std::optional<std::string> frequency_governor();

// The 1-minute load average.
std::optional<double> load_average();

// The calling core's clock, from a chain of dependent additions of one cycle each: about 30 us.
double measured_clock_mhz();

// Context switches forced on this process so far, all threads together.
double involuntary_switches();

}  // namespace convscope

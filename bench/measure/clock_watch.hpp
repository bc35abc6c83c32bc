// ClockWatch: whether a clock reading is that of a throttled device. Each is compared with the median of all
// readings of a group, so that one boosted reading changes nothing. Not here: reading the clock (health.hpp).
#pragma once

#include <vector>

namespace convscope {

// A clock below this share of the usual one is throttled.
inline constexpr double kThrottledClock = 0.75;

class ClockWatch {
 public:
  void add(double mhz);
  // Below kThrottledClock of the median of all readings so far; false before the first.
  bool is_throttled(double mhz) const;

 private:
  std::vector<double> sorted_;
};

}  // namespace convscope

#include "bench/measure/clock_watch.hpp"

#include <algorithm>

namespace convscope {

void ClockWatch::add(double mhz) {
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), mhz), mhz);
}

bool ClockWatch::is_throttled(double mhz) const {
  return !sorted_.empty() && mhz < kThrottledClock * sorted_[sorted_.size() / 2];
}

}  // namespace convscope

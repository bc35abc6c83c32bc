// The clock that limits of time are kept by. Samples are timed by the device's queue, not by this.
#pragma once

#include <chrono>

namespace convscope {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace convscope

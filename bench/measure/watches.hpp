// Whether the machine is slower than usual: ClockWatch judges a device's clock, CoreWatch where the threads
// are, DeviceWatch whether other programs use the device. Not here: taking a reading (health.hpp).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/measure/health.hpp"

namespace convscope {

// A clock below this share of the usual one is throttled.
inline constexpr double kThrottledClock = 0.75;

// Whether a clock reading is that of a throttled device. Each is compared with the median of all readings of
// a group, so that one boosted reading changes nothing.
class ClockWatch {
 public:
  void add(double mhz);
  // Below kThrottledClock of the median of all readings so far; false before the first.
  bool is_throttled(double mhz) const;

 private:
  std::vector<double> sorted_;
};

// Below this share of the best multiply-add rate, threads do not have cores of their own.
inline constexpr double kOwnCores = 0.7;
// Above this multiple of the shortest latency, threads share no cache although they could.
inline constexpr double kFarApart = 2;

// A hypervisor places virtual CPUs again that have slept this long; busy ones stay where they are.
inline constexpr auto kPlacingPause = std::chrono::milliseconds(10);

// Whether the threads are badly placed. It compares readings with the best one: on two virtual CPUs that
// share a core, multiply-adds take twice as long; between threads that share no cache, a cache line takes
// several times as long.
class CoreWatch {
 public:
  using Read = std::function<CoreReading()>;  // empty: nothing to watch, as on a GPU

  // `known` holds the best figures known from elsewhere; 0 and null where there are none. All calls of wait()
  // together wait for about `patience_seconds` at most.
  CoreWatch(Read read, const CoreReading& known, double patience_seconds);

  // A reading. Its rate and latency become the best where they are; a latency counts only if the reading
  // before confirms it.
  std::optional<CoreReading> read();
  // Readings with pauses between them, in which the hypervisor may place the threads better, until one is not
  // slow or the patience is spent.
  std::optional<CoreReading> wait();

  // Compared with the best so far; the rate of the best is 1, its distance too.
  double share(const CoreReading& reading) const;
  double distance(const CoreReading& reading) const;
  bool is_slow(const CoreReading& reading) const;

  const CoreReading& best() const { return best_; }
  double waited_seconds() const { return waited_; }

 private:
  Read read_;
  CoreReading best_;
  std::optional<double> before_;  // the latency of the last reading, if the threads had cores of their own
  double patience_;
  double waited_ = 0;
};

// Whether other programs had more of the device than a sample may lose.
bool is_used_by_others(const DeviceState& state);
// Whether a wait would show that they end: not where programs have no names, of which this one may be any,
// and while it waits would be none.
bool is_worth_waiting(const DeviceState& state);

// The state of a device, before a sample.
class DeviceWatch {
 public:
  // All calls of wait() together wait for about `patience_seconds` at most.
  DeviceWatch(std::function<DeviceState()> read, double patience_seconds);

  // Reads it, again and again while other programs use the device and the patience is not spent: the driver
  // counts them in intervals, so that a sample that is taken again at once would be judged by the same one.
  DeviceState wait();

  double waited_seconds() const { return waited_; }

 private:
  std::function<DeviceState()> read_;
  double patience_;
  double waited_ = 0;
};

}  // namespace convscope

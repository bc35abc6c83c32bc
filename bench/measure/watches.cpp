#include "bench/measure/watches.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "bench/core/stopwatch.hpp"
#include "bench/measure/lost_time.hpp"

namespace convscope {
namespace {

// A driver's answer is new several times a second.
constexpr auto kCountingPause = std::chrono::milliseconds(50);

}  // namespace

void ClockWatch::add(double mhz) {
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), mhz), mhz);
}

bool ClockWatch::is_throttled(double mhz) const {
  return !sorted_.empty() && mhz < kThrottledClock * sorted_[sorted_.size() / 2];
}

CoreWatch::CoreWatch(Read read, const CoreReading& known, double patience_seconds)
    : read_(std::move(read)), best_(known), patience_(patience_seconds) {}

std::optional<CoreReading> CoreWatch::read() {
  if (!read_) return std::nullopt;
  const CoreReading reading = read_();
  best_.multiply_add_rate = std::max(best_.multiply_add_rate, reading.multiply_add_rate);
  // The latency is shortest between two threads on one core, which is not what to wait for. They may come to
  // share one within a reading, after its multiply-adds: only what two readings in a row have seen counts.
  const bool own_cores = share(reading) >= kOwnCores;
  if (own_cores && reading.core_to_core_latency_seconds && before_)
    best_.core_to_core_latency_seconds = std::min(std::max(*reading.core_to_core_latency_seconds, *before_),
                                                  best_.core_to_core_latency_seconds.value_or(1));
  before_ = own_cores ? reading.core_to_core_latency_seconds : std::nullopt;
  return reading;
}

std::optional<CoreReading> CoreWatch::wait() {
  std::optional<CoreReading> reading = read();
  while (reading && is_slow(*reading) && waited_ < patience_) {
    const auto begin = Clock::now();
    std::this_thread::sleep_for(kPlacingPause);
    reading = read();
    waited_ += seconds_since(begin);
  }
  return reading;
}

double CoreWatch::share(const CoreReading& reading) const {
  return best_.multiply_add_rate > 0 ? reading.multiply_add_rate / best_.multiply_add_rate : 1;
}

double CoreWatch::distance(const CoreReading& reading) const {
  return reading.core_to_core_latency_seconds && best_.core_to_core_latency_seconds
             ? *reading.core_to_core_latency_seconds / *best_.core_to_core_latency_seconds
             : 1;
}

bool CoreWatch::is_slow(const CoreReading& reading) const {
  return share(reading) < kOwnCores || distance(reading) > kFarApart;
}

bool is_used_by_others(const DeviceState& state) {
  return state.others && state.others->share > kDisturbedShare;
}

bool is_worth_waiting(const DeviceState& state) {
  return is_used_by_others(state) && !state.others->programs.empty();
}

DeviceWatch::DeviceWatch(std::function<DeviceState()> read, double patience_seconds)
    : read_(std::move(read)), patience_(patience_seconds) {}

DeviceState DeviceWatch::wait() {
  DeviceState state = read_();
  while (is_worth_waiting(state) && waited_ < patience_) {
    const auto begin = Clock::now();
    std::this_thread::sleep_for(kCountingPause);
    state = read_();
    waited_ += seconds_since(begin);
  }
  return state;
}

}  // namespace convscope

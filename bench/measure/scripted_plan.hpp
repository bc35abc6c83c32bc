// Plans and a queue with a clock of their own, for the tests of measure_group: a plan says how long it takes,
// so that every number is known.
#pragma once

#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/device_error.hpp"
#include "bench/measure/measure_group.hpp"

namespace convscope::testing {

// A queue whose clock only moves when a plan says so. It holds back `most_held` operations, or is a CPU's.
class ScriptedQueue final : public Queue {
 public:
  std::optional<int64_t> most_held;

  void synchronize() override {}
  void wait_for(Queue&) override {}
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows) override {
    for (size_t row = 0; row < rows; ++row)
      std::memcpy(static_cast<std::byte*>(to) + row * to_step,
                  static_cast<const std::byte*>(from) + row * from_step, bytes);
  }
  void hold_back(bool on) override { holds_back_ = on; }
  std::optional<int64_t> max_held_operations() const override { return most_held; }
  void begin_timing() override {
    timing_ = {};
    is_timing_ = true;
    if (most_held) timing_.held = holds_back_;
    current_.reset();
  }
  bool is_held() const { return timing_.held.value_or(false); }
  void enqueue(int64_t operations) {
    timing_.operations += operations;
    if (most_held && timing_.operations > *most_held) timing_.held = false;
  }
  void mark_phases(bool on) override { marks_ = on; }
  void phase(Phase phase) override {
    if (marks_) current_ = phase;
  }
  void end_phase() override { current_.reset(); }
  void lap() override {
    const std::vector<double>& laps = timing_.lap_seconds;
    timing_.lap_seconds.push_back(timing_.seconds - std::accumulate(laps.begin(), laps.end(), 0.0));
  }
  Timing end_timing() override {
    is_timing_ = false;
    return timing_;
  }
  bool is_timing() const { return is_timing_; }
  void pass(double seconds) {
    timing_.seconds += seconds;
    if (!current_) return;
    auto& total = timing_.phase_seconds[static_cast<size_t>(*current_)];
    total = total.value_or(0) + seconds;
  }

 private:
  Timing timing_;
  std::optional<Phase> current_;
  bool marks_ = true;
  bool is_timing_ = false;
  bool holds_back_ = true;
};

// Times that are sums of powers of two, so that differences come out exactly.
struct ScriptedPlan final : Plan {
  double product = 1.0 / 256;  // seconds
  double layout = 0;
  double preparing = 0;
  int fails_at = 0;   // this run throws
  int loses_at = 0;   // this run loses the device
  int stalls_at = 0;  // this run takes a second more
  int64_t operations = 0;
  int runs = 0, prepares = 0;  // timed ones
  std::string calls;  // p: prepare, r: run with a space after it; in capitals those that are not timed
  ConvArgs last;      // of the last run
  int held_runs = 0;
  bool first_run_was_held = false;
  std::set<void*> inputs, filters, outputs;

  bool has_prepare() const override { return preparing > 0; }
  void prepare(const ConvArgs&, Queue& queue) override {
    auto& clock = static_cast<ScriptedQueue&>(queue);
    calls += clock.is_timing() ? 'p' : 'P';
    if (!clock.is_timing()) return;
    ++prepares;
    clock.pass(preparing);
  }
  void run(const ConvArgs& args, Queue& queue) override {
    auto& clock = static_cast<ScriptedQueue&>(queue);
    calls += clock.is_timing() ? "r " : "R ";
    last = args;
    if (!clock.is_timing()) return;
    if (++runs == fails_at) throw std::runtime_error("planted failure");
    if (runs == loses_at) throw DeviceLost("planted loss");
    inputs.insert(args.input);
    filters.insert(args.filter);
    outputs.insert(args.output);
    if (runs == 1) first_run_was_held = clock.is_held();
    held_runs += clock.is_held();
    clock.enqueue(operations);
    if (layout > 0) {
      queue.phase(Phase::layout);
      clock.pass(layout);
      queue.end_phase();
    }
    clock.pass(product + (runs == stalls_at ? 1 : 0));
  }
};

struct Bench {
  CpuDevice device;
  ScriptedQueue queue;
  ConvProblem problem = parse_problem("n=1 c=2 hw=5 k=3 rs=3x3");
  MeasureOptions options;
  Buffer workspace{device, 64};

  Bench() {
    options.cache = CacheState::hot;
    options.warmup_seconds = 0;
    // Those of a busy machine would look throttled at times.
    options.clock_mhz = [] { return 3000.0; };
    options.read_cores = [] { return CoreReading{1e11, 25e-9}; };
    options.read_threads = nullptr;
    options.other_programs = [] { return std::vector<BusyProgram>{}; };
  }
  GroupMeasurement measure(std::vector<ScriptedPlan*> plans, const MeasureObserver& observer = nullptr) {
    std::vector<MeasureCandidate> candidates;
    for (ScriptedPlan* plan : plans)
      candidates.push_back({"plan" + std::to_string(candidates.size()), plan, &workspace});
    return measure_group(problem, candidates, device, queue, options, observer);
  }
};

}  // namespace convscope::testing

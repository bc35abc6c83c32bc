// Sampler: runs one candidate and returns what the clock and the machine said, once as a warm-up, then sample
// by sample. All candidates of a group share its tensors and its view of what clock and cores are usual, so
// that each sample is judged against the whole group. Not here: how many samples a candidate gets
// (measure_group).
#pragma once

#include <cstdint>
#include <optional>

#include "bench/measure/measure_group.hpp"
#include "bench/measure/sample_series.hpp"
#include "bench/measure/tensor_copies.hpp"
#include "bench/measure/watches.hpp"

namespace convscope {

// What a candidate's untimed runs showed; the fastest one sizes the samples.
struct WarmUp {
  int64_t runs = 0;
  double run_seconds = 0;    // of the fastest
  double whole_seconds = 0;  // wall time of the fastest, its eviction included
  int64_t operations = 0;    // of one run: places in the queue of launches
  int64_t iterations = 1;    // that make a sample
  bool has_phases = false;
};

// How many runs, of so many operations each, make a sample: 1, or as many as min_sample_seconds need, but no
// more than the queue can hold back together.
int64_t iterations_of_sample(double run_seconds, int64_t operations, const MeasureOptions& options,
                             const Queue& queue);

class Sampler {
 public:
  // All of them outlive it.
  Sampler(const ConvProblem& problem, Device& device, Queue& queue, const MeasureOptions& options);

  // Before the first candidate: learns the usual clock, and waits for well placed threads.
  void read_usual_state();

  // At least warmup_runs and warmup_seconds, unless that would take more than half of the time limit; one run
  // less where a run is long. Throws what the plan throws.
  WarmUp warm_up(const MeasureCandidate& candidate);

  // What a sample of so many runs is expected to take, with all that is not timed.
  double sample_seconds(const WarmUp& warm_up, int64_t iterations) const;

  // One sample of so many runs. Waits first, within core_patience_seconds, while the threads are badly placed
  // or other programs use the device.
  Sample take(const MeasureCandidate& candidate, SeriesKind kind, int64_t iterations);

  // Spent on waiting for better placed threads and for other programs on the device so far; not charged to
  // any candidate's time limit.
  double waited_seconds() const { return cores_.waited_seconds() + watch_.waited_seconds(); }
  int64_t tensor_copies() const { return copies_.count(); }
  const ClockWatch& clocks() const { return clocks_; }
  const CoreWatch& cores() const { return cores_; }

 private:
  DeviceState read_state();
  // On the next copy; returns its operands.
  ConvArgs run(const MeasureCandidate& candidate, bool prepares);
  // The sum over so many runs. What must be cold is evicted after each, the clock stopped.
  Timing time(const MeasureCandidate& candidate, int64_t iterations, bool prepares);
  void evict(const ConvArgs& args, size_t workspace_bytes);
  void judge(Sample& sample, const std::optional<CoreReading>& before);

  const ConvProblem& problem_;
  Device& device_;
  Queue& queue_;
  const MeasureOptions& options_;
  TensorCopies copies_;
  ClockWatch clocks_;
  CoreWatch cores_;
  DeviceWatch watch_;
};

}  // namespace convscope

// How long a run takes, from its protocol and what the machine can do, before anything is run: for
// --dry-run. The time of a candidate's run is the cost model's (bench/select/cost_model); how many samples
// its series take follows from the very rule that stops them (bench/measure/statistics), fed with samples
// that spread as the machine's do, some series more than others. A machine that is busy, or that places
// threads badly, takes longer: it is taken to be quiet.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bench/measure/measure_group.hpp"
#include "bench/record/result.hpp"
#include "bench/runner/cases.hpp"

namespace convscope {

// What is known of a device with a number of threads.
struct Pace {
  Ceilings ceilings;  // rates of 0 where they are not known
  // The standard deviation over the median of samples whose median has an interval as wide as it was: of
  // several series, each of which stands for as many. Never empty.
  std::vector<double> spreads{0.05};
  // The median of a candidate over the cost model's time: the mean over the runs in results/.
  double times_predicted = 1.3;
  double retaken = 0;  // samples that are taken again, over those that are kept
  // By algorithm, of those that were measured.
  std::map<std::string, double> times_predicted_of{}, plan_seconds_of{};
  // Of those that were measured, the ones that prepare their filter and that have phases.
  std::set<std::string> preparing{}, phased{};
};

// Of the runs that `convscope calibrate` keeps: the best ceilings, the spreads, the mean over the cost
// model's times, of all and by algorithm, the mean time of planning, the samples that were taken again, and
// which series algorithms have. Where there are none, of a CPU the ceilings that a twentieth of a second
// shows, of other devices nothing.
Pace pace_of(const DeviceInfo& device, int threads);

// A candidate that was not refused. `run_seconds`: of one run, prepare included.
struct PacedCandidate {
  double run_seconds = 0;
  int64_t workspace_bytes = 0;
  bool has_prepare = false;
  bool exact_on_integers = false;  // it is verified on two kinds of data
  bool is_timed = true;            // false: of the reference
  double evict_seconds = 0;        // after each run
  double plan_seconds = 0;
  bool has_phases = false;
};

// One run. `operations`: the plan's; of one that does not say what it does, or of a device that was not asked
// for plans, the direct method's. By the kind's rate for convolutions where no ceiling is known.
double run_seconds(const CaseKey& key, const std::optional<OperationCount>& operations, const Pace& pace);

// After each run of a candidate, in a state that is not hot, where ranges are evicted.
double evict_seconds(const CaseKey& key, int64_t workspace_bytes);

// Of one group, by stage.
struct StageSeconds {
  double start = 0;  // of the worker, and its end
  double plan = 0;
  double expected = 0;  // the values that candidates are compared with
  double verify = 0, measure = 0, verify_again = 0;
  double total() const { return start + plan + expected + verify + measure + verify_again; }
};

// 0 throughout without a candidate but for the worker's start.
StageSeconds estimate(const GroupTask& task, std::span<const PacedCandidate> candidates,
                      const DeviceInfo& device, const Pace& pace);

struct SeriesEstimate {
  double seconds = 0, retaken = 0;  // of samples how many are taken again
};
// Warm-up and all series of one candidate, with no more samples taken again than measure_group grants.
SeriesEstimate series_estimate(const PacedCandidate& candidate, const MeasureOptions& options, double spread,
                               double retaken = 0);

// What a run does besides its groups, which take `groups` seconds: ceilings for each of so many devices and
// numbers of threads that are measured with, once more after a long run, and a look for other programs.
double run_overhead_seconds(double groups, int64_t measured_with);

}  // namespace convscope

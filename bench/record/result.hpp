// The types of a record: its key, its measurement, its health and how it ended. Plain data; record_json.hpp
// is its JSON form, columns.hpp says how it is shown.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/algorithm_info.hpp"
#include "bench/core/device_info.hpp"
#include "bench/core/problem.hpp"

namespace convscope {

// How many samples a candidate gets, and how long it may take. The initial values are the documented
// defaults, written here and nowhere else: configs, tasks, measuring and records all hold one. When a series
// stops under it is bench/measure/statistics.
struct SamplingRule {
  double time_limit_seconds = 15;  // per candidate, warm-up included
  int64_t min_samples = 10;
  int64_t max_samples = 200;
  double confidence_width = 0.005;  // stop when the median's 95% interval is within this share of it
  bool repeat = false;              // --aa: a second series of every candidate
  double stage_limit_seconds = 0;   // of one stage of one candidate; 0: bench/runner/stage_limits derives it

  bool operator==(const SamplingRule&) const = default;
};

// Exactly one per candidate. Only `measured` can be best.
enum class Outcome {
  measured,
  verified_only,
  unsupported,
  over_workspace,
  out_of_memory,
  wrong,
  timeout,
  crashed,
  failed
};

// cold: tensors and workspace come from memory; hot: the same tensors again and again; weights_cold: as
// inside a network.
enum class CacheState { cold, hot, weights_cold };

inline constexpr auto kOutcomes = enumerators<Outcome::failed>();
inline constexpr auto kCacheStates = enumerators<CacheState::weights_cold>();
std::string_view name(Outcome);     // as spelled above
std::string_view name(CacheState);  // "cold", "hot", "weights-cold"

// Seconds, except n. The confidence interval is for the median, 95%, distribution-free; NaN where there are
// too few samples for one.
struct Statistics {
  int64_t n = 0;
  double median = 0, ci_low = 0, ci_high = 0;
  double min = 0, q1 = 0, q3 = 0, iqr = 0, mean = 0, stddev = 0;
};

// One of the three totals. Seconds per run, one entry a sample, in the order taken.
struct Series {
  std::vector<double> samples;
  Statistics statistics;
  // Of each sample, for `convscope-report compare`, which subtracts what the machine did meanwhile: when it
  // ended, in seconds since 1970, and how fast the machine was beside it, in 1e9 operations a second of its
  // threads or in MHz. Empty in older files and of `kernel`; speeds also where one is not known.
  std::vector<double> at_seconds, speeds;
  // On a GPU: samples whose work began before all of it was enqueued; null elsewhere.
  std::optional<int64_t> not_held;
};

// The version of docs/measuring.md: times that are measured by different ones are not compared.
inline constexpr int64_t kProtocol = 2;

struct Measurement {
  Series full;                      // everything, from the user's tensors to the user's tensor; the headline
  std::optional<Series> inference;  // filters prepared once; null where it equals full
  std::optional<Series> kernel;     // without layout reorders; null where it equals inference (or full)
  std::optional<Series> single;     // one launch alone, where `full` is the mean of a batch on a GPU
  std::array<std::optional<double>, kPhaseCount>
      phase_seconds;        // medians inside full; null where not separable
  double plan_seconds = 0;  // building the plan once, outside every total
  int64_t iterations_per_sample = 1;
  int64_t warmup_runs = 0;    // those of the verification not counted
  int64_t rounds = 0;         // how often the group was visited until this candidate converged
  int64_t tensor_copies = 1;  // rotated through for a cold cache
  int64_t protocol = 1;       // kProtocol of the program that measured; 1 where a file does not say
  std::string stop_reason;  // "converged", "time_limit", "max_samples"; before schema 3 also "noise_plateau"
  std::optional<Series> repeat;  // --aa: the same candidate's second, independent series of `full`
};

struct Health {
  std::string governor;    // CPU frequency governor, "unknown" when not readable
  double load_before = 0;  // 1-minute load average
  double load_after = 0;
  std::optional<double> clock_mhz;  // median over the samples, where readable
  // Likewise, of a CPU: the threads' multiply-add rate over the best one, and the time that a cache line
  // takes from one thread to the next.
  std::optional<double> core_share;
  std::optional<double> core_to_core_latency_seconds;
  std::optional<double> power_watts;           // likewise, of a GPU
  std::optional<double> temperature_celsius;   // the highest over the samples, of a GPU
  std::string throttle_reasons;                // all that the driver named while measuring, with commas
  std::optional<double> involuntary_switches;  // context switches forced on us while measuring
  int64_t discarded_samples = 0;
  bool throttled = false;
  // The median over the samples of the share of the time that was lost, on a CPU by a thread to other
  // programs, to the hypervisor or to a stop; how many of the samples lost too much; whether too many did,
  // and to whom.
  std::optional<double> lost_share;
  int64_t disturbed_samples = 0;
  bool disturbed = false;
  std::string disturbed_by;  // a sentence; empty unless disturbed
};

// What identifies a candidate inside one run of the program, besides the problem.
struct CaseKey {
  std::string network;
  std::string layer;
  int64_t count = 1;  // how often the network has this layer
  ConvProblem problem;
  std::string algorithm;  // id
  DeviceKind device = DeviceKind::cpu;
  int threads = 1;
  CacheState cache = CacheState::cold;
  std::optional<int64_t> workspace_cap;  // bytes; null is no cap
  uint64_t seed = 1;
  int knobs = 0;  // combinations of a library's knobs to try besides its defaults, at most
  int device_index = 0;

  DeviceId device_id() const { return {device, device_index}; }
};

// How a record stands among the records of its problem and circumstances. The first four have a rank, those
// that are `throttled` or `disturbed` with too long a time. `repeat`: another record of the candidate stands
// for it; `wrong_repeat`: the candidate is wrong in another.
enum class Standing {
  good,
  virtual_time,
  throttled,
  disturbed,
  repeat,
  wrong,
  wrong_repeat,
  untimed,
  refused,
  failed
};
std::string_view name(Standing);  // as spelled above

// What bench/ranking decides about a record from all records that it is compared with.
struct Ranking {
  int64_t contest = 0;           // from 1: which records were ranked together
  std::optional<int64_t> rank;   // 1 is the winner; null where it cannot win
  std::optional<bool> in_doubt;  // ranked, and not shown to be slower than the winner
  Standing standing = Standing::failed;
  bool is_baseline = false;           // what the others are compared with: the best of a library
  bool on_front = false;              // nothing beats it in both time and workspace, whatever the cap
  std::optional<double> over_winner;  // its median over the winner's; of a ranked record
  std::optional<double> speed_up;     // the baseline's median over its own; of a ranked record
};

// `note` is the sentence behind `reason`, or a remark (the library's implementation name is in
// `implementation`, not here).
struct ResultRecord {
  CaseKey key;
  SamplingRule sampling;
  AlgorithmInfo algorithm;
  DeviceInfo device;
  Outcome outcome = Outcome::failed;
  Reason reason = Reason::none;
  std::string note;
  std::string implementation;  // what the plan chose: a library's kernel name, a tile split such as "5+4+4"
  int64_t workspace_bytes = 0;
  std::optional<LibraryAnswer> answer;  // of a library that chose; null elsewhere
  OperationCount operations;
  Accuracy accuracy;
  std::optional<Measurement> time;  // kept where the result was wrong, too
  Health health;
  Ceilings ceilings;               // of this device and thread count
  std::optional<Ranking> ranking;  // written to results.json, never read: the records beside it may differ
};

// The outcome that follows from a reason; `is_timed` decides where the reason is none.
Outcome outcome_of(Reason reason, bool is_timed);
// Sets the outcome, the reason and the note of a record whose `time` is set if it was timed.
void settle(ResultRecord& record, Reason reason, std::string note);
// The text as one word of a shell's command line: in quotes only where it needs them.
std::string shell_word(const std::string& text);
// The running program by its path, so that a line runs wherever it is pasted; "convscope" in another program
// that reads results. A shell_word().
std::string program_at_hand();
// The command line by which the running program measures one record alone again under the same sampling rule,
// without an output folder.
std::string rerun_command(const ResultRecord& record);

// Whether the device's clock is virtual: a stand-in for a GPU says so in its name. Its times are printed and
// never published.
inline bool has_virtual_time(const DeviceInfo& device) {
  return device.name.ends_with("(virtual time)");
}
inline bool has_virtual_time(const ResultRecord& record) {
  return has_virtual_time(record.device);
}

}  // namespace convscope

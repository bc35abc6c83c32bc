// run_suite(): a whole run. The ceilings first, then group after group, each in a worker of its own;
// everything is in the journal as soon as it is known, the result files are written at the end. One group is
// run_group; what the user sees is the observer's.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/runner/isolation.hpp"
#include "bench/runner/run_log.hpp"

namespace convscope {

// Within so many seconds ceilings are not measured again at the end of a run.
inline constexpr double kCeilingsHold = 30;

class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Of a resumed run only the unfinished groups.
  virtual void group_begins(const GroupTask& task) = 0;
  // Comes again and again for a candidate that is being measured.
  virtual void candidate_begins(const std::string& algorithm, Stage stage) = 0;
  virtual void candidate_ends(const ResultRecord& record) = 0;
  // All records of the group, those of the interrupted run included.
  virtual void group_ends(std::span<const ResultRecord> records) = 0;
  virtual void warn(const std::string& sentence) = 0;
};

// How a run ended; the files are written in any case.
struct SuiteEnd {
  enum class Kind {
    finished,     // nothing is left
    stopped,      // `stop` was requested first
    device_lost,  // nothing is left but what a lost device would have to do
  };
  Kind kind = Kind::finished;
  std::string why;  // of device_lost: which device, and what it said
};

// Consecutive groups without a worker after which a device counts as lost. Fewer are groups of failed
// records; the groups of a lost device have no records, so that a resumed run measures them.
inline constexpr size_t kGroupsBeforeLost = 3;

// Does what is left of the run and writes its files. Throws UsageError when the plan names an algorithm that
// this build does not have or a device that is not there.
SuiteEnd run_suite(RunLog& log, const Registry& registry, const IsolationOptions& options, StopSignal& stop,
                   RunObserver& observer);

inline constexpr int kFailuresBeforeLeftOut = 2;

// A hang or a crash. Not one that the system killed, probably because memory ran out: that depends on the
// problem. Wrong results and errors cost little and are reported each time.
bool counts_as_failure(const ResultRecord& record);

// Why `algorithm` is left out of the rest of the run on this kind of device, or nothing while it may run. An
// algorithm that hung or crashed twice would most likely do so again, and each time costs a limit or a fresh
// worker. Derived from the records alone, so that a resumed run decides as the interrupted one would have.
std::optional<std::string> why_left_out(std::span<const ResultRecord> records, const std::string& algorithm,
                                        DeviceKind device);

// An outcome that makes the run end with exit code 1: wrong, timeout, crashed (killed by the system included)
// or failed. The others are measured, verified, or refused for a reason that is no fault.
bool is_failure(Outcome outcome);

}  // namespace convscope

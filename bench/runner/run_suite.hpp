// run_suite(): a whole run: the ceilings, then group after group in a worker of its own, everything into the
// journal as soon as it is known, the files at the end. One group is run_group; what the user sees of it is
// the observer's business.
#pragma once

#include <span>
#include <string>

#include "bench/runner/isolation.hpp"
#include "bench/runner/run_log.hpp"

namespace convscope {

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

// Groups in a row for which a device could not be had before it counts as lost. Until then each such group is
// a group of failed rows; those of a lost device have none, so that a resumed run does them.
inline constexpr size_t kGroupsBeforeLost = 3;

// Does what is left of the run and writes its files. Throws UsageError when the plan names an algorithm that
// this build does not have or a device that is not there.
SuiteEnd run_suite(RunLog& log, const Registry& registry, const IsolationOptions& options, StopSignal& stop,
                   RunObserver& observer);

// Roughly how long the task will take: warm-up and samples at a modest rate of arithmetic. For --dry-run.
double estimated_seconds(const GroupTask& task);

// A row that makes the run end with exit code 1: wrong, timeout, crashed (what the system killed among them)
// or failed. The others are measured, verified, or refused for a reason that is no fault.
bool is_failure(Outcome outcome);

}  // namespace convscope

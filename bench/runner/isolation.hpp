// run_isolated(): runs a group in a worker, a child process, and survives what candidates do to it. When one
// crashes, hangs or takes all memory, the worker's last event names it: it becomes a record with that
// outcome, and the others run in a fresh worker. A worker that ends before it began a candidate (its device
// is busy or gone) is no candidate's fault: it is tried once more.
//
// What a worker does is bench/runner/worker; how one is started, read and ended is worker_handle.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/record/file_descriptor.hpp"
#include "bench/runner/run_group.hpp"
#include "bench/runner/stage_limits.hpp"

namespace convscope {

// Ctrl-C (SIGINT) and SIGTERM as a file that poll() waits for, instead of an interruption at any point, so
// that a run can write its files before it ends. Make one before the first thread or worker starts, a GPU
// driver's own included: the signal goes to any thread that does not hold it back. Holds both signals back
// from this process for as long as it lives, and from the workers it starts: a Ctrl-C at a terminal reaches
// the whole process group, but only the parent may act on it.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Readable by poll() once one of the signals has arrived.
  int file() const { return file_.get(); }
  // True once one has arrived; stays true.
  bool requested();

 private:
  sigset_t before_;
  FileDescriptor file_;
  bool requested_ = false;
};

struct IsolationOptions {
  bool isolate = true;                        // false: on a thread of this process, without any limit
  std::string executable = "/proc/self/exe";  // started as `executable worker PARENT`
  std::optional<StageLimits> limits;          // instead of stage_limits(), for every candidate
  double retry_seconds = 2;                   // between the two tries of a worker that cannot begin
};

// How the work on a group ended.
struct GroupEnd {
  enum class Kind {
    finished,     // every candidate has its record
    stopped,      // `stop` was requested
    no_worker,    // two consecutive workers ended before they began a candidate, as without their device
    device_lost,  // without isolation: this process cannot use its device any more
  };
  Kind kind = Kind::finished;
  std::vector<std::string> left;  // candidates without a record
  std::string why;                // of no_worker and device_lost
};

// Every candidate of the task ends as exactly one record in `sink`, or is `left`. `device` is the task's, as
// described when the run began: it may have gone since. Throws UsageError for a thread count that this
// machine does not have.
GroupEnd run_isolated(const GroupTask& task, const Registry& registry, const DeviceInfo& device,
                      const Ceilings& ceilings, const IsolationOptions& options, StopSignal& stop,
                      GroupSink& sink);

struct MeasuredCeilings {
  Ceilings ceilings;
  std::string beside;  // how much of a GPU other programs had just before; "" where nobody was seen
};

// A device's ceilings, measured in a worker; null when `stop` was requested. Throws std::runtime_error when
// two consecutive workers fail.
std::optional<MeasuredCeilings> measure_ceilings_isolated(DeviceId device, int threads,
                                                          double stage_limit_seconds,
                                                          const Registry& registry,
                                                          const IsolationOptions& options, StopSignal& stop);

}  // namespace convscope

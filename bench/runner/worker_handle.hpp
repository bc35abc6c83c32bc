// WorkerHandle: a worker as its parent sees it: its events, how to stop it, how it ended. Two kinds: a child
// process, which may crash and be killed, and for `--isolate off` a thread of this process, which may not. It
// decides nothing: what follows from a worker's death is bench/runner/isolation's.
#pragma once

#include <sys/types.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/algorithm/registry.hpp"

namespace convscope {

// How a worker process ended: by a signal, or with an exit code.
struct WorkerEnd {
  std::optional<int> signal;
  int exit_code = 0;
  bool lingered = false;  // the signal was ours: it went on after it had closed its pipe
};

class WorkerHandle {
 public:
  virtual ~WorkerHandle() = default;
  // Where the events arrive, one JSON object per line; closed when the worker has ended.
  virtual int events() const = 0;
  // Ends it at once where that is possible (a process), else lets it go (a thread).
  virtual void stop() = 0;
  // Waits for its end; a process that lingers longer than a few seconds after closing its pipe is killed.
  virtual WorkerEnd wait() = 0;
};

// Runs `executable worker` (this program: /proc/self/exe) on the task.
std::unique_ptr<WorkerHandle> start_process(const std::string& executable,
                                            const nlohmann::ordered_json& message);

// Runs the task on a thread. After stop() the process must be left with _exit, the thread still being at
// work.
std::unique_ptr<WorkerHandle> start_thread(const Registry& registry, const nlohmann::ordered_json& message);

// The worker's events, cut into lines.
class EventReader {
 public:
  explicit EventReader(int file);  // makes reading non-blocking

  // Takes in what has arrived; false once the other side has closed the pipe.
  bool receive();
  // The next whole event received, or nothing.
  std::optional<nlohmann::ordered_json> next();

 private:
  int file_;
  std::string text_;
};

}  // namespace convscope

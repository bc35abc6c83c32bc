// The worker's side of isolation: takes a task as JSON, runs it, and writes what happens as JSON lines. The
// other side, which starts workers and survives them, is bench/runner/isolation.
//
// A task is {"kind": "group", "task": GroupTask, "ceilings": Ceilings} or {"kind": "ceilings", "device":
// kind, "threads": n}. An event is one line with "event": "begin" (algorithm, stage), "record" (record),
// "benchmark" (report), "ceilings" (ceilings), "error" (what; usage), "device_lost" (the candidates that have
// no record yet need a fresh process), and last "end": a worker that closes the pipe without it died.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>

#include "bench/algorithm/registry.hpp"
#include "bench/runner/run_group.hpp"

namespace convscope {

// Where a worker process finds its pipes.
inline constexpr int kTaskFile = 0;
inline constexpr int kEventFile = 3;

nlohmann::ordered_json group_task_message(const GroupTask& task, const Ceilings& ceilings);
nlohmann::ordered_json ceilings_message(DeviceKind device, int threads);

// Runs the task in this process and writes its events to the file descriptor `events`, ending with "end".
void run_task(const nlohmann::ordered_json& message, const Registry& registry, int events);

// The whole life of a worker process: dies with `parent`, may not use more memory than the machine has, runs
// the task it reads from kTaskFile. Returns the exit code.
int worker_main(const Registry& registry, pid_t parent);

}  // namespace convscope

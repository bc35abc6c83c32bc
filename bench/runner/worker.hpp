// The worker: the child process that runs one task. It reads the task as JSON, runs it, and writes what
// happens as JSON lines, each before the next thing that could crash. Its parent's side is
// bench/runner/worker_handle (starting and reading one) and bench/runner/isolation (surviving one).
//
// A task is {"kind": "group", "task": GroupTask, "ceilings": Ceilings} or {"kind": "ceilings", "device":
// kind, "index": n, "threads": n}. An event is one line with "event": "begin" (algorithm, stage), "planned"
// (algorithm, operations), "verified" (record, not timed yet), "record" (record), "benchmark" (report),
// "ceilings" (ceilings, beside), "alive" (nothing new, but not hung), "error" (what; usage), "device_lost"
// (what; the candidates that have no record yet need a fresh process), and last "end": a worker that closes
// the pipe without it died. An "error" before the first "begin" is no candidate's: the device could not be
// made.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/algorithm/registry.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/run_group.hpp"

namespace convscope {

// make_device(), or what a test has in its place.
using DeviceMaker = std::function<std::unique_ptr<Device>(DeviceId, const DeviceOptions&)>;

// Where a worker process finds its pipes.
inline constexpr int kTaskFile = 0;
inline constexpr int kEventFile = 3;

nlohmann::ordered_json group_task_message(const GroupTask& task, const Ceilings& ceilings);
nlohmann::ordered_json ceilings_message(DeviceId device, int threads);

// Runs the task in this process and writes its events to the file descriptor `events`, ending with "end".
void run_task(const nlohmann::ordered_json& message, const Registry& registry, int events,
              const DeviceMaker& maker = make_device);

// The whole life of a worker process: dies with `parent`, may not use more memory than the machine has, runs
// the task it reads from kTaskFile. Returns the exit code.
int worker_main(const Registry& registry, pid_t parent, const DeviceMaker& maker = make_device);

}  // namespace convscope

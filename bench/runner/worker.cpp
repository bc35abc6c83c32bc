#include "bench/runner/worker.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iostream>
#include <new>
#include <string>
#include <system_error>

#include "bench/core/error.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/device_error.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/measure/measure_group.hpp"
#include "bench/measure/watches.hpp"
#include "bench/record/file_descriptor.hpp"
#include "bench/record/record_json.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

class EventWriter final : public GroupSink {
 public:
  explicit EventWriter(int file) : file_(file) {}

  void begin(const std::string& algorithm, Stage stage) override {
    write({{"event", "begin"}, {"algorithm", algorithm}, {"stage", name(stage)}});
  }
  void planned(const std::string& algorithm, const OperationCount& operations) override {
    write({{"event", "planned"}, {"algorithm", algorithm}, {"operations", to_json(operations)}});
  }
  void record(const ResultRecord& record) override {
    write({{"event", "record"}, {"record", to_json(record)}});
  }
  void verified(const ResultRecord& record) override {
    write({{"event", "verified"}, {"record", to_json(record)}});
  }
  // A few times a second: more would say no more.
  void alive() override {
    const auto now = Clock::now();
    if (now - last_alive_ < std::chrono::milliseconds(200)) return;
    last_alive_ = now;
    write({{"event", "alive"}});
  }
  void benchmark(const Json& report) override { write({{"event", "benchmark"}, {"report", report}}); }
  // One line.
  void write(const Json& event) {
    if (!write_all(file_, dump_json(event) + "\n"))
      throw std::system_error(errno, std::generic_category(), "event pipe");
  }

 private:
  int file_;
  Clock::time_point last_alive_;
};

// An allocation beyond the machine's memory shall fail here instead of bringing the machine down. Address
// space that stacks and heaps of threads reserve and never touch is allowed besides. Not under
// AddressSanitizer, whose shadow alone is larger, and not with CUDA, which reserves addresses for the memory
// of every GPU.
void limit_memory(DeviceKind device) {
  if (device == DeviceKind::cuda) return;
#ifndef __SANITIZE_ADDRESS__
  constexpr int64_t reserved_by_a_thread = int64_t{128} << 20;
  const DeviceInfo cpu = describe_cpu();
  const auto bytes = static_cast<rlim_t>(cpu.memory_bytes + cpu.cores * reserved_by_a_thread);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

struct Task {
  DeviceId device;
  std::optional<GroupTask> group;  // null: measure the ceilings
  Ceilings ceilings;               // of a group's device
  int threads = 1;
};

Task parse_task(const Json& message) {
  Task task;
  if (message.at("kind") == "ceilings") {
    task.device = {from_name(kDeviceKinds, message.at("device").get<std::string>()).value(),
                   message.at("index").get<int>()};
    task.threads = message.at("threads").get<int>();
    return task;
  }
  task.group = task_from_json(message.at("task"));
  task.device = task.group->group.common.device_id();
  task.threads = task.group->group.common.threads;
  task.ceilings = part_from_json<Ceilings>(message.at("ceilings"));
  return task;
}

// The parent saw the device when the run began: one that is not to be had now is an error of the device, not
// of the usage. The CPU is always there; only a number of threads can be wrong with it.
std::unique_ptr<Device> device_of(const Task& task, const DeviceMaker& maker) try {
  const bool blocker = !task.group || task.group->protocol.blocker;
  return maker(task.device, {.threads = task.threads, .blocker = blocker});
} catch (const UsageError& error) {
  if (task.device.kind == DeviceKind::cpu) throw;
  throw DeviceError(error.what());
} catch (const std::bad_alloc&) {
  throw DeviceError(name(task.device) + ": the device has no memory left for this process to begin with");
}

// Of a GPU that others use for a while the ceilings wait, as samples do.
void tell_ceilings(Device& device, int threads, EventWriter& writer) {
  DeviceWatch watch([&] { return device.state(); }, MeasureOptions{}.core_patience_seconds);
  const DeviceState state = watch.wait();
  const std::string beside = is_used_by_others(state) ? state.others->text() : "";
  writer.write(
      {{"event", "ceilings"}, {"ceilings", to_json(measure_ceilings(device, threads))}, {"beside", beside}});
}

void carry_out(const Task& task, const Registry& registry, const DeviceMaker& maker, EventWriter& writer) {
  const auto device = device_of(task, maker);
  if (task.group)
    run_group(*task.group, registry, *device, task.ceilings, writer);
  else
    tell_ceilings(*device, task.threads, writer);
}

}  // namespace

Json group_task_message(const GroupTask& task, const Ceilings& ceilings) {
  return {{"kind", "group"}, {"task", to_json(task)}, {"ceilings", to_json(ceilings)}};
}

Json ceilings_message(DeviceId device, int threads) {
  return {{"kind", "ceilings"}, {"device", name(device.kind)}, {"index", device.index}, {"threads", threads}};
}

void run_task(const Json& message, const Registry& registry, int events, const DeviceMaker& maker) {
  EventWriter writer(events);
  try {
    carry_out(parse_task(message), registry, maker, writer);
  } catch (const DeviceLost& error) {
    writer.write({{"event", "device_lost"}, {"what", error.what()}});
  } catch (const UsageError& error) {
    writer.write({{"event", "error"}, {"what", error.what()}, {"usage", true}});
  } catch (const std::exception& error) {
    writer.write({{"event", "error"}, {"what", error.what()}, {"usage", false}});
  }
  writer.write({{"event", "end"}});
}

int worker_main(const Registry& registry, pid_t parent, const DeviceMaker& maker) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return 1;  // it died before the line above
  fcntl(kEventFile, F_SETFD, FD_CLOEXEC);
  static_assert(kTaskFile == STDIN_FILENO);
  const Json message = Json::parse(std::cin);
  limit_memory(parse_task(message).device.kind);
  run_task(message, registry, kEventFile, maker);
  return 0;
}

}  // namespace convscope

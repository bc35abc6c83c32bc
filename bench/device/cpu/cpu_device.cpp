#include "bench/device/cpu/cpu_device.hpp"

#include <hwy/targets.h>
#include <omp.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/system_files.hpp"
#include "bench/device/machine_identity.hpp"

namespace convscope {
namespace {

double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

class CpuQueue final : public Queue {
 public:
  void synchronize() override {}
  void wait_for(Queue&) override {}
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows) override {
    constexpr size_t part = size_t{64} << 10;
#pragma omp parallel for collapse(2) schedule(static)
    for (size_t row = 0; row < rows; ++row)
      for (size_t begin = 0; begin < bytes; begin += part)
        std::memcpy(static_cast<std::byte*>(to) + row * to_step + begin,
                    static_cast<const std::byte*>(from) + row * from_step + begin,
                    std::min(part, bytes - begin));
  }
  void begin_timing() override {
    timing_ = Timing{};
    current_.reset();
    running_ = true;
    begin_ = phase_begin_ = lap_begin_ = Clock::now();
  }
  void phase(Phase phase) override {
    if (!running_) return;
    close_phase(Clock::now());
    current_ = phase;
  }
  void end_phase() override {
    if (!running_) return;
    close_phase(Clock::now());
    current_.reset();
  }
  void lap() override {
    if (!running_) return;
    const auto now = Clock::now();
    timing_.lap_seconds.push_back(seconds_between(std::exchange(lap_begin_, now), now));
  }
  Timing end_timing() override {
    const auto now = Clock::now();
    close_phase(now);
    timing_.seconds = seconds_between(begin_, now);
    running_ = false;
    return timing_;
  }

 private:
  void close_phase(Clock::time_point now) {
    if (current_) {
      auto& total = timing_.phase_seconds[static_cast<size_t>(*current_)];
      total = total.value_or(0) + seconds_between(phase_begin_, now);
    }
    phase_begin_ = now;
  }

  Timing timing_;
  std::optional<Phase> current_;
  bool running_ = false;
  Clock::time_point begin_, phase_begin_, lap_begin_;
};

// Those that the scheduler may place this process on, as many as its control groups give the time of, but at
// least one. Asked once: pinning narrows what the main thread is told later.
const std::vector<int>& allowed_cores() {
  static const std::vector<int> cores = [] {
    std::vector<int> allowed = cores_for(0);
    const auto count = static_cast<double>(allowed.size());
    const double limit = std::max(1.0, control_group_cores("").value_or(count));
    if (count > limit) allowed.resize(static_cast<size_t>(limit));
    return allowed;
  }();
  return cores;
}

}  // namespace

DeviceInfo describe_cpu() {
  DeviceInfo info;
  info.kind = DeviceKind::cpu;
  info.name = cpuinfo("", "model name");
  if (info.name.empty()) info.name = "unnamed processor";
  info.instructions = hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets());
  info.cores = std::max<int>(1, static_cast<int>(allowed_cores().size()));
  const CacheSizes caches = cache_sizes("", allowed_cores());
  info.l1_bytes = caches.l1;
  info.l2_bytes = caches.l2;
  info.llc_bytes = caches.last_level;
  info.memory_bytes = allowed_memory("");
  info.virtualised = has_hypervisor("");
  const MachineFacts facts = processor_facts("", allowed_cores());
  info.machine_class = machine_class(processor_label(facts), facts);
  info.machine_unit = machine_unit(host_secret(""));
  return info;
}

void pin_this_thread(int core) {
  const std::vector<int>& cores = allowed_cores();
  const auto number = static_cast<size_t>(cores[static_cast<size_t>(core) % cores.size()]);
  std::vector<cpu_set_t> set(number / CPU_SETSIZE + 1);  // each of CPU_SETSIZE cores
  const size_t bytes = set.size() * sizeof(cpu_set_t);
  CPU_SET_S(number, bytes, set.data());
  sched_setaffinity(0, bytes, set.data());
}

CpuDevice::CpuDevice() : info_(describe_cpu()) {}

void CpuDevice::set_threads(int threads) {
  const std::vector<int>& cores = allowed_cores();
  if (threads < 1 || threads > static_cast<int>(cores.size()))
    throw UsageError("threads is " + std::to_string(threads) + "; this process may use 1 to " +
                     std::to_string(cores.size()) + " cores");
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
#pragma omp parallel num_threads(threads)
  pin_this_thread(omp_get_thread_num());
}

std::unique_ptr<Queue> CpuDevice::make_queue() {
  return std::make_unique<CpuQueue>();
}

void* CpuDevice::allocate(size_t bytes) {
  constexpr size_t page = 4096, huge_page = size_t{2} << 20;
  const size_t rounded = (bytes + page - 1) / page * page;
  void* data = std::aligned_alloc(page, rounded);
  if (data == nullptr) throw std::bad_alloc();
  // Where the kernel follows the advice, TLB misses of tensors and workspaces do not depend on the heap's
  // history.
  if (rounded >= 2 * huge_page) madvise(data, rounded, MADV_HUGEPAGE);
  return data;
}

void CpuDevice::release(void* data) noexcept {
  std::free(data);
}
void CpuDevice::copy_to_device(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
void CpuDevice::copy_to_host(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

}  // namespace convscope

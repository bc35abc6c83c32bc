#include "bench/device/cuda/gpu_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/processes.hpp"
#include "bench/device/cpu/system_files.hpp"

namespace convscope::cuda {
namespace {

constexpr int kNvmlSuccess = 0, kNvmlInsufficientSize = 7;
constexpr double kQuestionSeconds = 0.25;
constexpr unsigned long long kIntervalMicroseconds = 1'000'000;  // the driver's longest
constexpr unsigned kMaxPercent = 100;                            // what is more is no share

// "" unless the process is seen to have a file of NVIDIA's driver open: in a container another one may have
// its id. The files of other users' processes are not seen.
std::string name_of(int64_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  std::error_code gone;
  for (std::filesystem::directory_iterator file(folder + "/fd", gone), end; !gone && file != end;
       file.increment(gone)) {
    std::error_code unreadable;
    if (std::filesystem::read_symlink(file->path(), unreadable).string().starts_with("/dev/nvidia"))
      return first_line(folder + "/comm");
  }
  return "";
}

bool has_ended(int64_t pid) {
  return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

// Whether the driver's process ids are those that this process sees. The number is the kernel's for its first
// namespace of ids (PROC_PID_INIT_INO in include/linux/proc_ns.h).
bool sees_ids_of_the_driver() {
  std::error_code unreadable;
  return std::filesystem::read_symlink("/proc/self/ns/pid", unreadable) == "pid:[4026531836]";
}

// As the driver counts it.
unsigned long long microseconds_now() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<unsigned long long>(
      std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count());
}

// "python (pid 4242) 60%, pid 4243 20%", the busiest first.
std::string text(const std::vector<std::pair<int64_t, unsigned>>& busiest) {
  std::vector<std::string> words;
  words.reserve(busiest.size());
  for (const auto& [pid, percent] : busiest) {
    const std::string name = name_of(pid);
    words.push_back(fmt::format(
        "{} {}%", name.empty() ? fmt::format("pid {}", pid) : fmt::format("{} (pid {})", name, pid),
        percent));
  }
  return three_of(words);
}

}  // namespace

OthersUse others_of(const ProcessShares& shares, const std::set<int64_t>& own, bool knows_ids) {
  std::vector<std::pair<int64_t, unsigned>> others;
  for (const auto& [pid, percent] : shares)
    if (percent > 0 && !own.contains(pid)) others.emplace_back(pid, percent);
  std::ranges::sort(others, [](const auto& a, const auto& b) { return a.second > b.second; });
  if (!knows_ids && !others.empty()) others.erase(others.begin());
  OthersUse use;
  for (const auto& [pid, percent] : others) use.share += 0.01 * percent;
  if (knows_ids) use.programs = text(others);
  return use;
}

GpuPrograms::GpuPrograms(const SharedLibrary& nvml, void* device) : device_(device) {
  if (device_ == nullptr) return;
  processes_ = nvml.function<Processes>("nvmlDeviceGetProcessUtilization");
  utilization_ = nvml.function<Utilization>("nvmlDeviceGetUtilizationRates");
}

std::optional<ProcessShares> GpuPrograms::read() {
  if (processes_ == nullptr) return std::nullopt;
  std::vector<Sample> samples(64);
  auto count = static_cast<unsigned>(samples.size());
  int status = processes_(device_, samples.data(), &count, seen_);
  if (status == kNvmlInsufficientSize) {
    samples.resize(count);
    status = processes_(device_, samples.data(), &count, seen_);
  }
  if (status != kNvmlSuccess) return std::nullopt;
  samples.resize(std::min<size_t>(count, samples.size()));
  // Rows of no process and shares above all of the time say nothing.
  std::erase_if(samples, [&](const Sample& sample) {
    return sample.microseconds <= seen_ || sample.pid == 0 || sample.multiprocessors > kMaxPercent;
  });
  if (samples.empty()) return std::nullopt;
  std::ranges::sort(samples, {}, &Sample::microseconds);
  seen_ = samples.back().microseconds;
  ProcessShares shares;  // not of those that ran in an earlier interval only
  for (const Sample& sample : samples)
    if (seen_ - sample.microseconds < kIntervalMicroseconds) shares[sample.pid] = sample.multiprocessors;
  return shares;
}

std::optional<double> GpuPrograms::share() const {
  Rates rates{};
  if (utilization_ == nullptr || utilization_(device_, &rates) != kNvmlSuccess) return std::nullopt;
  return 0.01 * rates.gpu;
}

const std::optional<OthersUse>& GpuPrograms::now() {
  if (last_question_ && seconds_since(*last_question_) < kQuestionSeconds) return others_;
  last_question_ = Clock::now();
  auto shares = read();
  if (!first_seen_) {
    first_seen_ = microseconds_now();
    if (shares && sees_ids_of_the_driver()) {
      others_ = others_before(std::move(*shares));
      last_answer_ = last_question_;
      knows_ids_ = others_->share > 0;
    }
    return others_;
  }
  // An interval in which nobody ran is none for the driver.
  if (!shares && last_answer_ && seconds_since(*last_answer_) > 2e-6 * kIntervalMicroseconds)
    others_ = OthersUse{};
  if (!shares) return others_;
  last_answer_ = last_question_;
  const auto is_own = [&](const auto& entry) { return own_.contains(entry.first); };
  const auto is_known = [&](const auto& entry) { return is_own(entry) || strangers_.contains(entry.first); };
  if (!std::ranges::all_of(*shares, is_known)) {
    own_ = own_family(read_processes());
    for (const auto& [pid, percent] : *shares)
      if (!own_.contains(pid)) strangers_.insert(pid);
  }
  knows_ids_ = knows_ids_ || std::ranges::any_of(*shares, is_own);
  // The worker of the group before, which has ended, may be in the first of them.
  if (seen_ < *first_seen_ + kIntervalMicroseconds) {
    if (!knows_ids_) return others_;
    std::erase_if(*shares, [](const auto& entry) { return has_ended(entry.first); });
  }
  others_ = others_of(*shares, own_, knows_ids_);
  return others_;
}

OthersUse GpuPrograms::others_before(ProcessShares shares) const {
  if (microseconds_now() > seen_ + 2 * kIntervalMicroseconds)
    shares.clear();  // the driver keeps what was long ago
  std::erase_if(shares, [](const auto& entry) { return has_ended(entry.first); });
  return others_of(shares, own_family(read_processes()), true);
}

std::optional<OthersUse> GpuPrograms::before_use() {
  std::optional<double> busy = share();
  if (!busy || *busy == 0) return busy ? std::optional(OthersUse{}) : std::nullopt;
  read();
  std::this_thread::sleep_for(std::chrono::microseconds(kIntervalMicroseconds * 11 / 10));
  busy = share();
  if (!busy || *busy == 0) return busy ? std::optional(OthersUse{}) : std::nullopt;
  OthersUse use = others_of(read().value_or(ProcessShares{}), {}, true);
  use.share = *busy;
  return use;
}

}  // namespace convscope::cuda

// GpuPrograms: how much of a GPU's time other programs have, by what the driver counts of each process in
// intervals of a sixth of a second to one. Source: NVML API reference, nvmlDeviceGetProcessUtilization and
// nvmlDeviceGetUtilizationRates. In a container the driver may count by the host's process ids
// (https://github.com/Project-HAMi/HAMi-core/issues/112): then which of them is this process is not known.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/device.hpp"

namespace convscope::cuda {

// Of one interval: percent of its time in which a kernel of the process ran, by process id.
using ProcessShares = std::map<int64_t, unsigned>;

// What is not of `own`. Where `knows_ids` is false, which of the processes is this one is not known: all but
// the busiest are others, without names.
OthersUse others_of(const ProcessShares& shares, const std::set<int64_t>& own, bool knows_ids);

class GpuPrograms {
 public:
  // `nvml` outlives it. Without a device, or where the driver does not count, nothing is known.
  GpuPrograms(const SharedLibrary& nvml, void* device);

  // In the newest interval, read again at most each 0.25 s; null where it is not known. The first answer is
  // of the programs that ran just before and still exist, as all samples of a group may lie within one
  // interval; in a container it is null. Where this process is not known by its id, nothing more is known for
  // a second: the worker before it may be one of them.
  const std::optional<OthersUse>& now();

  // While this process does not use the device: of all programs. Returns at once where nobody uses it; else
  // within 2 s, so that what ended just before is not counted.
  std::optional<OthersUse> before_use();

 private:
  struct Sample {  // nvmlProcessUtilizationSample_t
    unsigned pid;
    unsigned long long microseconds;
    unsigned multiprocessors, memory, encoder, decoder;  // percent
  };
  struct Rates {           // nvmlUtilization_t
    unsigned gpu, memory;  // percent
  };
  using Processes = int(void* device, Sample* samples, unsigned* count, unsigned long long since);
  using Utilization = int(void* device, Rates* rates);

  // Of the intervals that ended since the last call; null where there are none.
  std::optional<ProcessShares> read();
  std::optional<double> share() const;  // of all programs together
  // Of what ran before this process did anything, where ids are those that this process sees.
  OthersUse others_before(ProcessShares shares) const;

  void* device_;
  Processes* processes_ = nullptr;
  Utilization* utilization_ = nullptr;
  unsigned long long seen_ = 0;                   // the newest interval's time
  std::optional<unsigned long long> first_seen_;  // the newest at the first question
  std::optional<std::chrono::steady_clock::time_point> last_question_, last_answer_;
  std::set<int64_t> own_, strangers_;
  bool knows_ids_ = false;  // a process that is seen here was among those that ran
  std::optional<OthersUse> others_;
};

}  // namespace convscope::cuda

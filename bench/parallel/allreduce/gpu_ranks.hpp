// One GPU for each rank of a job, joined by a communicator.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bench/device/communicator.hpp"
#include "bench/parallel/allreduce/rank_values.hpp"
#include "bench/parallel/fabric/job_watch.hpp"

namespace convscope {

// What a rank wants to use: the GPU with this number, or where it is null the one of its place among the
// ranks of its machine (with as many GPUs as it may see, of which a launcher may show it only its own).
struct WantedGpu {
  std::optional<int> index;
  int local_rank = 0;
};

// This rank's GPU and its end of the communicator.
struct GpuRank {
  std::unique_ptr<Device> device;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Communicator> communicator;
  std::string library;       // "NCCL 2.28.9"
  std::string device_names;  // of all ranks, each once

  // The communicator first, which uses the stream, as the destructor does.
  void close() {
    communicator.reset();
    queue.reset();
    device.reset();
  }
};

// Opens all ranks' GPUs, or says why not, the same on every rank: "no_device", "device_error",
// "library_missing", "library_differs", "gpu_shared", "mixed_gpus", "library_failed". Every rank of `fabric`
// calls it. `watch` ends the job where a rank never comes.
std::optional<Refusal> open_gpus(Fabric& fabric, const WantedGpu& wanted, JobWatch& watch, GpuRank& to);

// `texts` without repetitions, with commas.
std::string each_once(std::span<const std::string> texts);

}  // namespace convscope

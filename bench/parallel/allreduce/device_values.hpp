// Sums in the memory of GPUs: by the library's own all-reduce, and by our reductions over its messages.
#pragma once

#include <optional>
#include <vector>

#include "bench/device/buffer.hpp"
#include "bench/device/communicator.hpp"
#include "bench/measure/gpu_quiet_sampler.hpp"
#include "bench/parallel/allreduce/rank_values.hpp"

namespace convscope {

// The ranks of a communicator as a fabric whose memory is the device's: exchange(), add() and copy() enqueue.
class DeviceFabric final : public Fabric {
 public:
  DeviceFabric(int rank, int size, Communicator& communicator, Device& device, Queue& queue)
      : rank_(rank), size_(size), communicator_(communicator), kind_(device.info().kind), queue_(queue) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override;
  void add(std::span<const float> from, std::span<float> to) override;
  void copy(std::span<const float> from, std::span<float> to) override {
    queue_.copy(to.data(), from.data(), from.size_bytes());
  }

 private:
  const int rank_, size_;
  Communicator& communicator_;
  [[maybe_unused]] const DeviceKind kind_;  // in builds with nvcc
  Queue& queue_;
  std::vector<Communicator::Sent> sent_;
  std::vector<Communicator::Received> received_;
};

// values[i] *= factor in the memory of a device of this kind.
void enqueue_scale(DeviceKind kind, std::span<float> values, float factor, Queue& queue);

class DeviceValues final : public RankValues {
 public:
  // Of rank `rank` of `size`.
  DeviceValues(int rank, int size, Communicator& communicator, Device& device, Queue& queue)
      : fabric_(rank, size, communicator, device, queue),
        communicator_(communicator),
        device_(device),
        queue_(queue) {}

  bool has_library() const override { return true; }
  bool allocate(size_t values, size_t scratch) override;
  std::span<float> host() override { return host_; }
  void upload() override { values_.upload(host_.data(), values_.bytes()); }
  void download() override { values_.download(host_.data(), values_.bytes()); }
  bool is_intact() const override { return values_.guards_intact() && scratch_.guards_intact(); }
  void all_reduce(const ReductionRow& row) override;
  void finish() override { communicator_.wait(queue_); }
  bool is_slowed() override;
  // Launching the first and waiting for the last takes some ten microseconds, which the clock of the host
  // has in it.
  double shortest_sample() const override { return 5e-3; }

 private:
  DeviceFabric fabric_;
  Communicator& communicator_;
  Device& device_;
  Queue& queue_;
  std::vector<float> host_;
  Buffer values_, scratch_;
  std::optional<GpuWatch> watch_;  // never waits by itself
};

}  // namespace convscope

// A CUDA stream as a Queue. The clock is events on the stream; the blocker keeps the host's launch gaps out
// of it. Handles of the stream for launches and libraries come from stream_for().
#pragma once

#include <optional>
#include <vector>

#include "bench/device/cuda/blocker.hpp"
#include "bench/device/cuda/handles.hpp"
#include "bench/device/device.hpp"

namespace convscope::cuda {

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(bool with_blocker);
  ~CudaQueue() override;

  void synchronize() override;
  void mark_phases(bool on) override { marks_phases_ = on; }
  void begin_timing() override;
  void phase(Phase phase) override;
  void end_phase() override;
  Timing end_timing() override;

  // The stream, for work that takes `operations` places in the device's queue of launches. That queue is of
  // limited length and the host waits when it is full, so the blocker lets go before that.
  cudaStream_t stream_for(int operations);

 private:
  // What the time from one event to the next counts as.
  struct Mark {
    size_t event;
    std::optional<Phase> phase;
  };

  size_t record_event();
  double seconds_between(size_t begin, size_t end) const;

  Stream stream_;
  std::optional<Blocker> blocker_;
  int held_operations_ = 0;
  std::vector<Event> events_;  // made once, used again by every timing
  size_t used_events_ = 0;
  std::vector<Mark> marks_;
  bool running_ = false;
  bool marks_phases_ = true;
};

// A queue of CudaDevice as what it is; throws std::logic_error for another device's.
CudaQueue& cuda_queue(Queue& queue);

}  // namespace convscope::cuda

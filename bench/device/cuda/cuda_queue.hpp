// A CUDA stream as a Queue. The clock is events on the stream; the blocker keeps the host's launch gaps out
// of it. Handles of the stream for launches and libraries come from stream_for().
//
// Nothing that can wait for the device may happen while the blocker holds it. So whatever the queue itself
// needs is made before the hold; it lets go before its launches fill the device's queue, and before the first
// launch of a kernel, which loads it and waits until the device is idle. What else a library does for the
// first time belongs into a run before (Queue::hold_back); where it does not, the blocker's watchdog lets go.
// In all these cases the timing goes on and says that it was not held.
#pragma once

#include <optional>
#include <unordered_set>
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
  // Of any size; the rows of a 2-D copy may be only so far apart.
  void copy(void* to, const void* from, size_t bytes) override;
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows) override;
  void wait_for(Queue& other) override;
  void mark_phases(bool on) override { marks_phases_ = on; }
  void hold_back(bool on) override { holds_back_ = on; }
  std::optional<int64_t> max_held_operations() const override;
  void begin_timing() override;
  void phase(Phase phase) override;
  void end_phase() override;
  void lap() override;
  Timing end_timing() override;

  // The stream, for work that takes `operations` places in the device's queue of launches. That queue is of
  // limited length and the host waits when it is full, so the blocker lets go before that.
  cudaStream_t stream_for(int operations);
  // The stream, for one launch of `kernel`. To be asked for before anything else is done with the kernel.
  cudaStream_t stream_for_kernel(const void* kernel);

 private:
  // What the time from one event to the next counts as.
  struct Mark {
    size_t event;
    std::optional<Phase> phase;
  };

  void let_go();
  size_t record_event();
  double seconds_between(size_t begin, size_t end) const;

  Stream stream_;
  std::optional<Blocker> blocker_;
  int64_t operations_ = 0;                        // of the timing
  std::unordered_set<const void*> seen_kernels_;  // those that were launched on this queue
  std::vector<Event> events_;                     // made once, used again by every timing
  Event others_;                                  // of wait_for(), recorded by each
  size_t used_events_ = 0;
  std::vector<Mark> marks_;
  std::vector<size_t> laps_;  // the events that end them
  bool running_ = false;
  bool marks_phases_ = true;
  bool holds_back_ = true;
};

// A queue of CudaDevice as what it is; throws std::logic_error for another device's.
CudaQueue& cuda_queue(Queue& queue);

}  // namespace convscope::cuda

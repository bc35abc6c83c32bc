// The spinning kernel that holds a stream back while the host enqueues what is to be timed. It ends when the
// host says so, or by itself after 30 seconds, so that a host that waits for the stream cannot hang for ever.
#pragma once

#include "bench/device/cuda/handles.hpp"

namespace convscope::cuda {

class Blocker {
 public:
  Blocker();

  // Enqueues the kernel: work enqueued behind it waits.
  void hold(cudaStream_t stream);
  // Lets the work go; allowed when nothing is held.
  void release();
  bool is_holding() const { return holding_; }
  // True when the last hold ended by its time limit: the host waited for work behind it. Ask once the stream
  // is done.
  bool timed_out() const;

 private:
  struct Flags {
    int released;
    int timed_out;
  };
  volatile Flags& flags() const { return *static_cast<volatile Flags*>(memory_.get()); }

  PinnedMemory memory_;
  bool holding_ = false;
};

}  // namespace convscope::cuda

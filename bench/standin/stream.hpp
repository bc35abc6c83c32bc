// Streams: threads that run enqueued operations in order, each with a clock of virtual time.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

namespace convscope::standin {

using Nanoseconds = long long;

Nanoseconds host_time();

}  // namespace convscope::standin

// The runtime's own name for what a cudaStream_t points to.
struct CUstream_st {
  using Nanoseconds = convscope::standin::Nanoseconds;

  explicit CUstream_st(int on_device);
  ~CUstream_st();  // after what was enqueued has run

  // Runs on the stream's thread; gets the stream's time, which is not before that of the enqueuing host, and
  // returns the time at which the device is done. Waits while the queue is full.
  void push(std::function<Nanoseconds(Nanoseconds)> operation);
  bool is_idle();
  // Where streams are held, what was enqueued until now begins now.
  void wait();

  const int device;

 private:
  struct Operation {
    std::function<Nanoseconds(Nanoseconds)> run;
    Nanoseconds enqueued;
  };
  void run();
  void allow();  // with the lock: what was enqueued until now may begin

  std::deque<Operation> operations_;  // the one that runs is the first
  bool stopping_ = false;
  size_t allowed_ = 0;  // operations that may begin, where streams are held
  Nanoseconds time_ = 0;
  std::condition_variable work_;      // there is some, or the end
  std::condition_variable progress_;  // an operation is done
  std::thread thread_;
};

namespace convscope::standin {

// Where no stream is named: one per device, which others neither wait for nor hold up, as
// cudaStreamNonBlocking says.
CUstream_st& stream_or_default(cudaStream_t stream, int device);

// Until every stream of the device is idle.
void wait_for_device(int device);

}  // namespace convscope::standin

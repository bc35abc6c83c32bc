#include "bench/device/cuda/cuda_queue.hpp"

#include <stdexcept>

#include "bench/device/device_error.hpp"

namespace convscope::cuda {
namespace {

// Streams take about 1000 launches before the host must wait.
constexpr int kMostHeldOperations = 512;

}  // namespace

CudaQueue::CudaQueue(bool with_blocker) : stream_(make_stream()) {
  if (with_blocker) blocker_.emplace();
}

CudaQueue::~CudaQueue() {
  if (blocker_ && blocker_->is_holding()) blocker_->release();
  cudaStreamSynchronize(stream_.get());
}

void CudaQueue::synchronize() {
  if (blocker_ && blocker_->is_holding()) blocker_->release();
  check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
}

void CudaQueue::begin_timing() {
  synchronize();  // what an aborted timing left
  used_events_ = 0;
  marks_.clear();
  held_operations_ = 0;
  if (blocker_) blocker_->hold(stream_.get());
  running_ = true;
  marks_.push_back({record_event(), std::nullopt});
}

void CudaQueue::phase(Phase phase) {
  if (running_ && marks_phases_) marks_.push_back({record_event(), phase});
}

void CudaQueue::end_phase() {
  if (running_ && marks_phases_) marks_.push_back({record_event(), std::nullopt});
}

Timing CudaQueue::end_timing() {
  const size_t end = record_event();
  running_ = false;
  synchronize();
  if (blocker_ && blocker_->timed_out())
    throw DeviceError(
        "the work to be timed waited for itself: the host waited for the stream that the blocker held for 30 "
        "s; under a profiler that runs launches one by one use --blocker off");
  Timing timing;
  timing.seconds = seconds_between(marks_.front().event, end);
  for (size_t i = 0; i < marks_.size(); ++i) {
    if (!marks_[i].phase) continue;
    auto& total = timing.phase_seconds[static_cast<size_t>(*marks_[i].phase)];
    const size_t next = i + 1 < marks_.size() ? marks_[i + 1].event : end;
    total = total.value_or(0) + seconds_between(marks_[i].event, next);
  }
  return timing;
}

cudaStream_t CudaQueue::stream_for(int operations) {
  if (blocker_ && blocker_->is_holding()) {
    held_operations_ += operations;
    if (held_operations_ > kMostHeldOperations) blocker_->release();
  }
  return stream_.get();
}

size_t CudaQueue::record_event() {
  if (used_events_ == events_.size()) events_.push_back(make_event());
  check(cudaEventRecord(events_[used_events_].get(), stream_for(1)), "cudaEventRecord");
  return used_events_++;
}

double CudaQueue::seconds_between(size_t begin, size_t end) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events_[begin].get(), events_[end].get()),
        "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

CudaQueue& cuda_queue(Queue& queue) {
  auto* found = dynamic_cast<CudaQueue*>(&queue);
  if (found == nullptr) throw std::logic_error("work for CUDA on another device's queue");
  return *found;
}

}  // namespace convscope::cuda

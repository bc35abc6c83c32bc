#include "bench/device/cuda/cuda_queue.hpp"

#include <stdexcept>
#include <utility>

namespace convscope::cuda {
namespace {

// Streams take 1024 operations before the host must wait. A library may use more places than it is thought
// to.
constexpr int64_t kMaxHeldOperations = 512;
// The events at both ends of a timing.
constexpr int64_t kOwnOperations = 2;

}  // namespace

// Creating an event may wait for the device; while work is held back no more of them are recorded than this.
CudaQueue::CudaQueue(bool with_blocker) : stream_(make_stream()), others_(make_event()) {
  if (!with_blocker) return;
  blocker_.emplace();
  for (int64_t i = 0; i <= kMaxHeldOperations; ++i) events_.push_back(make_event());
}

CudaQueue::~CudaQueue() {
  let_go();
  cudaStreamSynchronize(stream_.get());
}

void CudaQueue::let_go() {
  if (blocker_ && blocker_->is_holding()) blocker_->release();
}

void CudaQueue::synchronize() {
  let_go();
  check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
}

void CudaQueue::copy(void* to, const void* from, size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_for(1)), "cudaMemcpyAsync");
}

void CudaQueue::copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                          size_t rows) {
  check(cudaMemcpy2DAsync(to, to_step, from, from_step, bytes, rows, cudaMemcpyDeviceToDevice, stream_for(1)),
        "cudaMemcpy2DAsync");
}

void CudaQueue::wait_for(Queue& other) {
  check(cudaEventRecord(others_.get(), cuda_queue(other).stream_for(1)), "cudaEventRecord");
  check(cudaStreamWaitEvent(stream_for(1), others_.get(), 0), "cudaStreamWaitEvent");
}

std::optional<int64_t> CudaQueue::max_held_operations() const {
  if (!blocker_) return std::nullopt;
  return kMaxHeldOperations - kOwnOperations;
}

void CudaQueue::begin_timing() {
  synchronize();  // what an aborted timing left
  used_events_ = 0;
  marks_.clear();
  laps_.clear();
  operations_ = 0;
  if (blocker_ && holds_back_) blocker_->hold(stream_.get());
  running_ = true;
  marks_.push_back({record_event(), std::nullopt});
}

void CudaQueue::phase(Phase phase) {
  if (running_ && marks_phases_) marks_.push_back({record_event(), phase});
}

void CudaQueue::end_phase() {
  if (running_ && marks_phases_) marks_.push_back({record_event(), std::nullopt});
}

void CudaQueue::lap() {
  if (running_) laps_.push_back(record_event());
}

Timing CudaQueue::end_timing() {
  const size_t end = record_event();
  running_ = false;
  const bool still_held = blocker_ && blocker_->is_holding();
  synchronize();
  Timing timing;
  timing.held = still_held && blocker_->held_until_released();
  timing.operations = operations_ - kOwnOperations;
  timing.seconds = seconds_between(marks_.front().event, end);
  for (size_t i = 0; i < marks_.size(); ++i) {
    if (!marks_[i].phase) continue;
    auto& total = timing.phase_seconds[static_cast<size_t>(*marks_[i].phase)];
    const size_t next = i + 1 < marks_.size() ? marks_[i + 1].event : end;
    total = total.value_or(0) + seconds_between(marks_[i].event, next);
  }
  size_t begin = marks_.front().event;
  for (size_t lap : laps_) timing.lap_seconds.push_back(seconds_between(std::exchange(begin, lap), lap));
  return timing;
}

cudaStream_t CudaQueue::stream_for(int operations) {
  operations_ += operations;
  if (operations_ > kMaxHeldOperations) let_go();
  return stream_.get();
}

cudaStream_t CudaQueue::stream_for_kernel(const void* kernel) {
  if (seen_kernels_.insert(kernel).second) let_go();
  return stream_for(1);
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

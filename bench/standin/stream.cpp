// Streams and events, and the runtime's functions of them.
#include "bench/standin/stream.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "bench/standin/configuration.hpp"
#include "bench/standin/devices.hpp"

namespace convscope::standin {
namespace {

// One lock for all streams: they wait for each other. Each has conditions of its own, as threads that wake
// for what another stream does would take most of the time.
struct Streams {
  std::mutex mutex;
  std::condition_variable recorded;  // an event
  std::set<CUstream_st*> all;
  std::map<int, CUstream_st*> defaults;
};

Streams& streams() {
  static auto* s = new Streams;
  return *s;
}

std::set<CUstream_st*> streams_of(int device) {
  const std::lock_guard lock(streams().mutex);
  std::set<CUstream_st*> found = streams().all;
  std::erase_if(found, [&](CUstream_st* stream) { return stream->device != device; });
  return found;
}

}  // namespace

Nanoseconds host_time() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace convscope::standin

using namespace convscope::standin;  // the classes have global names

// A point of a stream, reached when the work before it is done.
struct CUevent_st {
  struct Record {
    bool done = false;
    convscope::standin::Nanoseconds time = 0;
    CUstream_st* stream = nullptr;
  };
  std::shared_ptr<Record> last;  // null: never recorded
};

CUstream_st::CUstream_st(int on_device) : device(on_device) {
  const std::lock_guard lock(streams().mutex);
  streams().all.insert(this);
  thread_ = std::thread([this] { run(); });
}

CUstream_st::~CUstream_st() {
  wait();
  {
    const std::lock_guard lock(streams().mutex);
    stopping_ = true;
    streams().all.erase(this);
  }
  work_.notify_one();
  thread_.join();
}

void CUstream_st::run() {
  Streams& s = streams();
  const bool held = configuration().held;
  std::unique_lock lock(s.mutex);
  for (;;) {
    work_.wait(lock, [&] { return stopping_ || (!operations_.empty() && (!held || allowed_ > 0)); });
    if (operations_.empty()) return;
    Operation operation = std::move(operations_.front());
    const Nanoseconds begin = std::max(time_, operation.enqueued);
    lock.unlock();
    const Nanoseconds end = operation.run(begin);
    lock.lock();
    time_ = end;
    operations_.pop_front();
    if (allowed_ > 0) --allowed_;
    progress_.notify_all();
  }
}

void CUstream_st::push(std::function<Nanoseconds(Nanoseconds)> operation) {
  {
    std::unique_lock lock(streams().mutex);
    if (operations_.size() >= configuration().queue_entries) {
      allow();
      progress_.wait(lock, [&] { return operations_.size() < configuration().queue_entries; });
    }
    operations_.push_back({std::move(operation), host_time()});
  }
  work_.notify_one();
}

void CUstream_st::allow() {
  allowed_ = operations_.size();
  if (configuration().held) work_.notify_one();
}

bool CUstream_st::is_idle() {
  const std::lock_guard lock(streams().mutex);
  allow();
  return operations_.empty();
}

void CUstream_st::wait() {
  std::unique_lock lock(streams().mutex);
  allow();
  progress_.wait(lock, [&] { return operations_.empty(); });
}

namespace convscope::standin {

CUstream_st& stream_or_default(cudaStream_t stream, int device) {
  if (stream != nullptr) return *stream;
  static std::mutex making;
  const std::lock_guard lock(making);
  auto& made = streams().defaults[device];
  if (made == nullptr) made = new CUstream_st(device);
  return *made;
}

void wait_for_device(int device) {
  for (CUstream_st* stream : streams_of(device)) stream->wait();
}

namespace {

bool is_idle(int device) {
  return std::ranges::all_of(streams_of(device), [](CUstream_st* stream) { return stream->is_idle(); });
}

constexpr Nanoseconds kEventCost = 500;

void record(CUevent_st& event, CUstream_st& stream) {
  auto reached = std::make_shared<CUevent_st::Record>();
  reached->stream = &stream;
  event.last = reached;
  stream.push([reached](Nanoseconds begin) {
    const std::lock_guard lock(streams().mutex);
    reached->time = begin + kEventCost;
    reached->done = true;
    streams().recorded.notify_all();
    return reached->time;
  });
}

bool is_done(const CUevent_st& event) {
  const std::lock_guard lock(streams().mutex);
  return event.last->done;
}

void wait_for(std::shared_ptr<CUevent_st::Record> reached) {
  if (reached == nullptr) return;
  Streams& s = streams();
  {
    const std::lock_guard lock(s.mutex);
    if (reached->done) return;
  }
  reached->stream->is_idle();  // lets a held stream begin
  std::unique_lock lock(s.mutex);
  s.recorded.wait(lock, [&] { return reached->done; });
}

// Later work of the stream waits for the event.
void make_wait(CUstream_st& stream, const CUevent_st& event) {
  const auto reached = event.last;
  if (reached == nullptr) return;
  stream.push([reached](Nanoseconds begin) {
    wait_for(reached);
    return std::max(begin, reached->time);
  });
}

// The time that the host function which runs on this thread takes on the device.
thread_local Nanoseconds taken = 0;

}  // namespace
}  // namespace convscope::standin

extern "C" {

// For the stand-in libraries: the work that a host function stands for took so long on the device, or lost
// it.
void convscope_standin_advance(double seconds) {
  taken += static_cast<Nanoseconds>(1e9 * seconds);
}
void convscope_standin_lose_device(int error) {
  lose_device(static_cast<cudaError_t>(error));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st(current_device());
  return result(cudaSuccess, __func__);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return result(cudaSuccess, __func__);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream_or_default(stream, current_device()).wait();
  return result(cudaSuccess, __func__);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const bool idle = stream_or_default(stream, current_device()).is_idle();
  return result(idle ? cudaSuccess : cudaErrorNotReady, __func__);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  make_wait(stream_or_default(stream, current_device()), *event);
  return result(cudaSuccess, __func__);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  stream_or_default(stream, current_device()).push([=](Nanoseconds begin) {
    constexpr Nanoseconds kCost = 5000;
    taken = 0;
    if (!is_lost()) function(data);
    return begin + kCost + taken;
  });
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  if (configuration().events_need_idle && !is_idle(current_device()))
    return result(cudaErrorNotReady, __func__);
  *event = new CUevent_st;
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  record(*event, stream_or_default(stream, current_device()));
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  wait_for(event->last);
  return result(cudaSuccess, __func__);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (begin->last == nullptr || end->last == nullptr) return result(cudaErrorInvalidResourceHandle, __func__);
  if (!is_done(*begin) || !is_done(*end)) return result(cudaErrorNotReady, __func__);
  *milliseconds = 1e-6f * static_cast<float>(end->last->time - begin->last->time);
  return result(cudaSuccess, __func__);
}

}  // extern "C"

#include "bench/standin/stream.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "bench/standin/configuration.hpp"

namespace convscope::standin {
namespace {

// One lock for all streams: they wait for each other.
struct Streams {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<CUstream_st*> all;
  std::map<int, CUstream_st*> defaults;
};

Streams& streams() {
  static auto* s = new Streams;
  return *s;
}

constexpr Nanoseconds kEventCost = 500;

}  // namespace

Nanoseconds host_time() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace convscope::standin

using namespace convscope::standin;  // the class has a global name

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
    streams().changed.notify_all();
  }
  thread_.join();
}

void CUstream_st::run() {
  Streams& s = streams();
  const bool held = configuration().held;
  std::unique_lock lock(s.mutex);
  for (;;) {
    s.changed.wait(lock, [&] { return stopping_ || (!operations_.empty() && (!held || allowed_ > 0)); });
    if (operations_.empty()) return;
    Operation operation = std::move(operations_.front());
    const Nanoseconds begin = std::max(time_, operation.enqueued);
    lock.unlock();
    const Nanoseconds end = operation.run(begin);
    lock.lock();
    time_ = end;
    operations_.pop_front();
    if (allowed_ > 0) --allowed_;
    s.changed.notify_all();
  }
}

void CUstream_st::push(std::function<Nanoseconds(Nanoseconds)> operation) {
  Streams& s = streams();
  std::unique_lock lock(s.mutex);
  if (operations_.size() >= configuration().queue_entries) {
    allowed_ = operations_.size();
    s.changed.notify_all();
    s.changed.wait(lock, [&] { return operations_.size() < configuration().queue_entries; });
  }
  operations_.push_back({std::move(operation), host_time()});
  s.changed.notify_all();
}

bool CUstream_st::is_idle() {
  const std::lock_guard lock(streams().mutex);
  allowed_ = operations_.size();
  streams().changed.notify_all();
  return operations_.empty();
}

void CUstream_st::wait() {
  Streams& s = streams();
  std::unique_lock lock(s.mutex);
  allowed_ = operations_.size();
  s.changed.notify_all();
  s.changed.wait(lock, [&] { return operations_.empty(); });
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

void record(CUevent_st& event, CUstream_st& stream) {
  auto reached = std::make_shared<CUevent_st::Record>();
  reached->stream = &stream;
  event.last = reached;
  stream.push([reached](Nanoseconds begin) {
    const std::lock_guard lock(streams().mutex);
    reached->time = begin + kEventCost;
    reached->done = true;
    streams().changed.notify_all();
    return reached->time;
  });
}

bool is_done(const CUevent_st& event) {
  const std::lock_guard lock(streams().mutex);
  return event.last == nullptr || event.last->done;
}

void wait_for(const CUevent_st& event) {
  const auto reached = event.last;
  if (reached == nullptr) return;
  Streams& s = streams();
  {
    const std::lock_guard lock(s.mutex);
    if (reached->done) return;
  }
  reached->stream->is_idle();  // lets a held stream begin
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return reached->done; });
}

void make_wait(CUstream_st& stream, const CUevent_st& event) {
  const auto reached = event.last;
  if (reached == nullptr) return;
  stream.push([reached](Nanoseconds begin) {
    CUevent_st event_of_it{reached};
    wait_for(event_of_it);
    return std::max(begin, reached->time);
  });
}

void wait_for_device(int device) {
  std::set<CUstream_st*> all;
  {
    const std::lock_guard lock(streams().mutex);
    all = streams().all;
  }
  for (CUstream_st* stream : all)
    if (stream->device == device) stream->wait();
}

}  // namespace convscope::standin

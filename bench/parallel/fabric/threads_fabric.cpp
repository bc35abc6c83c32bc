#include "bench/parallel/fabric/threads_fabric.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace convscope {
namespace {

// A message lies in its sender's memory, and the sender waits until it has been taken.
enum class State { waiting, being_copied, taken };
struct Message {
  std::span<const std::byte> bytes;
  State state = State::waiting;
};

// What all ranks share.
struct Exchange {
  explicit Exchange(int ranks)
      : size(ranks), messages(static_cast<size_t>(ranks) * static_cast<size_t>(ranks)) {}

  std::deque<Message*>& from_to(int from, int to) { return messages[static_cast<size_t>(from * size + to)]; }

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::deque<Message*>> messages;  // of each pair of ranks, in the order in which they were sent
  int failed_rank = -1;
  std::string failure;
};

class ThreadsFabric : public Fabric {
 public:
  ThreadsFabric(Exchange& shared, int rank) : shared_(shared), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return shared_.size; }

  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override {
    std::vector<Message> mine(sent.size());
    std::unique_lock lock(shared_.mutex);
    for (size_t i = 0; i < sent.size(); ++i) {
      mine[i].bytes = sent[i].bytes;
      if (mine[i].bytes.empty())
        mine[i].state = State::taken;
      else
        shared_.from_to(rank_, sent[i].to).push_back(&mine[i]);
    }
    shared_.changed.notify_all();
    for (const Incoming& message : received) take(message, lock);
    const auto untaken = [&](State state) {
      for (const Message& message : mine)
        if (message.state == state) return true;
      return false;
    };
    shared_.changed.wait(lock, [&] {
      return !untaken(State::being_copied) && (!untaken(State::waiting) || shared_.failed_rank >= 0);
    });
    if (shared_.failed_rank >= 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw std::runtime_error(fmt::format("rank {} is lost: {}", shared_.failed_rank, shared_.failure));
  }

  void take(const Incoming& wanted, std::unique_lock<std::mutex>& lock) {
    if (wanted.bytes.empty()) return;
    std::deque<Message*>& queue = shared_.from_to(wanted.from, rank_);
    shared_.changed.wait(lock, [&] { return !queue.empty() || shared_.failed_rank >= 0; });
    if (shared_.failed_rank >= 0) return;  // exchange() throws when nobody copies from its memory
    Message& message = *queue.front();
    queue.pop_front();
    const bool fits = message.bytes.size() == wanted.bytes.size();
    if (fits) {
      message.state = State::being_copied;
      lock.unlock();
      std::memcpy(wanted.bytes.data(), message.bytes.data(), message.bytes.size());
      lock.lock();
    }
    message.state = State::taken;
    shared_.changed.notify_all();
    if (!fits && shared_.failed_rank < 0) {
      shared_.failed_rank = rank_;
      shared_.failure = fmt::format("a message of {} bytes from rank {} where {} were expected",
                                    message.bytes.size(), wanted.from, wanted.bytes.size());
    }
  }

  Exchange& shared_;
  const int rank_;
};

}  // namespace

void run_ranks(int n, const std::function<void(Fabric&)>& body) {
  Exchange shared(n);
  const auto fail = [&](int rank, const std::string& failure) {
    const std::lock_guard lock(shared.mutex);
    if (shared.failed_rank < 0) {
      shared.failed_rank = rank;
      shared.failure = failure;
    }
    shared.changed.notify_all();
  };
  const auto run = [&](int rank) {
    ThreadsFabric fabric(shared, rank);
    try {
      body(fabric);
    } catch (const std::exception& error) {
      fail(rank, error.what());
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(n));
  try {
    while (std::ssize(threads) < n) threads.emplace_back(run, static_cast<int>(threads.size()));
  } catch (const std::exception& error) {  // the system gives no more; the others wait for this one
    fail(static_cast<int>(threads.size()), error.what());
  }
  for (std::thread& thread : threads) thread.join();
  if (shared.failed_rank >= 0)
    throw std::runtime_error(fmt::format("rank {}: {}", shared.failed_rank, shared.failure));
}

}  // namespace convscope

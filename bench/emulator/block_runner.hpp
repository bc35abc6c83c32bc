// Runs the blocks of a launch one after another on this OS thread: every CUDA thread of the block is a fiber,
// which runs until it waits. Start reading at run(); barriers and warp collectives are in barriers.cpp.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/emulator/executor.hpp"
#include "bench/emulator/fiber.hpp"
#include "bench/emulator/options.hpp"
#include "bench/emulator/sanitizers.hpp"

namespace convscope::emulated::executor {

// What fail() throws on a fiber; its entry catches it.
struct LaunchFailure {
  std::string text;
};

// One kernel launch.
struct Launch {
  dim3 grid, block;
  size_t smem_bytes;
  EmulatorOptions options = {};
  const std::function<void()>& body;
  std::string error = {};          // empty while all is well
  char started = 0, finished = 0;  // what the thread sanitizer orders kernels and host code by

  size_t threads() const { return size_t{block.x} * block.y * block.z; }
  size_t blocks() const { return size_t{grid.x} * grid.y * grid.z; }
};

// A thread's asynchronous operations in the order of issue, closed into groups as cp.async and wgmma do.
template <typename Operation>
class OperationGroups {
 public:
  void issue(const Operation& operation) { issued_.push_back(operation); }
  void commit() { ends_.push_back(issued_.size()); }
  // The operations of all but the newest `keep` groups, which are then forgotten. Valid until the next
  // finish().
  const std::vector<Operation>& finish(unsigned keep) {
    const size_t groups = ends_.size() > keep ? ends_.size() - keep : 0;
    const size_t end = groups ? ends_[groups - 1] : 0;
    finished_.assign(issued_.begin(), issued_.begin() + static_cast<ptrdiff_t>(end));
    issued_.erase(issued_.begin(), issued_.begin() + static_cast<ptrdiff_t>(end));
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<ptrdiff_t>(groups));
    for (size_t& remaining : ends_) remaining -= end;
    return finished_;
  }
  void clear() {
    issued_.clear();
    ends_.clear();
  }

 private:
  std::vector<Operation> issued_, finished_;
  std::vector<size_t> ends_;
};

class BlockRunner {
 public:
  BlockRunner();
  ~BlockRunner();

  // Of the launches of this OS thread: what they need is made once, as fibers cost much to make.
  static BlockRunner& of_this_thread();

  // The block of that number, x fastest. Where it fails, launch.error says why.
  void run(Launch& launch, size_t block_number);
  // After the last block of a launch, and before the first one of another.
  void end_launch();

  // The functions of executor.hpp, for the running thread.
  static BlockRunner& current();
  void block_barrier(int id, unsigned threads, const char* operation, const CallSite& site);
  void join_warp(unsigned mask, void* argument, Combine combine, bool orders_memory, const char* operation,
                 const CallSite& site);
  void spin(const char* operation, const CallSite& site);
  void note_progress() { spins_ = 0; }
  void maybe_overtake();
  void run_later(std::function<void()> work);

  enum class State { ready, waits, done };
  struct Fiber : ThreadContext {
    Context context;
    std::unique_ptr<Stack> stack;
    const unsigned char* stack_data = nullptr;
    size_t stack_bytes = 0;
    void* fake_stack = nullptr;  // the address sanitizer's
    void* tsan_fiber = nullptr;
    State state = State::done;
    const char* operation = "";
    CallSite site;
    OperationGroups<Copy> copies;
    OperationGroups<WarpgroupProduct> products;
    bool products_fenced = false;
    std::vector<uint64_t*> unfenced_barriers;
  };
  Fiber& fiber() { return *running_; }

 private:
  struct Barrier {
    unsigned arrived = 0, threads = 0;
    const char* operation = "";
    CallSite site;
    std::vector<Fiber*> waiting;
    tsan::Phase* phase = nullptr;
  };
  struct WarpCollective {
    unsigned mask = 0, arrived = 0;
    void* arguments[32] = {};
    const char* operation = "";
    CallSite site;
    tsan::Phase* phase = nullptr;
  };
  struct LaterWork {
    std::function<void()> work;
    tsan::Phase* issue = nullptr;
  };

  static void fiber_main();
  void run_thread();
  void prepare_memory();
  void prepare_fibers();
  std::unique_ptr<Fiber> take_fiber();
  void start_threads();
  void close_block();
  void retire_fibers();
  std::string deadlock_text() const;
  [[noreturn]] void fail_divergent(const Barrier& barrier, int id, unsigned threads, const char* operation,
                                   const CallSite& site);
  [[noreturn]] void fail_divergent(const WarpCollective& collective, unsigned mask, const char* operation,
                                   const CallSite& site);
  [[noreturn]] void fail_absent(const char* operation, const CallSite& site);
  unsigned lanes_in(unsigned warp) const;
  void make_ready(std::vector<Fiber*>& fibers);
  void push(Fiber* fiber);
  void run_next();
  void switch_to(Fiber* fiber);
  void landed();
  void run_one_later_work();

  Launch* launch_ = nullptr;
  BlockContext block_;
  std::unique_ptr<unsigned char, void (*)(void*)> dynamic_smem_;
  size_t dynamic_smem_bytes_ = 0;
  size_t threads_ = 0, done_ = 0, spins_ = 0;
  Fiber host_;  // the caller of run()
  Fiber *running_ = &host_, *left_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  // The thread sanitizer's only: fibers of earlier blocks of this launch, oldest first, and of earlier
  // launches.
  std::deque<std::unique_ptr<Fiber>> ended_, spare_;
  std::vector<Fiber*> ready_, scratch_;  // ready_ is a ring of a power of two
  size_t head_ = 0, tail_ = 0;
  Barrier barriers_[16];
  std::vector<std::vector<WarpCollective>> warps_;
  std::deque<LaterWork> later_;
  std::unique_ptr<Fiber> copy_engine_;  // of the block: a thread of its own to the thread sanitizer
  std::minstd_rand random_;
};

}  // namespace convscope::emulated::executor

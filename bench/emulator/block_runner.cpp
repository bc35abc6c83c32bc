#include "bench/emulator/block_runner.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

namespace convscope::emulated::executor {

constinit thread_local ThreadContext* current_thread = nullptr;
constinit thread_local BlockContext* current_block = nullptr;

namespace {

thread_local BlockRunner* current_runner = nullptr;

// The thread sanitizer has numbers for 8128 fibers: how many of them wait for a next launch, on all OS
// threads, and how many others a launch uses before it uses one again.
constexpr size_t kSpare = 2048, kApart = 3000;
std::atomic<size_t> spare_of_all{0};

std::string triple(const uint3& index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z) + ")";
}

uint3 index_of(size_t number, const dim3& size) {
  return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
          static_cast<unsigned>(number / size.x / size.y)};
}

}  // namespace

#if !defined(CONVSCOPE_EMULATOR_TSAN)
extern "C" unsigned char __start_convscope_shared[] __attribute__((weak));
extern "C" unsigned char __stop_convscope_shared[] __attribute__((weak));

// Not memset: the address sanitizer has red zones in between.
__attribute__((no_sanitize("address", "undefined"), optimize("no-tree-loop-distribute-patterns"))) static void
fill_static_smem_with_nan() {
  if (__start_convscope_shared == nullptr) return;
  typedef uint64_t Chunk __attribute__((vector_size(32), aligned(1), may_alias));
  unsigned char* at = __start_convscope_shared;
  const Chunk ones = {~0ull, ~0ull, ~0ull, ~0ull};
  for (; at + sizeof(Chunk) <= __stop_convscope_shared; at += sizeof(Chunk))
    *reinterpret_cast<Chunk*>(at) = ones;
  for (; at != __stop_convscope_shared; ++at) *at = 0xff;
}
#else
static void fill_static_smem_with_nan() {}
#endif

void fail(const std::string& text, const CallSite& site) {
  throw LaunchFailure{text + " at " + site.text() + " [block " + triple(current_block->index) + " thread " +
                      triple(current_thread->index) + "]"};
}

BlockRunner::BlockRunner() : dynamic_smem_(nullptr, std::free) {}
BlockRunner::~BlockRunner() {
  for (const auto& fiber : spare_) tsan::destroy_fiber(fiber->tsan_fiber);
  spare_of_all -= spare_.size();
}

BlockRunner& BlockRunner::of_this_thread() {
  thread_local BlockRunner runner;
  return runner;
}

BlockRunner& BlockRunner::current() {
  return *current_runner;
}

void BlockRunner::run(Launch& launch, size_t block_number) {
  launch_ = &launch;
  threads_ = launch.threads();
  prepare_memory();
  prepare_fibers();
  block_ = BlockContext{index_of(block_number, launch.grid), launch.block, launch.grid, dynamic_smem_.get(),
                        launch.smem_bytes};
  current_block = &block_;
  current_runner = this;
  current_thread = &host_;
  host_.tsan_fiber = tsan::current_fiber();
  random_.seed(launch.options.seed + static_cast<unsigned>(block_number));
  start_threads();
  run_next();
  close_block();
  current_block = nullptr;
  current_runner = nullptr;
  current_thread = nullptr;
}

void BlockRunner::prepare_memory() {
  if (launch_->smem_bytes != dynamic_smem_bytes_) {
    void* data = nullptr;
    if (launch_->smem_bytes && posix_memalign(&data, 1024, launch_->smem_bytes)) throw std::bad_alloc();
    dynamic_smem_.reset(static_cast<unsigned char*>(data));
    dynamic_smem_bytes_ = launch_->smem_bytes;
  }
  if (dynamic_smem_bytes_) std::memset(dynamic_smem_.get(), 0xff, dynamic_smem_bytes_);
  fill_static_smem_with_nan();
}

// To the thread sanitizer a fiber that is used again is the same thread, whose past is before all that it
// does next. After an earlier launch that is so anyway; within a launch it hides races between two blocks, so
// there kApart others come first.
std::unique_ptr<BlockRunner::Fiber> BlockRunner::take_fiber() {
  std::unique_ptr<Fiber> fiber;
  if (!spare_.empty()) {
    fiber = std::move(spare_.back());
    spare_.pop_back();
    --spare_of_all;
  } else if (ended_.size() > kApart) {
    fiber = std::move(ended_.front());
    ended_.pop_front();
  } else {
    fiber = std::make_unique<Fiber>();
    fiber->stack = std::make_unique<Stack>();
    fiber->stack_data = fiber->stack->data();
    fiber->stack_bytes = Stack::kBytes;
    fiber->tsan_fiber = tsan::create_fiber();
    fiber->context.start(fiber->stack->data(), Stack::kBytes, &BlockRunner::fiber_main);
  }
  return fiber;
}

void BlockRunner::prepare_fibers() {
  while (fibers_.size() < threads_) fibers_.push_back(take_fiber());
  for (size_t i = 0; i < threads_; ++i) {
    Fiber& fiber = *fibers_[i];
    fiber.index = index_of(i, launch_->block);
    fiber.linear = static_cast<unsigned>(i);
    fiber.lane = static_cast<unsigned>(i % 32);
    fiber.warp = static_cast<unsigned>(i / 32);
  }
  warps_.resize((threads_ + 31) / 32);
  ready_.assign(std::bit_ceil(threads_ + 1), nullptr);
}

void BlockRunner::start_threads() {
  head_ = tail_ = done_ = spins_ = 0;
  for (auto& collectives : warps_) collectives.clear();
  for (Barrier& barrier : barriers_) barrier = Barrier{};
  scratch_.clear();
  tsan::release(&launch_->started);  // they use the thread_local storage that this OS thread began with
  for (size_t i = 0; i < threads_; ++i) {
    Fiber& fiber = *fibers_[i];
    scratch_.push_back(&fiber);
    if constexpr (tsan::kActive)
      tsan::name_fiber(fiber.tsan_fiber,
                       ("block " + triple(block_.index) + " thread " + triple(fiber.index)).c_str());
  }
  make_ready(scratch_);
}

// All threads have ended, or one has failed, or none can go on.
void BlockRunner::close_block() {
  if (launch_->error.empty() && done_ != threads_) launch_->error = deadlock_text();
  if (launch_->error.empty() && !later_.empty())
    launch_->error = "block " + triple(block_.index) + " ended before its TMA loads";
  later_.clear();
  if constexpr (tsan::kActive) retire_fibers();
  if (done_ != threads_) fibers_.clear();  // some are stopped in the middle of the kernel
}

void BlockRunner::retire_fibers() {
  for (auto& fiber : fibers_) {
    if (fiber->state == State::done) {
      ended_.push_back(std::move(fiber));
      continue;
    }
    // What a stopped thread did is in the host's past. It cannot be destroyed, it is inside an Unwatched.
    tsan::switch_to(fiber->tsan_fiber);
    tsan::release(&launch_->finished);
    tsan::switch_to(host_.tsan_fiber);
  }
  fibers_.clear();
  if (copy_engine_) ended_.push_back(std::move(copy_engine_));
  dynamic_smem_.reset();  // the next block has its own
  dynamic_smem_bytes_ = 0;
}

void BlockRunner::end_launch() {
  for (; !ended_.empty(); ended_.pop_back()) {
    if (spare_of_all < kSpare) {
      spare_.push_back(std::move(ended_.back()));
      ++spare_of_all;
    } else {
      tsan::destroy_fiber(ended_.back()->tsan_fiber);
    }
  }
}

std::string BlockRunner::deadlock_text() const {
  const auto where = [&](size_t i) {
    const Fiber& fiber = *fibers_[i];
    return fiber.state == State::done ? std::string("ended")
                                      : std::string(fiber.operation) + " at " + fiber.site.text();
  };
  std::string text = "deadlock in block " + triple(block_.index) + ":";
  for (size_t i = 0, next; i < threads_; i = next) {
    for (next = i + 1; next < threads_ && where(next) == where(i);) ++next;
    text += "\n  threads " + std::to_string(i) + ".." + std::to_string(next - 1) + ": " + where(i);
  }
  return text;
}

void BlockRunner::make_ready(std::vector<Fiber*>& fibers) {
  const auto by_index = [](const Fiber* a, const Fiber* b) { return a->linear < b->linear; };
  switch (launch_->options.order) {
    case EmulatorOrder::forward:
      if (!std::is_sorted(fibers.begin(), fibers.end(), by_index))
        std::sort(fibers.begin(), fibers.end(), by_index);
      break;
    case EmulatorOrder::reverse:
      std::sort(fibers.rbegin(), fibers.rend(), by_index);
      break;
    case EmulatorOrder::random:
      std::shuffle(fibers.begin(), fibers.end(), random_);
      break;
  }
  for (Fiber* fiber : fibers) {
    fiber->state = State::ready;
    push(fiber);
  }
  fibers.clear();
  spins_ = 0;
}

void BlockRunner::push(Fiber* fiber) {
  ready_[tail_++ & (ready_.size() - 1)] = fiber;
}

void BlockRunner::run_next() {
  if (head_ == tail_) return switch_to(&host_);
  const size_t mask = ready_.size() - 1;
  if (launch_->options.order == EmulatorOrder::random)
    std::swap(ready_[head_ & mask], ready_[(head_ + random_() % (tail_ - head_)) & mask]);
  switch_to(ready_[head_++ & mask]);
}

void BlockRunner::switch_to(Fiber* fiber) {
  Fiber* me = running_;
  if (fiber == me) return;
  running_ = fiber;
  left_ = me;
  current_thread = fiber;
  asan::start_switch(&me->fake_stack, fiber->stack_data, fiber->stack_bytes);
  tsan::switch_to(fiber->tsan_fiber);
  Context::swap(me->context, fiber->context);
  landed();
}

// The first thing that a fiber does after a switch to it.
void BlockRunner::landed() {
  const void* stack = nullptr;
  size_t bytes = 0;
  asan::finish_switch(running_->fake_stack, &stack, &bytes);
  if (left_ == &host_) {
    host_.stack_data = static_cast<const unsigned char*>(stack);
    host_.stack_bytes = bytes;
  }
}

void BlockRunner::fiber_main() {
  BlockRunner& runner = *current_runner;  // once: a later launch may come from another OS thread
  runner.landed();
  for (;;) runner.run_thread();
}

void BlockRunner::run_thread() {
  tsan::acquire(&launch_->started);
  try {
    launch_->body();
  } catch (const LaunchFailure& failure) {
    if (launch_->error.empty()) launch_->error = failure.text;
  } catch (...) {
    if (launch_->error.empty()) launch_->error = "the kernel threw an exception";
  }
  tsan::release(&launch_->finished);
  Fiber& me = *running_;
  me.copies.clear();
  me.products.clear();
  me.products_fenced = false;
  me.unfenced_barriers.clear();
  me.state = State::done;
  ++done_;
  spins_ = 0;
  if (launch_->error.empty()) return run_next();
  switch_to(&host_);
}

}  // namespace convscope::emulated::executor

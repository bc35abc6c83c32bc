// The part of BlockRunner where threads wait for each other: barriers, warp collectives, spinning.
#include <algorithm>
#include <string>

#include "bench/emulator/block_runner.hpp"

namespace convscope::emulated::executor {
namespace {

constexpr size_t kSpinsPerThread = 1000;

std::string hexadecimal(unsigned mask) {
  std::string text = "00000000";
  for (size_t digit = 0; digit < 8; ++digit) text[digit] = "0123456789abcdef"[mask >> (28 - 4 * digit) & 15];
  return text;
}

}  // namespace

// Apart from their callers, which run millions of times: the strings' stack is slow to enter under the
// sanitizers.
void BlockRunner::fail_divergent(const Barrier& barrier, int id, unsigned threads, const char* operation,
                                 const CallSite& site) {
  fail("divergent barrier " + std::to_string(id) + ": " + operation + " for " + std::to_string(threads) +
           " threads meets " + barrier.operation + " for " + std::to_string(barrier.threads) +
           " threads of " + barrier.site.text(),
       site);
}

void BlockRunner::fail_divergent(const WarpCollective& collective, unsigned mask, const char* operation,
                                 const CallSite& site) {
  fail("divergent warp " + std::to_string(running_->warp) + ": lane " + std::to_string(running_->lane) +
           " in " + operation + " with mask " + hexadecimal(mask) + " meets " + collective.operation +
           " with mask " + hexadecimal(collective.mask) + " of " + collective.site.text(),
       site);
}

void BlockRunner::fail_absent(const char* operation, const CallSite& site) {
  fail(std::string(operation) + ": the mask lacks the calling lane", site);
}

void BlockRunner::block_barrier(int id, unsigned threads, const char* operation, const CallSite& site) {
  const tsan::Unwatched unwatched;
  Barrier& barrier = barriers_[id];
  const unsigned wanted = threads ? threads : static_cast<unsigned>(threads_);
  if (barrier.arrived == 0) {
    barrier.threads = wanted;
    barrier.operation = operation;
    barrier.site = site;
    barrier.phase = nullptr;
  }
  // Named barriers join producers and consumers, who come from different lines.
  if (barrier.threads != wanted || (id == 0 && !(barrier.site == site)))
    fail_divergent(barrier, id, wanted, operation, site);
  tsan::Phase* phase = tsan::arrive(barrier.phase);
  Fiber& me = *running_;
  me.state = State::waits;
  me.operation = operation;
  me.site = site;
  barrier.waiting.push_back(&me);
  if (++barrier.arrived == barrier.threads) {
    make_ready(barrier.waiting);
    barrier.arrived = 0;
  }
  run_next();
  tsan::leave(phase);
}

unsigned BlockRunner::lanes_in(unsigned warp) const {
  const size_t left = threads_ - size_t{warp} * 32;
  return left >= 32 ? ~0u : (1u << left) - 1;
}

void BlockRunner::join_warp(unsigned mask, void* argument, Combine combine, bool orders_memory,
                            const char* operation, const CallSite& site) {
  const tsan::Unwatched unwatched;
  Fiber& me = *running_;
  auto& collectives = warps_[me.warp];
  const unsigned bit = 1u << me.lane;
  mask &= lanes_in(me.warp);  // the last, partial warp may use the full mask, as on the device
  if (!(mask & bit)) fail_absent(operation, site);
  auto collective = std::find_if(collectives.begin(), collectives.end(),
                                 [&](const WarpCollective& m) { return m.mask & bit; });
  if (collective == collectives.end()) {
    collective = collectives.emplace(collectives.end());
    collective->mask = mask;
    collective->operation = operation;
    collective->site = site;
  }
  if (collective->mask != mask || !(collective->site == site))
    fail_divergent(*collective, mask, operation, site);
  tsan::Phase* phase = orders_memory ? tsan::arrive(collective->phase) : nullptr;
  collective->arrived |= bit;
  collective->arguments[me.lane] = argument;
  me.state = State::waits;
  me.operation = operation;
  me.site = site;
  if (collective->arrived == mask) {
    if (combine) combine(collective->arguments, mask, site);
    scratch_.clear();
    for (unsigned lane = 0; lane < 32; ++lane)
      if (mask >> lane & 1) scratch_.push_back(fibers_[size_t{me.warp} * 32 + lane].get());
    collectives.erase(collective);
    make_ready(scratch_);
  }
  run_next();
  tsan::leave(phase);
}

void BlockRunner::spin(const char* operation, const CallSite& site) {
  const tsan::Unwatched unwatched;
  running_->operation = operation;
  running_->site = site;
  if (!later_.empty()) run_one_later_work();
  if (++spins_ > kSpinsPerThread * (threads_ + 1))
    fail("livelock: every thread that can run spins, one", site);
  push(running_);
  run_next();
}

void BlockRunner::maybe_overtake() {
  const tsan::Unwatched unwatched;
  if (launch_->options.order != EmulatorOrder::random || random_() % 2) return;
  push(running_);
  run_next();
}

void BlockRunner::run_later(std::function<void()> work) {
  const tsan::Unwatched unwatched;
  tsan::Phase* issue = nullptr;
  tsan::arrive(issue);
  later_.push_back({std::move(work), issue});
}

void BlockRunner::run_one_later_work() {
  const LaterWork work = std::move(later_.front());
  later_.pop_front();
  if constexpr (tsan::kActive) {
    if (copy_engine_ == nullptr) {
      copy_engine_ = take_fiber();
      tsan::name_fiber(copy_engine_->tsan_fiber, "copy engine");
    }
    // In order, as the copy runs on the stack of the thread that spins, where that one has left its traces.
    tsan::switch_in_order(copy_engine_->tsan_fiber);
  }
  tsan::leave(work.issue);
  work.work();
  tsan::switch_to(running_->tsan_fiber);
  spins_ = 0;
}

}  // namespace convscope::emulated::executor

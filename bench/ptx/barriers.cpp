// Barriers of a block: bar.sync, bar.arrive, bar.red.
#include <fmt/format.h>

#include <bit>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"

namespace convscope::ptx {
namespace {

enum Kind : u8 { kSync, kCountVotes, kAnyVote, kAllVotes, kArrive };

// Lets them go when all are there.
void check_barrier(Block& b, BlockBarrier& barrier) {
  if (barrier.lanes.empty()) return;
  u32 needed = barrier.expected;
  if (needed == 0)
    for (const Warp& w : b.warps) needed += w.live ? kLanes : 0;
  if (barrier.arrived < needed) return;
  for (const auto& [warp, lanes] : barrier.lanes) {
    Warp& w = b.warps[warp];
    if (lanes == 0) continue;  // has arrived and gone on
    w.waiting &= ~lanes;
    join(b.clocks[warp], barrier.clock);
    const auto pc = static_cast<size_t>(w.lane_pc[static_cast<size_t>(std::countr_zero(lanes))]);
    const Instruction& at = b.kernel->code[pc - 1];
    if (at.detail == kCountVotes)
      for (u32 k = lanes; k != 0; k &= k - 1) w.to<u32>(at.o[0])[std::countr_zero(k)] = barrier.count;
    if (at.detail == kAnyVote) put_predicate(w, at.o[0], lanes, barrier.any ? lanes : 0);
    if (at.detail == kAllVotes) put_predicate(w, at.o[0], lanes, barrier.all ? lanes : 0);
  }
  barrier = BlockBarrier();
  ++b.events;
}

void arrive(Block& b, BlockBarrier& barrier, Warp& w, u32 waiting) {
  barrier.arrived += kLanes;
  barrier.lanes.push_back({w.number, waiting});
  // What the warp does from here on those whom the barrier lets go know nothing of.
  join(barrier.clock, b.clocks[w.number]);
  ++b.clocks[w.number][w.number];
  ++b.events;
}

void bar(Warp& w, const Instruction& i, u32 mask) {
  Block& b = *w.block;
  if (!all_here(w, i, mask, w.launched)) return;
  const int l = std::countr_zero(mask);
  const bool reduces = i.detail == kCountVotes || i.detail == kAnyVote || i.detail == kAllVotes;
  const size_t first = reduces ? 1 : 0;
  const u32 id = w.from<u32>(i.o[first])[l];
  if (id > 15) b.fault(w, i, l, fmt::format("barrier {}", id));
  const size_t last = reduces ? 2 + (i.o[3].index >= 0) : 1 + (i.o[1].index >= 0);  // one beyond the count
  u32 expected = 0;
  if (last == first + 2) {
    expected = w.from<u32>(i.o[first + 1])[l];
    if (expected == 0 || expected % kLanes != 0)
      b.fault(w, i, l, fmt::format("a barrier of {} threads", expected));
  }
  BlockBarrier& barrier = b.barriers[id];
  if (!barrier.lanes.empty() && barrier.expected != expected)
    b.fault(
        w, i, l,
        fmt::format("barrier {} of {} threads, others wait at it for {}", id, expected, barrier.expected));
  barrier.expected = expected;
  if (reduces) {
    const u32 p = w.predicate(i.o[last]) & mask;
    barrier.count += static_cast<u32>(std::popcount(p));
    barrier.any |= p != 0;
    barrier.all &= p == mask;
  }
  leave_pc(w, w.mask, w.pc);
  arrive(b, barrier, w, i.detail == kArrive ? 0 : mask);
  if (i.detail != kArrive) w.waiting |= mask;
  w.reselect = true;
  check_barrier(b, barrier);
}

}  // namespace

void check_barriers(Block& b) {
  for (auto& barrier : b.barriers) check_barrier(b, barrier);
}

Handler barrier_handler(Instruction& i, const Mnemonic& m) {
  if ((m.operation() != "bar" && m.operation() != "barrier") || m.has("warp") || m.has("cluster"))
    return nullptr;
  i.detail = m.has("popc")     ? kCountVotes
             : m.has("or")     ? kAnyVote
             : m.has("and")    ? kAllVotes
             : m.has("arrive") ? kArrive
                               : kSync;
  i.type = Type::none;
  return bar;
}

}  // namespace convscope::ptx

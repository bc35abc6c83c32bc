// Barriers of a block (bar.sync, bar.arrive), mbarriers, and the fence between generic writes and
// the asynchronous proxy.
#include <fmt/format.h>

#include <bit>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"

namespace convscope::ptx {
namespace {

// Releases the waiting lanes when all threads have arrived.
void check_barrier(Block& b, BlockBarrier& barrier) {
  if (barrier.lanes.empty()) return;
  u32 needed = barrier.expected;
  if (needed == 0)
    for (const Warp& w : b.warps) needed += w.live ? kLanes : 0;
  if (barrier.arrived < needed) return;
  for (const auto& [warp, lanes] : barrier.lanes) {
    if (lanes == 0) continue;  // bar.arrive: the warp did not wait
    b.warps[warp].waiting &= ~lanes;
    join(b.clocks[warp], barrier.clock);
  }
  barrier = BlockBarrier();
  ++b.events;
}

void arrive(Block& b, BlockBarrier& barrier, Warp& w, u32 waiting) {
  barrier.arrived += kLanes;
  barrier.lanes.push_back({w.number, waiting});
  // The warp's later accesses are not ordered before those of the released warps.
  join(barrier.clock, b.clocks[w.number]);
  ++b.clocks[w.number][w.number];
  ++b.events;
}

void bar(Warp& w, const Instruction& i, u32 mask) {  // detail: 1 bar.arrive
  Block& b = *w.block;
  if (!all_here(w, i, mask, w.launched)) return;
  const int l = std::countr_zero(mask);
  const u32 id = w.from<u32>(i.o[0])[l];
  if (id > 15) b.fault(w, i, l, fmt::format("barrier {}", id));
  u32 expected = 0;
  if (i.o[1].index >= 0) {
    expected = w.from<u32>(i.o[1])[l];
    if (expected == 0 || expected % kLanes != 0)
      b.fault(w, i, l, fmt::format("a barrier of {} threads", expected));
  }
  BlockBarrier& barrier = b.barriers[id];
  if (!barrier.lanes.empty() && barrier.expected != expected)
    b.fault(
        w, i, l,
        fmt::format("barrier {} of {} threads, others wait at it for {}", id, expected, barrier.expected));
  barrier.expected = expected;
  set_pc(w, w.mask, w.pc);
  const u32 waiting = i.detail ? 0 : mask;
  arrive(b, barrier, w, waiting);
  w.waiting |= waiting;
  w.reselect = true;
  check_barrier(b, barrier);
}

void mbarrier_init(Warp& w, const Instruction& i, u32 mask) {
  each_lane(mask, [&](int l) {
    const u64 at = w.address(i.o[0], l) + static_cast<u64>(i.offset);
    w.block->shared_at(w, i, l, at, 8, true);
    const u32 count = w.from<u32>(i.o[1])[l];
    if (count == 0 || count >= 1u << 20)
      w.block->fault(w, i, l, fmt::format("an mbarrier of {} arrivals", count));
    w.block->mbarriers[static_cast<u32>(at)] = {count, count, 0, 0, {}, {}};
  });
}

void mbarrier_inval(Warp& w, const Instruction& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    w.block->mbarriers.erase(static_cast<u32>(w.address(i.o[0], l) + static_cast<u64>(i.offset)));
  });
}

enum Arrival : u8 { kPlain, kExpecting, kExpectingOnly };

void mbarrier_arrive(Warp& w, const Instruction& i, u32 mask) {
  each_lane(mask, [&](int l) {
    const size_t first = i.detail == kExpectingOnly ? 0 : 1;
    const u64 at = w.address(i.o[first], l) + static_cast<u64>(i.offset);
    Mbarrier& barrier = w.block->mbarrier(w, i, l, at);
    u32 count = 1;
    if (i.detail != kPlain) {
      const u32 bytes = w.from<u32>(i.o[first + 1])[l];
      barrier.bytes += bytes;
      if (barrier.bytes >= 1 << 20) w.block->fault(w, i, l, "an mbarrier expects too many bytes");
    } else if (i.o[2].index >= 0) {
      count = w.from<u32>(i.o[2])[l];
    }
    if (i.detail != kExpectingOnly) w.block->arrive(w, i, l, static_cast<u32>(at), count);
  });
}

void mbarrier_wait(Warp& w, const Instruction& i, u32 mask) {  // test_wait.parity, try_wait.parity
  u32 done = 0;
  each_lane(mask, [&](int l) {
    const u64 at = w.address(i.o[1], l) + static_cast<u64>(i.offset);
    Mbarrier& barrier = w.block->mbarrier(w, i, l, at);
    const u32 parity = w.from<u32>(i.o[2])[l];
    if (parity > 1) w.block->fault(w, i, l, fmt::format("phase parity {}", parity));
    if ((barrier.phase & 1) != parity) {
      done |= u32{1} << l;
      join(w.block->clocks[w.number], barrier.released);
    }
  });
  put_predicate(w, i.o[0], mask, done);
  if (done != 0) ++w.block->events;
  if (const u32 again = mask & ~done; again != 0) {
    set_pc(w, w.mask, w.pc);
    w.spun |= again;
    w.reselect = true;
  }
}

// Counted for whole warps only: the fence of a single lane orders that lane only.
void fence_proxy(Warp& w, const Instruction&, u32 mask) {
  if ((w.live & ~mask) == 0) ++w.block->proxy_fences[w.number];
}

Handler bar_handler(Instruction& i, const Mnemonic& m) {
  if (m.has("warp") || m.has("cluster") || m.has("red")) return nullptr;
  i.detail = m.has("arrive");
  i.type = Type::none;
  return bar;
}

}  // namespace

void check_barriers(Block& b) {
  for (auto& barrier : b.barriers) check_barrier(b, barrier);
}

Mbarrier& Block::mbarrier(const Warp& w, const Instruction& i, int lane, u64 address) {
  const auto found = mbarriers.find(static_cast<u32>(address));
  if (found == mbarriers.end())
    fault(w, i, lane, fmt::format("no mbarrier at {:#x} of shared memory", address));
  return found->second;
}

void Block::complete_phase(u32 address) {
  Mbarrier& m = mbarriers.at(address);
  if (m.pending != 0 || m.bytes != 0) return;
  ++m.phase;
  m.pending = m.expected;
  join(m.released, m.arrivals);
  ++events;
}

void Block::arrive(const Warp& w, const Instruction& i, int lane, u32 address, u32 count) {
  Mbarrier& m = mbarriers.at(address);
  m.pending -= count;
  if (m.pending < 0) fault(w, i, lane, "arrives at an mbarrier at which all have arrived");
  join(m.arrivals, clocks[w.number]);
  ++clocks[w.number][w.number];
  ++events;
  complete_phase(address);
}

Handler barrier_handler(Instruction& i, const Mnemonic& m) {
  if (m.starts_with("fence.proxy.async")) return fence_proxy;
  if (m.operation() == "bar" || m.operation() == "barrier") return bar_handler(i, m);
  if (m.operation() != "mbarrier" || m.parts.size() < 2) return nullptr;
  i.type = Type::none;
  const std::string& what = m.parts[1];
  if (what == "init") return mbarrier_init;
  if (what == "inval") return mbarrier_inval;
  if (what == "arrive" || what == "expect_tx") {
    i.detail = what == "expect_tx" ? kExpectingOnly : m.has("expect_tx") ? kExpecting : kPlain;
    return mbarrier_arrive;
  }
  return (what == "try_wait" || what == "test_wait") && m.has("parity") ? mbarrier_wait : nullptr;
}

}  // namespace convscope::ptx

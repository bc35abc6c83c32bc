// Branches, exits, fences without effect in the interpreter, and the collectives of a warp: bar.warp, shfl,
// vote, elect, activemask.
#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"

namespace convscope::ptx {
namespace {

void branch(Warp& w, const Instruction& i, u32 mask) {
  if (mask == w.mask) {
    w.pc = i.target;
    return;
  }
  set_pc(w, mask, i.target);
  set_pc(w, w.mask & ~mask, w.pc);
  w.reselect = true;
}

void exit(Warp& w, const Instruction&, u32 mask) {
  set_pc(w, w.mask & ~mask, w.pc);
  w.live &= ~mask;
  w.held &= ~mask;
  ++w.block->events;
  w.reselect = true;
  if (w.live == 0) check_barriers(*w.block);
}

void trap(Warp& w, const Instruction& i, u32 mask) {
  w.block->fault(w, i, std::countr_zero(mask), "trap");
}

void no_operation(Warp&, const Instruction&, u32) {}

void nanosleep(Warp& w, const Instruction&, u32 mask) {
  set_pc(w, w.mask, w.pc);
  w.spun |= mask;
  w.reselect = true;
}

// Like all_here(); throws Fault when a lane is not in the mask that it passes.
bool all_named_here(Warp& w, const Instruction& i, u32 mask, const Operand& member_mask) {
  const u32 needed = w.from<u32>(member_mask)[std::countr_zero(mask)];
  if ((mask & ~needed) != 0)
    w.block->fault(w, i, std::countr_zero(mask & ~needed), "is not in the mask it gives");
  return all_here(w, i, mask, needed);
}

void bar_warp(Warp& w, const Instruction& i, u32 mask) {
  all_named_here(w, i, mask, i.o[0]);
}

enum Shuffle : u8 { kUpBy, kDownBy, kButterfly, kIndex };

// The lane that lane l reads from; -1 where it is outside the segment. `c`: clamp and segment mask, packed as
// in the ISA.
int source_lane(u8 mode, int l, u32 b, u32 c) {
  const u32 lane = static_cast<u32>(l), clamp = c & 31, segment = c >> 8 & 31;
  const int last = static_cast<int>((lane & segment) | (clamp & ~segment));
  const int by = static_cast<int>(b & 31);
  if (mode == kUpBy) return l - by >= last ? l - by : -1;
  const int from = mode == kDownBy      ? l + by
                   : mode == kButterfly ? l ^ by
                                        : static_cast<int>((lane & segment) | (b & 31 & ~segment));
  return from <= last ? from : -1;
}

void shfl(Warp& w, const Instruction& i, u32 mask) {  // d|p, a, b, c, mask
  const bool has_predicate = i.o[5].index >= 0;
  const size_t a = has_predicate ? 2 : 1;
  if (!all_named_here(w, i, mask, i.o[a + 3])) return;
  u32 results[kLanes], good = 0;
  each_lane(mask, [&](int l) {
    int from = source_lane(i.detail, l, w.from<u32>(i.o[a + 1])[l], w.from<u32>(i.o[a + 2])[l]);
    good |= u32{from >= 0} << l;
    if (from < 0) from = l;
    if (!(mask >> from & 1))
      w.block->fault(w, i, l, "shuffles from lane " + std::to_string(from) + ", which takes no part");
    results[l] = w.from<u32>(i.o[a])[from];
  });
  for_lanes(mask, [&](int l) { w.to<u32>(i.o[0])[l] = results[l]; });
  if (has_predicate && i.o[1].index >= 0) put_predicate(w, i.o[1], mask, good);
}

enum Vote : u8 { kAll, kAny, kUniform, kBallot };

void vote(Warp& w, const Instruction& i, u32 mask) {  // d, p, mask
  if (!all_named_here(w, i, mask, i.o[2])) return;
  const u32 p = w.predicate(i.o[1]) & mask;
  if (i.detail == kBallot) {
    for_lanes(mask, [&](int l) { w.to<u32>(i.o[0])[l] = p; });
    return;
  }
  const bool value = i.detail == kAll ? p == mask : i.detail == kAny ? p != 0 : p == mask || p == 0;
  put_predicate(w, i.o[0], mask, value ? mask : 0);
}

void activemask(Warp& w, const Instruction& i, u32 mask) {
  for_lanes(mask, [&](int l) { w.to<u32>(i.o[0])[l] = mask; });
}

void elect(Warp& w, const Instruction& i, u32 mask) {  // d|p, mask
  if (!all_named_here(w, i, mask, i.o[2])) return;
  const int leader = std::countr_zero(mask);
  if (i.o[0].index >= 0) for_lanes(mask, [&](int l) { w.to<u32>(i.o[0])[l] = static_cast<u32>(leader); });
  put_predicate(w, i.o[1], mask, u32{1} << leader);
}

}  // namespace

Handler control_handler(Instruction& i, const Mnemonic& m) {
  const std::string& operation = m.operation();
  if (operation == "bra" && (m.parts.size() == 1 || m.text == "bra.uni")) return branch;
  if (operation == "ret" || operation == "exit") return exit;
  if (operation == "trap") return trap;
  if (operation == "nanosleep") return nanosleep;
  if (operation == "activemask") return activemask;
  if (operation == "elect") return elect;
  for (const char* idle : {"membar", "setmaxnreg", "griddepcontrol", "prefetch", "prefetchu"})
    if (operation == idle) return no_operation;
  for (const char* idle : {"fence.mbarrier_init", "fence.acq_rel", "fence.sc"})
    if (m.starts_with(idle)) return no_operation;
  if ((operation == "bar" || operation == "barrier") && m.has("warp")) {
    i.type = Type::none;
    return bar_warp;
  }
  if (operation == "shfl") {
    i.detail = m.has("up") ? kUpBy : m.has("down") ? kDownBy : m.has("bfly") ? kButterfly : kIndex;
    return shfl;
  }
  if (operation == "vote") {
    i.detail = m.has("ballot") ? kBallot : m.has("any") ? kAny : m.has("uni") ? kUniform : kAll;
    i.type = Type::none;
    return vote;
  }
  return nullptr;
}

}  // namespace convscope::ptx

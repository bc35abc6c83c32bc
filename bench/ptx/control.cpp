// Branches, the end of lanes, fences that nothing here depends on.
#include <bit>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"

namespace convscope::ptx {
namespace {

void branch(Warp& w, const Instruction& i, u32 mask) {
  if (mask == w.mask) {
    w.pc = i.target;
    return;
  }
  leave_pc(w, mask, i.target);
  leave_pc(w, w.mask & ~mask, w.pc);
  w.reselect = true;
}

void exit(Warp& w, const Instruction&, u32 mask) {
  leave_pc(w, w.mask & ~mask, w.pc);
  w.live &= ~mask;
  w.held &= ~mask;
  ++w.block->events;
  w.reselect = true;
  if (w.live == 0) check_barriers(*w.block);
}

void trap(Warp& w, const Instruction& i, u32 mask) {
  w.block->fault(w, i, std::countr_zero(mask), "trap");
}

void nothing(Warp&, const Instruction&, u32) {}

void nanosleep(Warp& w, const Instruction&, u32 mask) {
  leave_pc(w, w.mask, w.pc);
  w.spun |= mask;
  w.reselect = true;
}

}  // namespace

Handler control_handler(Instruction&, const Mnemonic& m) {
  const std::string& operation = m.operation();
  if (operation == "bra" && (m.parts.size() == 1 || m.text == "bra.uni")) return branch;
  if (operation == "ret" || operation == "exit") return exit;
  if (operation == "trap") return trap;
  if (operation == "nanosleep") return nanosleep;
  for (const char* idle : {"membar", "setmaxnreg", "griddepcontrol", "prefetch", "prefetchu"})
    if (operation == idle) return nothing;
  for (const char* idle : {"fence.mbarrier_init", "fence.acq_rel", "fence.sc"})
    if (m.starts_with(idle)) return nothing;
  return nullptr;
}

}  // namespace convscope::ptx

// cp.async: copies of 4, 8 or 16 bytes by each thread. Late ones land at the wait.
#include <fmt/format.h>

#include <cstring>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"

namespace convscope::ptx {
namespace {

void arrive(Warp& w, const Copy& c, int l) {
  u8* to = w.block->shared_at(w, *c.by, l, c.to, c.bytes, true);
  if (c.valid > 0) {
    w.block->check_global(w, *c.by, l, c.from, c.valid, "copies");
    std::memcpy(to, reinterpret_cast<const u8*>(c.from), c.valid);
  }
  std::memset(to + c.valid, 0, c.bytes - c.valid);
}

void cp_async(Warp& w, const Instruction& i, u32 mask) {
  for (u32 k = mask; k != 0; k &= k - 1) {
    const int l = std::countr_zero(k);
    Copy c;
    c.to = static_cast<u32>(w.address(i.o[0], l) + static_cast<u64>(i.offset));
    c.from = w.address(i.o[1], l) + static_cast<u64>(i.offset2);
    c.bytes = static_cast<u8>(w.from<u32>(i.o[2])[l]);
    const u32 valid = i.o[3].index >= 0 ? w.from<u32>(i.o[3])[l] : c.bytes;
    if (valid > c.bytes) w.block->fault(w, i, l, fmt::format("copies {} of {} bytes", valid, c.bytes));
    c.valid = static_cast<u8>(valid);
    c.by = &i;
    if (c.bytes != 4 && c.bytes != 8 && c.bytes != 16) w.block->fault(w, i, l, "cp-size is not 4, 8 or 16");
    if (c.to % c.bytes != 0) w.block->misaligned(w, i, l, c.to, c.bytes, "copies to shared");
    if (c.from % c.bytes != 0) w.block->misaligned(w, i, l, c.from, c.bytes, "copies from global");
    if (c.valid > 0) w.block->check_global(w, i, l, c.from, c.valid, "copies");
    if (w.block->options->late)
      w.copies[static_cast<size_t>(l)].open.push_back(c);
    else
      arrive(w, c, l);
  }
}

void cp_commit(Warp& w, const Instruction&, u32 mask) {
  for_lanes(mask, [&](int l) {
    Copies& c = w.copies[static_cast<size_t>(l)];
    c.groups.push_back(std::move(c.open));
    c.open.clear();
  });
}

void cp_wait(Warp& w, const Instruction& i, u32 mask) {  // detail: 1 all
  for (u32 k = mask; k != 0; k &= k - 1) {
    const int l = std::countr_zero(k);
    Copies& c = w.copies[static_cast<size_t>(l)];
    const size_t keep = i.detail ? 0 : w.from<u32>(i.o[0])[l];
    while (c.groups.size() > keep) {
      for (const Copy& copy : c.groups.front()) arrive(w, copy, l);
      c.groups.pop_front();
    }
    if (i.detail) {
      for (const Copy& copy : c.open) arrive(w, copy, l);
      c.open.clear();
    }
  }
}

}  // namespace

Handler copy_handler(Instruction& i, const Mnemonic& m) {
  if (m.starts_with("cp.async.commit_group")) return cp_commit;
  if (m.starts_with("cp.async.wait_group") || m.starts_with("cp.async.wait_all")) {
    i.detail = m.has("wait_all");
    return cp_wait;
  }
  return m.starts_with("cp.async.ca") || m.starts_with("cp.async.cg") ? cp_async : nullptr;
}

}  // namespace convscope::ptx

// Asynchronous copies from global to shared memory. cp.async: 4, 8 or 16 bytes per thread; late copies
// land at the wait. TMA in tile mode and in im2col mode: late copies land when no warp can continue without
// them.
#include <fmt/format.h>

#include <cstring>

#include "bench/ptx/half.hpp"
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
  each_lane(mask, [&](int l) {
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
  });
}

void cp_commit(Warp& w, const Instruction&, u32 mask) {
  for_lanes(mask, [&](int l) {
    Copies& c = w.copies[static_cast<size_t>(l)];
    c.groups.push_back(std::move(c.open));
    c.open.clear();
  });
}

void cp_wait(Warp& w, const Instruction& i, u32 mask) {  // detail: 1 all
  each_lane(mask, [&](int l) {
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
  });
}

u32 shared_elements(const TensorMap& map, u32 dimension) {
  return (map.box[dimension] + map.step[dimension] - 1u) / map.step[dimension];
}

s64 last_of_box(const TensorMap& map, u32 dimension) {
  return s64{map.size_less_one[dimension]} + map.upper[dimension - 1];
}

// With swizzle a line that is shorter than it begins where the next swizzle does: seen on an H100 for im2col
// mode and 128 bytes, and taken to hold for all. The bytes between them are neither written nor counted.
u32 line_pitch(const TensorMap& map) {
  return map.swizzle == 0 ? shared_elements(map, 0) * map.element_bytes : 16u << map.swizzle;
}

// Im2col mode: pixels of the box in the order of dimensions 1, 2, ..., then of the next image.
template <class F>
void each_pixel(const TensorCopy& c, F&& f) {
  const TensorMap& map = c.map;
  const u32 image = c.rank - 1;
  s64 pixel[5] = {};
  for (u32 d = 0; d < c.rank; ++d) pixel[d] = c.at[d];
  for (u32 p = 0; p < map.pixels; ++p) {
    s64 at[5] = {pixel[0], pixel[1], pixel[2], pixel[3], pixel[4]};
    for (u32 d = 1; d < image; ++d) at[d] += c.offset[d - 1];
    f(p * line_pitch(map), at, u32{map.box[0]});
    u32 d = 1;
    for (; d < image && (pixel[d] += map.step[d]) > last_of_box(map, d); ++d) pixel[d] = map.lower[d - 1];
    if (d == image) pixel[d] += map.step[d];
  }
}

template <class F>
void each_line(const TensorCopy& c, F&& f) {  // f(shared offset, coordinates of the first element, elements)
  const TensorMap& map = c.map;
  if (map.pixels > 0) return each_pixel(c, f);
  u32 n[5] = {1, 1, 1, 1, 1};
  for (u32 d = 0; d < c.rank; ++d) n[d] = shared_elements(map, d);
  u32 offset = 0;
  s64 at[5] = {c.at[0], 0, 0, 0, 0};
  for (u32 v = 0; v < n[4]; ++v)
    for (u32 x = 0; x < n[3]; ++x)
      for (u32 z = 0; z < n[2]; ++z)
        for (u32 y = 0; y < n[1]; ++y) {
          const u32 index[5] = {0, y, z, x, v};
          for (u32 d = 1; d < c.rank; ++d) at[d] = c.at[d] + s64{index[d]} * map.step[d];
          f(offset, at, n[0]);
          offset += line_pitch(map);
        }
}

u32 box_bytes(const TensorCopy& c) {
  u32 bytes = c.map.element_bytes;
  if (c.map.pixels > 0) return bytes * c.map.box[0] * c.map.pixels;
  for (u32 d = 0; d < c.rank; ++d) bytes *= shared_elements(c.map, d);
  return bytes;
}

u32 tma_swizzled(u32 address, const TensorMap& map) {  // CUtensorMapSwizzle: 1 is 32 bytes, 2 is 64, 3 is 128
  return swizzled(address, map.swizzle == 0 ? 0 : 4u - map.swizzle);
}

constexpr u8 kIm2col = 1;  // Instruction::detail

TensorMap read_map(Warp& w, const Instruction& i, int l, u64 at) {
  Block& b = *w.block;
  TensorMap map;
  if (at % 64 != 0) b.fault(w, i, l, "a tensor map that is not aligned to 64 bytes");
  if ((at & kWindowMask) == kParamWindow) {
    const u64 offset = at & ~kWindowMask;
    if (offset + 128 > b.launch->parameters.size()) b.fault(w, i, l, "a tensor map beyond the parameters");
    std::memcpy(&map, b.launch->parameters.data() + offset, sizeof map);
  } else {
    b.check_global(w, i, l, at, 128, "reads a tensor map of");
    std::memcpy(&map, reinterpret_cast<const u8*>(at), sizeof map);
  }
  if (map.magic != kTensorMapMagic) b.fault(w, i, l, "not a tensor map");
  if (map.rank != i.count) b.fault(w, i, l, fmt::format("a tensor map of rank {}", map.rank));
  if ((map.pixels > 0) != (i.detail == kIm2col)) b.fault(w, i, l, "a tensor map of the other mode");
  return map;
}

// The copy writes its whole target: earlier accesses to it must be ordered by a barrier.
void record_target(Warp& w, const Instruction& i, int l, const TensorCopy& c) {
  Block& b = *w.block;
  each_line(c, [&](u32 offset, const s64*, u32 n) {
    for (u32 a = c.to + offset; a < c.to + offset + n * c.map.element_bytes; a += 4) {
      const u32 at = tma_swizzled(a, c.map);
      if (at < kSharedStart || at + 4 > b.shared_end || !b.shadow[at / 4].valid)
        b.fault(w, i, l,
                fmt::format("a TMA copy to {:#x} of shared memory, which ends at {:#x}", at, b.shared_end));
      b.record_write(w, i, l, at / 4, false);
      // Undefined until the copy lands.
      std::memset(b.shared.data() + at, 0xff, 4);
    }
  });
}

// A GPU calls it an illegal instruction (seen on an H100), also outside the tensor.
void check_first_coordinate(Warp& w, const Instruction& i, int l, const TensorCopy& c) {
  const s64 bytes = s64{c.at[0]} * c.map.element_bytes;
  if (bytes % 16 != 0)
    w.block->fault(w, i, l,
                   fmt::format("a TMA copy from coordinate {} of the innermost dimension, {} bytes, which is "
                               "no multiple of 16",
                               c.at[0], bytes));
}

// A GPU calls a copy from outside the box an illegal instruction, and takes offsets modulo 256 in four
// dimensions (seen on an H100).
void read_offsets(Warp& w, const Instruction& i, int l, TensorCopy& c) {
  for (u32 d = 1; d + 1 < c.rank; ++d) {
    const u32 offset = w.from<u32>(i.o[2 + c.rank + d])[l] & 0xffff;
    if (offset >> im2col_bits(c.rank) != 0)
      w.block->fault(w, i, l, fmt::format("an im2col offset of {} in {} dimensions", offset, c.rank));
    if (c.at[d] < c.map.lower[d - 1] || c.at[d] > last_of_box(c.map, d))
      w.block->fault(w, i, l,
                     fmt::format("an im2col copy from {}, outside its box, in dimension {}", c.at[d], d));
    c.offset[d - 1] = static_cast<u16>(offset);
  }
}

// Instruction::count is the rank.
void tensor_copy(Warp& w, const Instruction& i, u32 mask) {
  Block& b = *w.block;
  each_lane(mask, [&](int l) {
    TensorCopy c;
    c.rank = i.count;
    c.to = static_cast<u32>(w.address(i.o[0], l) + static_cast<u64>(i.offset));
    c.warp = w.number;
    c.lane = l;
    c.by = &i;
    c.clock = b.clocks[w.number];
    c.map = read_map(w, i, l, w.address(i.o[1], l) + static_cast<u64>(i.offset2));
    for (u32 d = 0; d < c.rank; ++d) c.at[d] = static_cast<s32>(w.from<u32>(i.o[2 + d])[l]);
    check_first_coordinate(w, i, l, c);
    if (i.detail == kIm2col) read_offsets(w, i, l, c);
    c.barrier = static_cast<u32>(w.address(i.o[2 + c.rank], l));
    b.mbarrier(w, i, l, c.barrier);
    if (c.to % 128 != 0) b.fault(w, i, l, "a TMA copy to a shared address that is not aligned to 128 bytes");
    record_target(w, i, l, c);
    if (b.options->late)
      b.tensor_copies.push_back(c);
    else
      land(b, c);
  });
}

// One element; a null `from` is an element outside the tensor.
void copy_element(const TensorMap& map, u8* to, const u8* from) {
  if (from == nullptr) {
    std::memset(to, map.nan_fill ? 0xff : 0, map.element_bytes);
  } else if (map.rounds_to_tf32) {
    float value;
    std::memcpy(&value, from, sizeof value);
    const u32 bits = float_to_nearest_tf32(value);
    std::memcpy(to, &bits, sizeof bits);
  } else {
    std::memcpy(to, from, map.element_bytes);
  }
}

Handler tensor_copy_handler(Instruction& i, const Mnemonic& m) {
  if (!m.has("global") || !m.has("mbarrier::complete_tx::bytes")) return nullptr;
  if (m.has("multicast::cluster")) return nullptr;
  i.detail = m.has("im2col") ? kIm2col : 0;
  i.space = Space::shared;
  return tensor_copy;
}

}  // namespace

void land(Block& b, const TensorCopy& c) {
  const TensorMap& map = c.map;
  const Warp& w = b.warps[c.warp];
  const u32 bytes = map.element_bytes;
  each_line(c, [&](u32 offset, const s64* at, u32 n) {
    bool inside = true;
    u64 from = map.base;
    for (u32 d = 1; d < c.rank; ++d) {
      inside &= at[d] >= 0 && at[d] <= s64{map.size_less_one[d]};
      from += static_cast<u64>(at[d]) * map.stride[d - 1];
    }
    for (u32 e = 0; e < n; ++e) {
      const s64 x = at[0] + e;
      u8* to = b.shared.data() + tma_swizzled(c.to + offset + e * bytes, map);
      if (!inside || x < 0 || x > s64{map.size_less_one[0]}) {
        copy_element(map, to, nullptr);
        continue;
      }
      const u64 address = from + static_cast<u64>(x) * bytes;
      if (address < b.cached.begin || address + bytes > b.cached.end)
        b.check_global(w, *c.by, c.lane, address, bytes, "a TMA copy reads");
      copy_element(map, to, reinterpret_cast<const u8*>(address));
    }
  });
  Mbarrier& m = b.mbarriers.at(c.barrier);
  m.bytes -= box_bytes(c);
  join(m.arrivals, c.clock);
  ++b.events;
  b.complete_phase(c.barrier);
}

Handler copy_handler(Instruction& i, const Mnemonic& m) {
  if (m.starts_with("cp.async.bulk.tensor.")) return tensor_copy_handler(i, m);
  if (m.starts_with("cp.async.commit_group")) return cp_commit;
  if (m.starts_with("cp.async.wait_group") || m.starts_with("cp.async.wait_all")) {
    i.detail = m.has("wait_all");
    return cp_wait;
  }
  return m.starts_with("cp.async.ca") || m.starts_with("cp.async.cg") ? cp_async : nullptr;
}

}  // namespace convscope::ptx

// Packing, and instructions on single bits and bytes.
#include <bit>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"

namespace convscope::ptx {
namespace {

// mov.b32 %r, {%rs0, %rs1} and the like, and back.
void pack(Warp& w, const Instruction& i, u32 mask) {
  const u32 bits = 8 * static_cast<u32>(size_of(i.type)) / i.count;
  const u64 part = (u64{1} << bits) - 1;
  for_lanes(mask, [&](int l) {
    u64 value = 0;
    for (u32 n = 0; n < i.count; ++n) value |= (raw(w, i.o[n + 1], l) & part) << (n * bits);
    put(w, i.o[0], l, value);
  });
}

void unpack(Warp& w, const Instruction& i, u32 mask) {
  const u32 bits = 8 * static_cast<u32>(size_of(i.type)) / i.count;
  const u64 part = (u64{1} << bits) - 1;
  for_lanes(mask, [&](int l) {
    const u64 value = raw(w, i.o[i.count], l);
    for (u32 n = 0; n < i.count; ++n) put(w, i.o[n], l, value >> (n * bits) & part);
  });
}

// Bits of single operations that kernels rarely use.
void popc(Warp& w, const Instruction& i, u32 mask) {
  for_lanes(mask, [&](int l) { put(w, i.o[0], l, static_cast<u64>(std::popcount(raw(w, i.o[1], l)))); });
}
void clz(Warp& w, const Instruction& i, u32 mask) {
  const int bits = 8 * size_of(i.type);
  for_lanes(mask, [&](int l) {
    put(w, i.o[0], l, static_cast<u64>(std::countl_zero(raw(w, i.o[1], l)) - (64 - bits)));
  });
}
void brev(Warp& w, const Instruction& i, u32 mask) {
  const int bits = 8 * size_of(i.type);
  for_lanes(mask, [&](int l) {
    const u64 a = raw(w, i.o[1], l);
    u64 r = 0;
    for (int b = 0; b < bits; ++b) r |= (a >> b & 1) << (bits - 1 - b);
    put(w, i.o[0], l, r);
  });
}
void bfi(Warp& w, const Instruction& i, u32 mask) {
  const u32 bits = 8 * static_cast<u32>(size_of(i.type));
  for_lanes(mask, [&](int l) {
    const u64 a = raw(w, i.o[1], l), b = raw(w, i.o[2], l);
    const u32 at = static_cast<u32>(raw(w, i.o[3], l)) & 0xff,
              length = static_cast<u32>(raw(w, i.o[4], l)) & 0xff;
    u64 r = b;
    for (u32 n = 0; n < length && at + n < bits; ++n)
      r = (r & ~(u64{1} << (at + n))) | (a >> n & 1) << (at + n);
    put(w, i.o[0], l, r);
  });
}
void bfe(Warp& w, const Instruction& i, u32 mask) {
  const u32 bits = 8 * static_cast<u32>(size_of(i.type));
  const bool is_signed = i.type == Type::s32 || i.type == Type::s64;
  for_lanes(mask, [&](int l) {
    const u64 a = raw(w, i.o[1], l);
    const u32 at = static_cast<u32>(raw(w, i.o[2], l)) & 0xff,
              length = static_cast<u32>(raw(w, i.o[3], l)) & 0xff;
    const u64 sign = is_signed && length > 0 ? a >> std::min(at + length - 1, bits - 1) & 1 : 0;
    u64 r = 0;
    for (u32 n = 0; n < bits; ++n) r |= (n < length && at + n < bits ? a >> (at + n) & 1 : sign) << n;
    put(w, i.o[0], l, r);
  });
}
void lop3(Warp& w, const Instruction& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    const u32 a = w.from<u32>(i.o[1])[l], b = w.from<u32>(i.o[2])[l], c = w.from<u32>(i.o[3])[l];
    const u32 table = w.from<u32>(i.o[4])[l];
    u32 r = 0;
    for (u32 n = 0; n < 8; ++n)
      if (table >> n & 1) r |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
    w.to<u32>(i.o[0])[l] = r;
  });
}
void prmt(Warp& w, const Instruction& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    const u64 both = w.from<u32>(i.o[1])[l] | u64{w.from<u32>(i.o[2])[l]} << 32;
    const u32 select = w.from<u32>(i.o[3])[l];
    u32 r = 0;
    for (u32 n = 0; n < 4; ++n) {
      const u32 s = select >> (4 * n) & 0xf;
      u32 byte = both >> (8 * (s & 7)) & 0xff;
      if (s & 8) byte = byte & 0x80 ? 0xff : 0;
      r |= byte << (8 * n);
    }
    w.to<u32>(i.o[0])[l] = r;
  });
}
void shf(Warp& w, const Instruction& i, u32 mask) {  // detail: 1 left, 2 wraps
  for_lanes(mask, [&](int l) {
    const u64 both = w.from<u32>(i.o[1])[l] | u64{w.from<u32>(i.o[2])[l]} << 32;
    u32 n = w.from<u32>(i.o[3])[l];
    n = i.detail & 2 ? n & 31 : std::min(n, 32u);
    w.to<u32>(i.o[0])[l] = static_cast<u32>(i.detail & 1 ? both << n >> 32 : both >> n);
  });
}

}  // namespace

void bind_pack(Instruction& i, bool back) {
  i.run = back ? unpack : pack;
}

Handler bits_handler(Instruction& i, const Mnemonic& m) {
  const std::string& operation = m.operation();
  if (operation == "popc") return popc;
  if (operation == "clz") return clz;
  if (operation == "brev") return brev;
  if (operation == "bfi") return bfi;
  if (operation == "bfe") return bfe;
  if (operation == "lop3") return lop3;
  if (operation == "prmt" && m.parts.size() == 2) return prmt;
  if (operation == "shf" && m.parts.size() > 1) {
    i.detail = static_cast<u8>((m.parts[1] == "l") | (m.has("wrap") ? 2 : 0));
    return shf;
  }
  return nullptr;
}

}  // namespace convscope::ptx

// mma.sync, ldmatrix and wgmma with both operands in shared memory. Fragments as in the PTX ISA, "Warp Level
// Matrix Instructions" and "Asynchronous Warpgroup Level Matrix Instructions"; descriptors as in CUTLASS's
// mma_sm90_desc.hpp and mma_traits_sm90_gmma.hpp.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"
#include "bench/ptx/tensor_sums.hpp"

namespace convscope::ptx {
namespace {

// Like all_here(); throws Fault when the warp has fewer than 32 lanes.
bool whole_warp_here(Warp& w, const Instruction& i, u32 mask, const std::string& what) {
  if (!all_here(w, i, mask, w.launched)) return false;
  if (mask != ~u32{0})
    w.block->fault(w, i, std::countr_zero(~mask), "is missing in " + what + ", which takes whole warps");
  return true;
}

// Fragments: lane 4 g + t has rows g and g + 8 of A and of the sums, column g of B.
struct Operands {
  float a[16][16], b[16][8];
};

void read_operands(const Warp& w, const Instruction& i, int k, Element type, Operands& to) {
  const int per = type == kTf32 ? 1 : 2;  // elements in a register
  const auto a_registers = static_cast<size_t>(k / 2 / per);
  for (int l = 0; l < kLanes; ++l) {
    const int g = l / 4, t = l % 4;
    for (int n = 0; n < per; ++n) {
      for (size_t r = 0; r < a_registers; ++r)
        to.a[g + (r & 1 ? 8 : 0)][(t + static_cast<int>(r / 2) * 4) * per + n] =
            element_in(w.from<u32>(i.operand(4 + r))[l], n, type);
      for (size_t r = 0; r < a_registers / 2; ++r)
        to.b[(t + static_cast<int>(r) * 4) * per + n][g] =
            element_in(w.from<u32>(i.operand(4 + a_registers + r))[l], n, type);
    }
  }
}

// m16n8k4 and k8 (tf32), m16n8k8 and k16 (f16, bf16). detail: element, detail2: k.
void mma(Warp& w, const Instruction& i, u32 mask) {
  if (!whole_warp_here(w, i, mask, "an mma")) return;
  const int k = i.detail2;
  const auto element = static_cast<Element>(i.detail);
  const auto registers = static_cast<size_t>(element == kTf32 ? k / 2 + k / 4 : k / 4 + k / 8);
  Operands operands;
  read_operands(w, i, k, element, operands);
  float d[4][kLanes];
  for (int l = 0; l < kLanes; ++l)
    for (size_t r = 0; r < 4; ++r) {
      const float* a = operands.a[l / 4 + (r & 2 ? 8 : 0)];
      const float* b = &operands.b[0][l % 4 * 2 + static_cast<int>(r & 1)];
      const float c = w.from<float>(i.operand(4 + registers + r))[l];
      d[r][l] = w.block->options->truncate ? truncated_sum(c, a, b, k, 8, products_at_once(element))
                                           : exact_sum(c, a, b, k, 8);
    }
  for (size_t r = 0; r < 4; ++r) std::memcpy(w.to<float>(i.o[r]), d[r], sizeof d[r]);
}

// detail: matrices, detail2: transposed.
void ldmatrix(Warp& w, const Instruction& i, u32 mask) {
  if (!whole_warp_here(w, i, mask, "an ldmatrix")) return;
  u16 rows[32][8];
  const int matrices = i.detail;
  for (int l = 0; l < 8 * matrices; ++l) {
    u64 at = w.address(i.o[matrices], l) + static_cast<u64>(i.offset);
    if (i.space == Space::generic) at &= ~kWindowMask;
    std::memcpy(rows[l], w.block->shared_at(w, i, l, at, 16, false), 16);
  }
  for (int n = 0; n < matrices; ++n)
    for (int l = 0; l < kLanes; ++l) {
      const int g = l / 4, t = l % 4;
      const u32 low = i.detail2 ? rows[8 * n + 2 * t][g] : rows[8 * n + g][2 * t];
      const u32 high = i.detail2 ? rows[8 * n + 2 * t + 1][g] : rows[8 * n + g][2 * t + 1];
      w.to<u32>(i.o[n])[l] = low | high << 16;
    }
}

struct Descriptor {
  u32 start, leading, stride, base, swizzle;
  explicit Descriptor(u64 bits)
      : start(static_cast<u32>(bits & 0x3fff) << 4),
        leading(static_cast<u32>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<u32>(bits >> 32 & 0x3fff) << 4),
        base(static_cast<u32>(bits >> 49 & 7)),
        swizzle(static_cast<u32>(bits >> 62)) {}
};

// Shared address of element (row, k) of an operand; rows are those of A or the columns of B. Strides are
// bytes, as in the canonical layouts.
u32 element_address(const Descriptor& d, bool mn_major, u32 row, u32 k, u32 bytes) {
  u32 offset = 0;
  const u32 per_chunk = 16 / bytes;
  if (!mn_major) {
    const u32 line = d.swizzle == 0 ? 16 : 16u << (4 - d.swizzle);  // bytes of a row within the pattern
    offset = row % 8 * line + row / 8 * d.stride;
    const u32 chunk = k / per_chunk;
    offset += (d.swizzle == 0 ? chunk * d.leading : chunk * 16) + k % per_chunk * bytes;
  } else {
    const u32 chunks = d.swizzle == 0 ? 1 : 1u << (4 - d.swizzle);  // of 16 bytes in a line
    const u32 chunk = row / per_chunk;
    offset = row % per_chunk * bytes + chunk % chunks * 16;
    if (d.swizzle == 0)
      offset += chunk * d.stride + k % 8 * 16 + k / 8 * d.leading;
    else
      offset += chunk / chunks * d.leading + k % 8 * chunks * 16 + k / 8 * d.stride;
  }
  return swizzled(d.start + offset, d.swizzle);
}

// A wgmma reads 16 bytes: they must not be written before its wait, and earlier generic writes must be
// fenced.
void record_operand(Warp& w, const Instruction& i, u32 at) {
  Block& b = *w.block;
  if (at < kSharedStart || at + 16 > b.shared_end)
    b.fault(w, i, 0, fmt::format("reads shared memory at {:#x}, which ends at {:#x}", at, b.shared_end));
  w.open_reads.chunks.push_back(at / 16);
  for (u32 word = at / 4; word < at / 4 + 4; ++word) {
    Shadow& s = b.shadow[word];
    ++s.async_reads;
    if (!s.valid) b.fault(w, i, 0, "reads between the variables of shared memory");
    b.record_read(w, i, 0, word);
    if (s.writer < 32 && s.generic && b.proxy_fences[s.writer] <= s.fence)
      b.warn(w, i, 0,
             "reads what st or cp.async wrote without fence.proxy.async, at " + b.place_of(s.write_line));
  }
}

// Reads an operand, rows x k, into floats (16 per row), 16 bytes at a time.
void read_operand(Warp& w, const Instruction& i, const Descriptor& d, bool mn_major, u32 first_row, u32 rows,
                  u32 k, float* to) {
  const u32 bytes = i.detail == kTf32 ? 4 : 2, per_chunk = 16 / bytes;
  if (d.base != 0) w.block->fault(w, i, 0, "a descriptor with a base offset");
  const u32 row_step = mn_major ? per_chunk : 1, k_step = mn_major ? 1 : per_chunk;
  for (u32 row = 0; row < rows; row += row_step)
    for (u32 n = 0; n < k; n += k_step) {
      const u32 at = element_address(d, mn_major, first_row + row, n, bytes);
      record_operand(w, i, at);
      const u8* p = w.block->shared.data() + at;
      for (u32 e = 0; e < per_chunk; ++e) {
        u32 bits = 0;
        std::memcpy(&bits, p + e * bytes, bytes);
        const u32 r = mn_major ? row + e : row, c = mn_major ? n : n + e;
        to[r * 16 + c] = element_in(bits, 0, static_cast<Element>(i.detail));
      }
    }
}

// A descriptor, which must be the same in all lanes.
u64 descriptor_bits(Warp& w, const Instruction& i, const Operand& o) {
  const u64* v = w.from<u64>(o);
  for (int l = 1; l < kLanes; ++l)
    if (v[l] != v[0]) w.block->fault(w, i, l, "gives another descriptor than the rest of its warp");
  return v[0];
}

// Sums of the warp's 16 rows: row of A times all columns of B.
void multiply(Warp& w, const Instruction& i, const std::vector<float>& left, const std::vector<float>& right,
              int k, bool accumulate) {
  const u32 columns = u32{i.count} * 2;
  const auto element = static_cast<Element>(i.detail);
  for (u32 row = 0; row < 16; ++row) {
    const u32 g = row % 8, h = row / 8;
    const float* a = &left[row * 16];
    for (u32 c = 0; c < columns; ++c) {
      float& sum = w.to<float>(i.operand(c / 8 * 4 + 2 * h + c % 2))[4 * g + c % 8 / 2];
      const float before = accumulate ? sum : 0.0f;
      const float* b = &right[c * 16];
      sum = w.block->options->truncate ? truncated_sum(before, a, b, k, 1, products_at_once(element))
                                       : exact_sum(before, a, b, k, 1);
    }
  }
}

// m64nNk8 (tf32) and m64nNk16: each warp of the warpgroup computes its own 16 rows. It is computed at
// once; until the wait its shared memory counts as being read and its sums as in flight. Instruction::count
// is the number of accumulator registers.
void wgmma(Warp& w, const Instruction& i, u32 mask) {
  if (!whole_warp_here(w, i, mask, "a wgmma")) return;
  const size_t sums = i.count;
  const u32 columns = static_cast<u32>(sums) * 2, k = i.detail == kTf32 ? 8 : 16;
  const Descriptor a(descriptor_bits(w, i, i.operand(sums))), b(descriptor_bits(w, i, i.operand(sums + 1)));
  const u32 accumulate = w.predicate(i.operand(sums + 2));
  if (accumulate != 0 && accumulate != ~u32{0}) w.block->fault(w, i, 0, "lanes differ in scale-d");
  const auto immediate = [&](size_t n) { return static_cast<s32>(w.from<u32>(i.operand(n))[0]); };
  if (immediate(sums + 3) != 1 || immediate(sums + 4) != 1) w.block->fault(w, i, 0, "a scale that is not 1");
  const bool transposed = i.detail != kTf32;
  const bool a_mn = transposed && immediate(sums + 5), b_mn = transposed && immediate(sums + 6);
  std::vector<float> left(16 * 16), right(size_t{16} * columns);
  read_operand(w, i, a, a_mn, w.number % 4 * 16, 16, k, left.data());
  read_operand(w, i, b, b_mn, 0, columns, k, right.data());
  multiply(w, i, left, right, static_cast<int>(k), accumulate != 0);
  ++w.wgmma_count;
  for (size_t n = 0; n < sums; ++n) {
    const s32 r = i.operand(n).index / kLanes;
    w.open_reads.accumulators.push_back(r);
    ++w.in_flight[static_cast<size_t>(r)];
  }
  ++w.in_flight_count;
}

void wgmma_commit(Warp& w, const Instruction& i, u32 mask) {
  if (!all_here(w, i, mask, w.launched)) return;
  w.reads.push_back(std::move(w.open_reads));
  w.open_reads = PendingReads();
}

void wgmma_wait(Warp& w, const Instruction& i, u32 mask) {
  if (!all_here(w, i, mask, w.launched)) return;
  const size_t keep = w.from<u32>(i.o[0])[0];
  while (w.reads.size() > keep) {
    for (const u32 chunk : w.reads.front().chunks)
      for (u32 word = 4 * chunk; word < 4 * chunk + 4; ++word) --w.block->shadow[word].async_reads;
    for (const s32 r : w.reads.front().accumulators) --w.in_flight[static_cast<size_t>(r)];
    w.reads.pop_front();
  }
  w.in_flight_count = 0;
  for (const u8 n : w.in_flight) w.in_flight_count += n;
}

void wgmma_fence(Warp& w, const Instruction& i, u32 mask) {
  all_here(w, i, mask, w.launched);
}

Element element_of(const Mnemonic& m) {
  return m.has("tf32") ? kTf32 : m.has("bf16") ? kBf16 : kF16;
}

Handler mma_handler(Instruction& i, const Mnemonic& m) {
  i.detail = element_of(m);
  for (const auto& part : m.parts)
    if (part.starts_with("m16n8k")) i.detail2 = static_cast<u8>(std::stoi(part.substr(6)));
  // Sums and addends in f32, A by rows, B by columns.
  const bool known = m.has("row") && m.has("col") && m.parts.back() == "f32" && !m.has("sp") &&
                     (i.detail != kF16 || m.has("f16")) && m.parts[m.parts.size() - 4] == "f32";
  const bool fits = i.detail == kTf32 ? i.detail2 == 4 || i.detail2 == 8 : i.detail2 == 8 || i.detail2 == 16;
  return known && fits ? mma : nullptr;
}

Handler wgmma_handler(Instruction& i, const Mnemonic& m) {
  if (m.parts.size() < 3) return nullptr;
  i.type = Type::none;
  if (m.parts[1] == "commit_group") return wgmma_commit;
  if (m.parts[1] == "wait_group") return wgmma_wait;
  if (m.parts[1] == "fence") return wgmma_fence;
  if (m.parts[1] != "mma_async" || m.parts[m.parts.size() - 3] != "f32" || m.has("sp")) return nullptr;
  i.detail = element_of(m);
  return i.detail != kF16 || m.has("f16") ? wgmma : nullptr;
}

}  // namespace

Handler tensor_core_handler(Instruction& i, const Mnemonic& m) {
  if (m.operation() == "mma") return mma_handler(i, m);
  if (m.operation() == "wgmma") return wgmma_handler(i, m);
  if (m.operation() != "ldmatrix") return nullptr;
  i.detail = m.has("x4") ? 4 : m.has("x2") ? 2 : 1;
  i.detail2 = m.has("trans");
  return m.has("m8n8") && m.has("b16") ? ldmatrix : nullptr;
}

}  // namespace convscope::ptx

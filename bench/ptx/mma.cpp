// mma.sync and ldmatrix.
#include <algorithm>
#include <cstring>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"
#include "bench/ptx/tensor_sums.hpp"

namespace convscope::ptx {
namespace {

// Fragments after the PTX ISA, "Warp Level Matrix Instructions": lane 4 g + t has rows g and g + 8 of A and
// of the sums, column g of B.
struct Operands {
  float a[16][16], b[16][8];
};

void read_tf32(const Warp& w, const Instruction& i, int k, Operands& to) {
  const size_t a_registers = static_cast<size_t>(k / 2);
  for (int l = 0; l < kLanes; ++l) {
    const int g = l / 4, t = l % 4;
    for (size_t r = 0; r < a_registers; ++r)
      to.a[g + (r & 1 ? 8 : 0)][t + static_cast<int>(r / 2) * 4] = tf32_of(w.from<u32>(i.operand(4 + r))[l]);
    for (size_t r = 0; r < a_registers / 2; ++r)
      to.b[t + static_cast<int>(r) * 4][g] = tf32_of(w.from<u32>(i.operand(4 + a_registers + r))[l]);
  }
}

void read_16_bits(const Warp& w, const Instruction& i, int k, Operands& to) {
  const size_t a_registers = static_cast<size_t>(k / 4);
  const bool bf16 = i.detail == kBf16;
  for (int l = 0; l < kLanes; ++l) {
    const int g = l / 4, t = l % 4;
    for (size_t r = 0; r < a_registers; ++r)
      for (int half = 0; half < 2; ++half)
        to.a[g + (r & 1 ? 8 : 0)][2 * t + static_cast<int>(r / 2) * 8 + half] =
            element16(w.from<u32>(i.operand(4 + r))[l], half, bf16);
    for (size_t r = 0; r < a_registers / 2; ++r)
      for (int half = 0; half < 2; ++half)
        to.b[2 * t + static_cast<int>(r) * 8 + half][g] =
            element16(w.from<u32>(i.operand(4 + a_registers + r))[l], half, bf16);
  }
}

// m16n8k4 and k8 (tf32), m16n8k8 and k16 (f16, bf16). detail: element, detail2: k.
void mma(Warp& w, const Instruction& i, u32 mask) {
  if (!all_here(w, i, mask, w.launched)) return;
  if (mask != ~u32{0})
    w.block->fault(w, i, std::countr_zero(~mask), "is missing in an mma, which takes whole warps");
  const int k = i.detail2;
  const auto element = static_cast<Element>(i.detail);
  const size_t registers = static_cast<size_t>(element == kTf32 ? k / 2 + k / 4 : k / 4 + k / 8);
  Operands operands;
  element == kTf32 ? read_tf32(w, i, k, operands) : read_16_bits(w, i, k, operands);
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
  if (!all_here(w, i, mask, w.launched)) return;
  if (mask != ~u32{0})
    w.block->fault(w, i, std::countr_zero(~mask), "is missing in an ldmatrix, which takes whole warps");
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

}  // namespace

Handler mma_handler(Instruction& i, const Mnemonic& m) {
  if (m.operation() == "ldmatrix") {
    i.detail = m.has("x4") ? 4 : m.has("x2") ? 2 : 1;
    i.detail2 = m.has("trans");
    return m.has("m8n8") && m.has("b16") ? ldmatrix : nullptr;
  }
  if (m.operation() != "mma") return nullptr;
  i.detail = m.has("tf32") ? kTf32 : m.has("bf16") ? kBf16 : kF16;
  for (const auto& part : m.parts)
    if (part.starts_with("m16n8k")) i.detail2 = static_cast<u8>(std::stoi(part.substr(6)));
  // Sums and addends in f32, A by rows, B by columns.
  const bool known = m.has("row") && m.has("col") && m.parts.back() == "f32" && !m.has("sp") &&
                     (i.detail != kF16 || m.has("f16")) && m.parts[m.parts.size() - 4] == "f32";
  const bool fits = i.detail == kTf32 ? i.detail2 == 4 || i.detail2 == 8 : i.detail2 == 8 || i.detail2 == 16;
  return known && fits ? mma : nullptr;
}

}  // namespace convscope::ptx

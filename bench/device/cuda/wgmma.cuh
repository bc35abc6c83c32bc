// wgmma of sm_90a: a warpgroup (128 threads, 4 whole warps) multiplies 64 x k by k x N from shared memory,
// f32 sums in registers. Both operands K-major or both MN-major, with 128-byte swizzle, as TMA writes them
// with TmaSwizzle::bytes_128. Other architectures compile them to a trap. The plain C++ twin is
// bench/emulator/wgmma.hpp. Reached through bench/device/kernel/hopper.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "bench/device/cuda/hopper_intrinsics.cuh"
#include "bench/device/kernel/wgmma_descriptor.hpp"

namespace convscope::cuda {

// Names the element type of a wgmma whose operands are f32 in memory. Their low 13 bits are ignored: have TMA
// round them (TmaElement::tf32).
struct Tf32 {};

// Which index of an operand lies innermost in shared memory: the depth k, or the row of A and column of B.
enum class Major { k = 0, mn = 1 };

// Descriptor of a K-major operand tile that starts at `shared` (aligned to 1024 bytes): rows of 128 bytes
// along K, groups of 8 rows 1024 bytes apart. The next k step (32 bytes) is the descriptor + 2.
__device__ __forceinline__ uint64_t wgmma_descriptor(const void* shared) {
  return wgmma_descriptor_bits(shared_address(shared), 16);
}

// Descriptor of an MN-major operand tile of 16-bit elements that starts at `shared` (aligned to 1024 bytes):
// lines of 64 rows (128 bytes), one for each k, groups of 8 lines 1024 bytes apart; the next 64 rows are
// `next_rows` bytes away. The next k step (16 lines) is the descriptor + 128.
__device__ __forceinline__ uint64_t wgmma_descriptor_mn(const void* shared, int next_rows) {
  return wgmma_descriptor_bits(shared_address(shared), next_rows);
}

// Before the first wgmma of a group: orders earlier accesses to the accumulators.
__device__ __forceinline__ void wgmma_fence() {
  CONVSCOPE_SM90A("wgmma.fence.sync.aligned;");
}

__device__ __forceinline__ void wgmma_commit_group() {
  CONVSCOPE_SM90A("wgmma.commit_group.sync.aligned;");
}

// Waits until all but the newest Keep groups are done: their accumulators may be read, their operands
// overwritten.
template <int Keep>
__device__ __forceinline__ void wgmma_wait_group() {
  CONVSCOPE_SM90A("wgmma.wait_group.sync.aligned %0;", "n"(Keep));
}

// Parts of the instruction's text: depth and types, behind the width; the operands' majors, which tf32,
// always K-major, does not say.
template <typename Element>
inline constexpr char kWgmmaTypes[] = "k16.f32.bf16.bf16";
template <>
inline constexpr char kWgmmaTypes<__half>[] = "k16.f32.f16.f16";
template <>
inline constexpr char kWgmmaTypes<Tf32>[] = "k8.f32.tf32.tf32";
template <typename Element, Major M>
inline constexpr char kWgmmaMajors[] = ", 0, 0";
template <typename Element>
inline constexpr char kWgmmaMajors<Element, Major::mn>[] = ", 1, 1";
template <>
inline constexpr char kWgmmaMajors<Tf32, Major::k>[] = "";

// The first 32, 48, 64 and 96 operands of the instruction: their names in its text, and the registers of D.
#define CONVSCOPE_NAMES_32                                 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define CONVSCOPE_NAMES_48 \
  CONVSCOPE_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define CONVSCOPE_NAMES_64 \
  CONVSCOPE_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define CONVSCOPE_NAMES_96                                            \
  CONVSCOPE_NAMES_64                                                  \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79," \
  "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define CONVSCOPE_D_8(i)                                                                      \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define CONVSCOPE_D_16(i) CONVSCOPE_D_8(i), CONVSCOPE_D_8(i + 8)
#define CONVSCOPE_D_32 CONVSCOPE_D_16(0), CONVSCOPE_D_16(16)
#define CONVSCOPE_D_48 CONVSCOPE_D_32, CONVSCOPE_D_16(32)
#define CONVSCOPE_D_64 CONVSCOPE_D_48, CONVSCOPE_D_16(48)
#define CONVSCOPE_D_96 CONVSCOPE_D_64, CONVSCOPE_D_16(64), CONVSCOPE_D_16(80)

// The instruction of a width; behind D's registers the numbers of the operands that follow them.
#define CONVSCOPE_WGMMA(n, names, registers, of_a, of_b, of_accumulate, of_types, of_majors)               \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #of_accumulate                                         \
               ", 0;\n"                                                                                    \
               "wgmma.mma_async.sync.aligned.m64n" #n "%" #of_types " {" names "}, %" #of_a ", %" #of_b    \
               ", p, 1, 1%" #of_majors ";\n}"                                                              \
               : registers                                                                                 \
               : "l"(a), "l"(b), "r"(accumulate), "C"(kWgmmaTypes<Element>), "C"(kWgmmaMajors<Element, M>) \
               : "memory")

// D (64xN) = A (64xk) B (Nxk)^T, + D when `accumulate` is not 0, for N of 64, 96, 128 and 192, where MN-major
// of 64 and 128; Element is Tf32 (k = 8, K-major only), __half or __nv_bfloat16 (k = 16). Thread t of the
// warpgroup holds in d[4j + 2h + e] the element of row t / 32 * 16 + t % 32 / 4 + 8h and column
// 8j + t % 4 * 2 + e.
template <typename Element, int N, Major M = Major::k>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b, int accumulate) {
  static_assert(N == 64 || N == 128 || (M == Major::k && (N == 96 || N == 192)));
  static_assert(M == Major::k || !std::is_same_v<Element, Tf32>);
  static_assert(std::is_same_v<Element, Tf32> || std::is_same_v<Element, __half> ||
                std::is_same_v<Element, __nv_bfloat16>);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (N == 64)
    CONVSCOPE_WGMMA(64, CONVSCOPE_NAMES_32, CONVSCOPE_D_32, 32, 33, 34, 35, 36);
  else if constexpr (N == 96)
    CONVSCOPE_WGMMA(96, CONVSCOPE_NAMES_48, CONVSCOPE_D_48, 48, 49, 50, 51, 52);
  else if constexpr (N == 128)
    CONVSCOPE_WGMMA(128, CONVSCOPE_NAMES_64, CONVSCOPE_D_64, 64, 65, 66, 67, 68);
  else
    CONVSCOPE_WGMMA(192, CONVSCOPE_NAMES_96, CONVSCOPE_D_96, 96, 97, 98, 99, 100);
#else
  __trap();
#endif
}

}  // namespace convscope::cuda

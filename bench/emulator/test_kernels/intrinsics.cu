// Kernels for intrinsics_test.cpp: each uses one device function as its comment says.
#include <type_traits>

#include "bench/device/kernel/kernel.hpp"
#include "bench/emulator/test_kernels/intrinsics.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

struct Tf32Element {};

// The register that holds x and, for 16-bit elements, its neighbour y.
template <typename Element>
__device__ uint32_t pack(float x, float y) {
  if constexpr (std::is_same_v<Element, Tf32Element>)
    return to_tf32(x);
  else if constexpr (std::is_same_v<Element, __half>)
    return __half_as_ushort(__float2half_rn(x)) | static_cast<uint32_t>(__half_as_ushort(__float2half_rn(y)))
                                                      << 16;
  else
    return __bfloat16_as_ushort(__float2bfloat16_rn(x)) |
           static_cast<uint32_t>(__bfloat16_as_ushort(__float2bfloat16_rn(y))) << 16;
}

template <typename Element>
__global__ void multiply_tile(const float* a, const float* b, const float* c, float* d) {
  constexpr int words = std::is_same_v<Element, Tf32Element> ? 1 : 2, depth = 8 * words;
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const auto a_at = [&](int row, int k) {
    return pack<Element>(a[row * depth + k], a[row * depth + k + words - 1]);
  };
  const auto b_at = [&](int k, int column) {
    return pack<Element>(b[k * 8 + column], b[(k + words - 1) * 8 + column]);
  };
  const uint32_t fa[4] = {a_at(g, t * words), a_at(g + 8, t * words), a_at(g, (t + 4) * words),
                          a_at(g + 8, (t + 4) * words)};
  const uint32_t fb[2] = {b_at(t * words, g), b_at((t + 4) * words, g)};
  const float fc[4] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1], c[(g + 8) * 8 + 2 * t],
                       c[(g + 8) * 8 + 2 * t + 1]};
  float fd[4];
  if constexpr (words == 1)
    mma_m16n8k8_tf32(fd, fa, fb, fc);
  else
    mma_m16n8k16<Element>(fd, fa, fb, fc);
  for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = fd[i];
}

void multiply(TensorElement element, const float* a, const float* b, const float* c, float* d, Queue& queue) {
  switch (element) {
    case TensorElement::tf32:
      return launch(multiply_tile<Tf32Element>, 1, 32, 0, queue, a, b, c, d);
    case TensorElement::f16:
      return launch(multiply_tile<__half>, 1, 32, 0, queue, a, b, c, d);
    case TensorElement::bf16:
      return launch(multiply_tile<__nv_bfloat16>, 1, 32, 0, queue, a, b, c, d);
  }
}

template <bool Transposed>
__global__ void load_four(const uint16_t* from, uint32_t* to) {
  __shared__ __align__(16) uint16_t matrices[4][8][8];
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 4 * 64; i += 32) matrices[i / 64][i / 8 % 8][i % 8] = from[i];
  __syncwarp();
  uint32_t registers[4];
  ldmatrix_x4<Transposed>(registers, matrices[lane / 8][lane % 8]);
  for (int i = 0; i < 4; ++i) to[i * 32 + lane] = registers[i];
}

void load_matrices(bool transposed, const uint16_t* from, uint32_t* to, Queue& queue) {
  launch(transposed ? load_four<true> : load_four<false>, 1, 32, 0, queue, from, to);
}

template <int Bytes>
__global__ void copy_words(int valid, const float* from, float* to) {
  constexpr int words = Bytes / 4;
  float* shared = dynamic_smem<float>();
  const int lane = static_cast<int>(threadIdx.x);
  cp_async<Bytes>(shared + lane * words, from + lane * words, valid);
  cp_async_commit_group();
  cp_async_wait_group<0>();
  __syncthreads();
  for (int i = lane; i < 32 * words; i += 32) to[i] = shared[i];
}

void copy(int bytes, int valid, const float* from, float* to, Queue& queue) {
  const auto kernel = bytes == 4 ? copy_words<4> : bytes == 8 ? copy_words<8> : copy_words<16>;
  launch(kernel, 1, 32, size_t{32} * static_cast<size_t>(bytes), queue, valid, from, to);
}

__global__ void wait_for_one(const float* from, float* to) {
  __shared__ float values[2][32];
  const int lane = static_cast<int>(threadIdx.x);
  for (int group = 0; group < 2; ++group) {
    cp_async<4>(&values[group][lane], from + group * 32 + lane);
    cp_async_commit_group();
  }
  cp_async_wait_group<1>();
  for (int group = 0; group < 2; ++group) to[group * 32 + lane] = values[group][lane];
  cp_async_wait_group<0>();
}

void copy_and_wait_for_one(const float* from, float* to, Queue& queue) {
  launch(wait_for_one, 1, 32, 0, queue, from, to);
}

void copy_misaligned(const float* from, float* to, Queue& queue) {
  launch(copy_words<16>, 1, 32, 512, queue, 16, from + 1, to);
}

__global__ void round_all(const float* from, float* to, int n) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 32) to[i] = __uint_as_float(to_tf32(from[i]));
}

void round_to_tf32(const float* from, float* to, int n, Queue& queue) {
  launch(round_all, 1, 32, 0, queue, from, to, n);
}

__global__ void turn_halves(float* out) {
  __shared__ float values[128];
  const int half = static_cast<int>(threadIdx.x) / 64, i = static_cast<int>(threadIdx.x) % 64;
  float* mine = values + half * 64;
  mine[i] = static_cast<float>(threadIdx.x);
  for (int turn = 0; turn < 3; ++turn) {
    named_barrier_sync(1 + half, 64);
    const float next = mine[(i + 7) % 64];
    named_barrier_sync(1 + half, 64);
    mine[i] = next;
  }
  out[threadIdx.x] = mine[i];
}

void named_barriers(float* out, Queue& queue) {
  launch(turn_halves, 1, 128, 0, queue, out);
}

}  // namespace

IntrinsicKernels intrinsic_kernels() {
  return {multiply,        load_matrices, copy,          copy_and_wait_for_one,
          copy_misaligned, round_to_tf32, named_barriers};
}

}  // namespace convscope::CONVSCOPE_KERNELS

// C = A B with blocks of 128x128x8, 8x8 per thread, double-buffered shared memory. A is stored transposed, so
// that a thread's 8 values of a column of A are two float4. The epilogue sums rows by shuffles and adds them
// with atomics.
#include "bench/device/kernel/kernel.hpp"
#include "bench/emulator/test_kernels/sgemm.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kTileM = 128, kTileN = 128, kTileK = 8, kThreads = 256;

struct Matrices {
  const float *a, *b;
  float *c, *row_sums;
  int m, n, k;
};

// Four values of A (a row, 4 of 8 columns) and four of B (a row, 4 of 128 columns) for each thread.
struct Fetch {
  float a[4], b[4];
};

__device__ Fetch fetch(const Matrices& p, int m0, int n0, int k0) {
  const int thread = static_cast<int>(threadIdx.x);
  const int a_row = m0 + thread / 2, a_column = k0 + thread % 2 * 4;
  const int b_row = k0 + thread / 32, b_column = n0 + thread % 32 * 4;
  Fetch f;
  UNROLL
  for (int i = 0; i < 4; ++i) {
    f.a[i] = a_row < p.m && a_column + i < p.k ? p.a[a_row * p.k + a_column + i] : 0.0f;
    f.b[i] = b_row < p.k && b_column + i < p.n ? p.b[b_row * p.n + b_column + i] : 0.0f;
  }
  return f;
}

struct Shared {
  float a[2][kTileK][kTileM + 4];
  float b[2][kTileK][kTileN];
};

__device__ void store(Shared& shared, int buffer, const Fetch& f) {
  const int thread = static_cast<int>(threadIdx.x);
  UNROLL
  for (int i = 0; i < 4; ++i) shared.a[buffer][thread % 2 * 4 + i][thread / 2] = f.a[i];
  *reinterpret_cast<float4*>(&shared.b[buffer][thread / 32][thread % 32 * 4]) =
      make_float4(f.b[0], f.b[1], f.b[2], f.b[3]);
}

__device__ void multiply_step(float (&sums)[8][8], const Shared& shared, int buffer) {
  const int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
  UNROLL
  for (int k = 0; k < kTileK; ++k) {
    float a[8], b[8];
    UNROLL
    for (int half = 0; half < 2; ++half) {
      const float4 u = *reinterpret_cast<const float4*>(&shared.a[buffer][k][ty * 4 + half * 64]);
      const float4 v = *reinterpret_cast<const float4*>(&shared.b[buffer][k][tx * 4 + half * 64]);
      a[half * 4] = u.x, a[half * 4 + 1] = u.y, a[half * 4 + 2] = u.z, a[half * 4 + 3] = u.w;
      b[half * 4] = v.x, b[half * 4 + 1] = v.y, b[half * 4 + 2] = v.z, b[half * 4 + 3] = v.w;
    }
    UNROLL
    for (int i = 0; i < 8; ++i) {
      UNROLL
      for (int j = 0; j < 8; ++j) sums[i][j] += a[i] * b[j];
    }
  }
}

__device__ void write_rows(const float (&sums)[8][8], const Matrices& p, int m0, int n0) {
  const int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
  UNROLL
  for (int i = 0; i < 8; ++i) {
    const int row = m0 + ty * 4 + i % 4 + i / 4 * 64;
    float sum = 0;
    UNROLL
    for (int j = 0; j < 8; ++j) {
      const int column = n0 + tx * 4 + j % 4 + j / 4 * 64;
      if (row < p.m && column < p.n) {
        p.c[row * p.n + column] = sums[i][j];
        sum += sums[i][j];
      }
    }
    for (int lanes = 8; lanes; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (tx == 0 && row < p.m) atomicAdd(&p.row_sums[row], sum);
  }
}

__global__ void __launch_bounds__(kThreads) multiply(Matrices p) {
  __shared__ __align__(16) Shared shared;
  const int m0 = static_cast<int>(blockIdx.y) * kTileM, n0 = static_cast<int>(blockIdx.x) * kTileN;
  float sums[8][8] = {};
  store(shared, 0, fetch(p, m0, n0, 0));
  __syncthreads();
  for (int k0 = 0, buffer = 0; k0 < p.k; k0 += kTileK, buffer ^= 1) {
    const bool more = k0 + kTileK < p.k;
    Fetch next{};
    if (more) next = fetch(p, m0, n0, k0 + kTileK);
    multiply_step(sums, shared, buffer);
    if (more) store(shared, buffer ^ 1, next);
    __syncthreads();
  }
  write_rows(sums, p, m0, n0);
}

void run(const float* a, const float* b, float* c, float* row_sums, int m, int n, int k, Queue& queue) {
  const dim3 grid((n + kTileN - 1) / kTileN, (m + kTileM - 1) / kTileM);
  launch(multiply, grid, kThreads, 0, queue, Matrices{a, b, c, row_sums, m, n, k});
}

}  // namespace

Sgemm sgemm() {
  return run;
}

}  // namespace convscope::CONVSCOPE_KERNELS

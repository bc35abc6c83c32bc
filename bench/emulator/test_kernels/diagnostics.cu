// Kernels for executor_test.cpp; the lines that its messages must name end in a comment.
#include "bench/device/kernel/kernel.hpp"
#include "bench/emulator/test_kernels/diagnostics.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr unsigned kAllLanes = 0xffffffffu;

__global__ void divergent_barrier(float* out) {
  if (threadIdx.x < 32) {
    __syncthreads();  // one branch
  } else {
    out[threadIdx.x] = 2;
    __syncthreads();  // the other branch
  }
  out[threadIdx.x] = 1;
}

__global__ void early_exit(float* out) {
  if (threadIdx.x >= 40) return;
  __syncthreads();  // not all arrive
  out[threadIdx.x] = 1;
}

__global__ void shuffle_with_missing_lanes(float* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(kAllLanes, 1.0f, 1);  // half a warp
}

__global__ void shuffle_from_absent_lane(float* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.0f, 20);  // from an absent lane
}

__global__ void mask_without_caller(float* out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.0f, 0);  // the mask is too small
}

__global__ void endless_spin(float* out) {
  while (*static_cast<volatile float*>(out) != 1.0f) __nanosleep(20);  // spins
}

__global__ void trap(float*) {
  if (threadIdx.x == 7) __trap();  // trap
}

__global__ void throws(float*) {
#if !defined(__CUDACC__)
  throw 1;
#endif
}

__global__ void reads_past_static_smem(float* out) {
  __shared__ float row[8];
  const float* past = row;
  row[threadIdx.x % 8] = 1;
  __syncthreads();
  out[threadIdx.x] = past[threadIdx.x + 1];
}

__global__ void reads_past_the_buffer(float* out) {
  if (threadIdx.x < 8) out[threadIdx.x] = out[threadIdx.x + 57] + 1;
}

// Two halves of a warp with masks of their own at the same time.
__global__ void half_warps(float* out) {
  float value = static_cast<float>(threadIdx.x);
  if (threadIdx.x % 32 < 16)
    for (int lanes = 8; lanes; lanes /= 2) value += __shfl_xor_sync(0x0000ffffu, value, lanes);
  else
    for (int lanes = 8; lanes; lanes /= 2) value = fmaxf(value, __shfl_xor_sync(0xffff0000u, value, lanes));
  out[threadIdx.x] = value;
}

__global__ void votes(float* out) {
  const unsigned thirds = __ballot_sync(kAllLanes, threadIdx.x % 3 == 0);
  out[threadIdx.x] = static_cast<float>(__popc(thirds) * 10 + static_cast<int>(thirds & 1));
}

__global__ void reads_unwritten_static_smem(float* out) {
  __shared__ float values[64];
  if (threadIdx.x != 5) values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

__global__ void reads_unwritten_dynamic_smem(float* out) {
  float* values = dynamic_smem<float>();
  if (threadIdx.x != 5) values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

__global__ void order_of_threads(float* out) {
  __shared__ int arrived;
  if (threadIdx.x == 0) arrived = 0;
  __syncthreads();
  out[threadIdx.x] = static_cast<float>(atomicAdd(&arrived, 1));
}

// Wrong on a GPU since sm_70 and here in some order: nothing lies between the write and the neighbour's read.
__global__ void lockstep_without_syncwarp(float* out) {
  __shared__ float values[32];
  values[threadIdx.x] = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = values[31 - threadIdx.x];
}

// Two blocks, in no order.
__global__ void blocks_write_one_place(float* out) {
  if (threadIdx.x == 0) *out = static_cast<float>(blockIdx.x);
}

// out[blocks] counts.
__global__ void order_of_blocks(float* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = atomicAdd(out + gridDim.x, 1.0f);
}

__global__ void empty() {}

__global__ void write_one(float* out) {
  *out = 1;
}

template <void (*Kernel)(float*)>
void on_one_block(float* out, unsigned threads, Queue& queue) {
  launch(Kernel, 1, threads, 0, queue, out);  // the launch
}

void with_dynamic_smem(float* out, unsigned threads, Queue& queue) {
  launch(reads_unwritten_dynamic_smem, 1, threads, threads * sizeof(float), queue, out);
}

void on_two_blocks(float* out, unsigned threads, Queue& queue) {
  launch(blocks_write_one_place, 2, threads, 0, queue, out);
}

void blocks_in_order(float* out, unsigned blocks, Queue& queue) {
  launch(order_of_blocks, blocks, 32, 0, queue, out);
}

void nothing(unsigned grid, unsigned threads, size_t smem_bytes, Queue& queue) {
  launch(empty, grid, threads, smem_bytes, queue);
}

void one(float* out, Queue& queue) {
  launch(write_one, 1, 1, 0, queue, out);
}

}  // namespace

DiagnosticKernels diagnostic_kernels() {
  return {.divergent_barrier = on_one_block<divergent_barrier>,
          .early_exit = on_one_block<early_exit>,
          .shuffle_with_missing_lanes = on_one_block<shuffle_with_missing_lanes>,
          .shuffle_from_absent_lane = on_one_block<shuffle_from_absent_lane>,
          .mask_without_caller = on_one_block<mask_without_caller>,
          .endless_spin = on_one_block<endless_spin>,
          .trap = on_one_block<trap>,
          .throws = on_one_block<throws>,
          .blocks_write_one_place = on_two_blocks,
          .reads_past_static_smem = on_one_block<reads_past_static_smem>,
          .reads_past_the_buffer = on_one_block<reads_past_the_buffer>,
          .half_warps = on_one_block<half_warps>,
          .votes = on_one_block<votes>,
          .reads_unwritten_static_smem = on_one_block<reads_unwritten_static_smem>,
          .reads_unwritten_dynamic_smem = with_dynamic_smem,
          .order_of_threads = on_one_block<order_of_threads>,
          .lockstep_without_syncwarp = on_one_block<lockstep_without_syncwarp>,
          .order_of_blocks = blocks_in_order,
          .empty = nothing,
          .write_one = one};
}

}  // namespace convscope::CONVSCOPE_KERNELS

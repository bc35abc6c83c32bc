#include <algorithm>
#include <limits>

#include "bench/device/buffer.hpp"
#include "bench/device/cuda/ceiling_values.cuh"
#include "bench/device/cuda/ceilings.hpp"
#include "bench/device/kernel/hopper.hpp"

namespace convscope::cuda {
namespace {

// One warpgroup; its operands, 64 x 128 bytes and 128 x 128 bytes, stay in shared memory.
struct Tile {
  static constexpr int threads = 128;
  static constexpr int columns = 128;
  static constexpr int a_bytes = 64 * 128, b_bytes = columns * 128;
  static constexpr int steps_of_row = 4;  // wgmma steps in a row of 128 bytes
};

template <typename Element>
__global__ void __launch_bounds__(Tile::threads) warpgroup_multiply_add(float* sink, int rounds) {
  if constexpr (kHopperInstructions) {
    char* a = dynamic_smem<char>();
    char* b = a + Tile::a_bytes;
    for (int i = static_cast<int>(threadIdx.x); i < (Tile::a_bytes + Tile::b_bytes) / 4; i += Tile::threads)
      reinterpret_cast<uint32_t*>(a)[i] = scattered_operands<Element>(blockIdx.x * 0x10000u + i);
    fence_proxy_async();  // wgmma reads what the threads wrote
    __syncthreads();
    float sums[Tile::columns / 2] = {};
    const uint64_t a_tile = wgmma_descriptor(a), b_tile = wgmma_descriptor(b);
    for (int round = 0; round < rounds; ++round) {
      wgmma_fence();
      UNROLL
      for (int step = 0; step < Tile::steps_of_row; ++step)
        wgmma<Element, Tile::columns>(sums, a_tile + 2 * step, b_tile + 2 * step, 1);
      wgmma_commit_group();
      wgmma_wait_group<0>();
    }
    float total = 0;
    UNROLL
    for (float sum : sums) total += sum;
    if (total == 12345.678f) *sink = total;
  }
}

template <typename Element>
double rate(Device& device, Queue& queue, const Buffer& sink) {
  constexpr int rounds = 4096, blocks_per_core = 4, repetitions = 5;
  constexpr double depth = std::is_same_v<Element, Tf32> ? 8 : 16;
  const auto blocks = static_cast<unsigned>(device.info().cores * blocks_per_core);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repetitions; ++i) {
    if (i > 0) queue.begin_timing();  // the first run loads the kernel
    launch(warpgroup_multiply_add<Element>, blocks, Tile::threads, Tile::a_bytes + Tile::b_bytes, queue,
           sink.as<float>(), rounds);
    if (i > 0) best = std::min(best, queue.end_timing().seconds);
    queue.synchronize();
  }
  return 2.0 * 64 * Tile::columns * depth * Tile::steps_of_row * rounds * blocks / best;
}

// Not where this program has no code for sm_90a: the kernel is then empty, and its time no rate.
bool runs_wgmma([[maybe_unused]] const DeviceInfo& device) {
#if defined(CONVSCOPE_WITHOUT_SM_90A)
  return false;
#else
  return device.instructions == "sm_90";
#endif
}

}  // namespace

void raise_to_wgmma_rates(Device& device, Queue& queue, Ceilings& ceilings) {
  if (!runs_wgmma(device.info())) return;
  const Buffer sink(device, sizeof(float));
  ceilings.tf32_flops = std::max(ceilings.tf32_flops, rate<Tf32>(device, queue, sink));
  ceilings.bf16_flops = std::max(ceilings.bf16_flops, rate<__nv_bfloat16>(device, queue, sink));
  ceilings.fp16_flops = std::max(ceilings.fp16_flops, rate<__half>(device, queue, sink));
}

}  // namespace convscope::cuda

// Kernels that are wrong on purpose, and a few that only look so, for executor_test.cpp. One block of
// `threads` threads writes out[thread].
#pragma once

#include <cstddef>
#include <string>

#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope {

struct DiagnosticKernels {
  using Launch = void (*)(float* out, unsigned threads, Queue&);
  // What is wrong
  Launch divergent_barrier, early_exit, shuffle_with_missing_lanes, shuffle_from_absent_lane,
      mask_without_caller, endless_spin, trap, throws, blocks_write_one_place, reads_past_static_smem,
      reads_past_the_buffer;
  // What is right
  Launch half_warps, votes, reads_unwritten_static_smem, reads_unwritten_dynamic_smem, order_of_threads,
      lockstep_without_syncwarp;
  // out[block] is the place of the block in the order of blocks; out must be zeros.
  void (*order_of_blocks)(float* out, unsigned blocks, Queue&);
  // With a block, grid and shared memory as told.
  void (*empty)(unsigned grid, unsigned threads, size_t smem_bytes, Queue&);
  void (*write_one)(float* out, Queue&);
};

CONVSCOPE_IN_BOTH(DiagnosticKernels diagnostic_kernels();)

}  // namespace convscope

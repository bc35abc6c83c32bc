// One matrix product as the kernels are launched with it, and the functions that launch them: once for the
// GPU (namespace cuda, in builds with CUDA) and once for the emulator. They enqueue and return.
#pragma once

#include "algorithms/implicit_gemm/cuda/index_map.hpp"
#include "algorithms/implicit_gemm/cuda/tiling.hpp"
#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope::implicit_gemm {

struct Product {
  IndexMap map;
  TileSplit tiling;
  MathMode math = MathMode::fp32;
  bool paired = false;                 // a depth of A and B is two neighbouring 16-bit elements
  Epilogue epilogue = Epilogue::none;  // of D, once its sums are whole; a D of f32 only
};

// Device pointers, of the storage type of the math. `partials` has partial_elements() floats, ordered split,
// group, column, row.
struct Tensors {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  float* partials = nullptr;
  const float* bias = nullptr;  // of the epilogue
};

}  // namespace convscope::implicit_gemm

namespace convscope {
CONVSCOPE_IN_BOTH(
    // D, or with more than one split the partial sums: in fp32, and in the other math modes.
    void implicit_gemm_simt(const implicit_gemm::Product&, const implicit_gemm::Tensors&, Queue&);
    void implicit_gemm_tensor(const implicit_gemm::Product&, const implicit_gemm::Tensors&, Queue&);
    // D from the partial sums, added in the order of the splits.
    void implicit_gemm_add_partials(const implicit_gemm::Product&, const implicit_gemm::Tensors&, Queue&);)
}  // namespace convscope

// A tally of the arithmetic that kernels really do, kept in counting builds only (CONVSCOPE_TALLY, which the
// sanitized builds set): every product and transform kernel adds what it does, and counts_test.cpp compares
// the sum with Plan::operations(). In all other builds, and in code for a GPU, the functions are empty.
#pragma once

#include <cstdint>

namespace convscope {

// Floating-point operations since the last reset; a multiply-add counts 2, as in OperationCount.
struct Tally {
  double product_flops = 0, transform_flops = 0;
};

#if defined(CONVSCOPE_TALLY) && !defined(__CUDACC__)

// From any thread. Called once a micro-kernel or line, not once a multiply-add.
void tally_product(int64_t flops);
void tally_transform(int64_t flops);
void reset_tally();
Tally tally();

#else

#if defined(__CUDACC__)
#define CONVSCOPE_TALLY_FUNCTION __host__ __device__ inline
#else
#define CONVSCOPE_TALLY_FUNCTION inline
#endif
CONVSCOPE_TALLY_FUNCTION void tally_product(int64_t) {}
CONVSCOPE_TALLY_FUNCTION void tally_transform(int64_t) {}
#undef CONVSCOPE_TALLY_FUNCTION

#endif

}  // namespace convscope

// A tally of what kernels really do, kept in counting builds only (CONVSCOPE_TALLY, which builds with the
// address sanitizer set): every product and transform kernel adds its arithmetic, every CUDA kernel the tiles
// that its blocks stage, and counts_test.cpp compares the sums with Plan::operations(). In all other builds,
// and in code for a GPU, nothing is counted.
#pragma once

#include <cstdint>

namespace convscope {

// Since the last reset: floating-point operations, of which a multiply-add is 2, and bytes of operands
// brought to shared memory for the products, as in OperationCount.
struct Tally {
  double product_flops = 0, transform_flops = 0;
  double staged_bytes = 0;
};

#if defined(CONVSCOPE_TALLY) && !defined(__CUDACC__)

// From any thread. Called once per micro-kernel or line, not once per multiply-add.
void tally_product(int64_t flops);
void tally_transform(int64_t flops);
void tally_staged(int64_t bytes);
void reset_tally();
Tally tally();

#else

// Nothing is evaluated. Macros: around an empty inline function the micro-kernels were scheduled differently.
#define tally_product(...) static_cast<void>(sizeof(__VA_ARGS__))
#define tally_transform(...) static_cast<void>(sizeof(__VA_ARGS__))
#define tally_staged(...) static_cast<void>(sizeof(__VA_ARGS__))

#endif

}  // namespace convscope

// A double-buffered product of f32 matrices, for sgemm_test.cpp: the kind of kernel that the emulator is for.
#pragma once

#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope {

// c (m x n) = a (m x k) b (k x n), row-major; row_sums (m), zeros before, gets the sums of c's rows.
using Sgemm = void (*)(const float* a, const float* b, float* c, float* row_sums, int m, int n, int k,
                       Queue&);

CONVSCOPE_IN_BOTH(Sgemm sgemm();)

}  // namespace convscope

#include "bench/ptx/tensor_sums.hpp"

#include <algorithm>
#include <cmath>

namespace convscope::ptx {

float exact_sum(float c, const float* a, const float* b, int n, int stride) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += static_cast<double>(a[k]) * b[k * stride];
  return static_cast<float>(sum + c);
}

float truncated_sum(float c, const float* a, const float* b, int n, int stride, int step) {
  constexpr int kFractionBits = 23, kExtraBits = 2;
  float result = c;
  for (int first = 0; first < n; first += step) {
    const int end = std::min(first + step, n);
    const auto product = [&](int k) { return static_cast<double>(a[k]) * b[k * stride]; };  // exact
    double largest = std::fabs(result);
    for (int k = first; k < end; ++k) largest = std::max(largest, std::fabs(product(k)));
    if (largest == 0 || !std::isfinite(largest)) {
      double sum = result;
      for (int k = first; k < end; ++k) sum += product(k);
      result = static_cast<float>(sum);
      continue;
    }
    const double quantum = std::ldexp(1.0, std::ilogb(largest) - kFractionBits - kExtraBits);
    double sum = std::trunc(result / quantum);
    for (int k = first; k < end; ++k) sum += std::trunc(product(k) / quantum);
    sum *= quantum;
    result = static_cast<float>(sum);
    if (std::fabs(result) > std::fabs(sum)) result = std::nextafterf(result, 0.0f);
  }
  return result;
}

}  // namespace convscope::ptx

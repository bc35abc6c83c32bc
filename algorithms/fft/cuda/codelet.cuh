// A straight-line complex Fourier transform of 16 or 32 points in the registers of one thread, made by
// templates from twiddle factors that the compiler computes. Included by .cu files only; knows nothing of
// tiles. Radix 2, decimation in frequency. Start at fft().
#pragma once

#include <utility>

#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// cos(2 pi k / n) for 0 <= k < n, by its series around 0 (the argument is at most pi).
__host__ __device__ constexpr double cosine(int k, int n) {
  const double x = 2 * 3.14159265358979323846 * (2 * k > n ? n - k : k) / n;
  double term = 1, sum = 1;
  for (int i = 1; i < 16; ++i) {
    term *= -x * x / ((2 * i - 1) * (2 * i));
    sum += term;
  }
  return sum;
}
__host__ __device__ constexpr double sine(int k, int n) {
  return cosine((k + 3 * n / 4) % n, n);
}

// Where fft<N>() leaves frequency k: the bits of k in reverse.
template <int N>
__host__ __device__ constexpr int place(int k) {
  int reversed = 0;
  for (int bit = 1; bit < N; bit *= 2) reversed = 2 * reversed + (k & bit ? 1 : 0);
  return reversed;
}

// a, b = a + b, (a - b) * exp(-2 pi i K / N)
template <int K, int N>
__device__ __forceinline__ void butterfly(float& a_re, float& a_im, float& b_re, float& b_im) {
  const float re = a_re - b_re, im = a_im - b_im;
  a_re += b_re;
  a_im += b_im;
  if constexpr (K == 0) {
    b_re = re;
    b_im = im;
  } else if constexpr (4 * K == N) {
    b_re = im;
    b_im = -re;
  } else if constexpr (8 * K == N || 8 * K == 3 * N) {
    constexpr auto root = static_cast<float>(cosine(1, 8));
    b_re = root * (8 * K == N ? re + im : im - re);
    b_im = root * (8 * K == N ? im - re : -re - im);
  } else {
    constexpr auto c = static_cast<float>(cosine(K, N)), s = static_cast<float>(sine(K, N));
    b_re = c * re + s * im;
    b_im = c * im - s * re;
  }
}

// All butterflies of the level that splits transforms of Length points in two.
template <int N, int Length, int... I>
__device__ __forceinline__ void level(float (&re)[N], float (&im)[N], std::integer_sequence<int, I...>) {
  constexpr int half = Length / 2;
  (butterfly<I % half, Length>(re[I / half * Length + I % half], im[I / half * Length + I % half],
                               re[I / half * Length + I % half + half],
                               im[I / half * Length + I % half + half]),
   ...);
}

// X[k] = sum over n of x[n] exp(-2 pi i k n / N), left in element place<N>(k). With re and im exchanged by
// the caller it is the inverse, N times too large.
template <int N, int Length = N>
__device__ __forceinline__ void fft(float (&re)[N], float (&im)[N]) {
  level<N, Length>(re, im, std::make_integer_sequence<int, N / 2>());
  if constexpr (Length > 2) fft<N, Length / 2>(re, im);
}

}  // namespace
}  // namespace convscope::CONVSCOPE_KERNELS

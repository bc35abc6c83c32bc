// Straight-line discrete Fourier transforms of a fixed power-of-two size by split radix, complex and real,
// each lane of a vector an independent transform. Included once per instruction set (Highway); knows nothing
// of tiles. 4 N log2 N - 6 N + 8 operations for a complex and 2 N log2 N - 4 N + 6 for a real transform.
// Source: Sorensen, Jones, Heideman, Burrus, "Real-valued fast Fourier transform algorithms", 1987.
#if defined(CONVSCOPE_FFT_CODELETS) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVSCOPE_FFT_CODELETS
#undef CONVSCOPE_FFT_CODELETS
#else
#define CONVSCOPE_FFT_CODELETS
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace convscope::fft::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag()));

struct Complex {
  Vector re, im;
};

HWY_INLINE Complex operator+(Complex a, Complex b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
HWY_INLINE Complex operator-(Complex a, Complex b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
// a + i b, a - i b, a + conj(b), a - conj(b), conj(a - b): no negation is ever an operation of its own.
HWY_INLINE Complex plus_i(Complex a, Complex b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}
HWY_INLINE Complex minus_i(Complex a, Complex b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
HWY_INLINE Complex plus_conjugate(Complex a, Complex b) {
  return {hn::Add(a.re, b.re), hn::Sub(a.im, b.im)};
}
HWY_INLINE Complex minus_conjugate(Complex a, Complex b) {
  return {hn::Sub(a.re, b.re), hn::Add(a.im, b.im)};
}
HWY_INLINE Complex conjugate_minus(Complex a, Complex b) {
  return {hn::Sub(a.re, b.re), hn::Sub(b.im, a.im)};
}
HWY_INLINE Complex conjugate(Complex a) {
  return {a.re, hn::Neg(a.im)};
}

// cos(2 pi k / n) for 0 <= k < n, by its series around 0 (the argument is at most pi).
constexpr double cosine(int k, int n) {
  const double x = 2 * 3.14159265358979323846 * (2 * k > n ? n - k : k) / n;
  double term = 1, sum = 1;
  for (int i = 1; i < 16; ++i) {
    term *= -x * x / ((2 * i - 1) * (2 * i));
    sum += term;
  }
  return sum;
}
constexpr double sine(int k, int n) {
  return cosine((k + 3 * n / 4) % n, n);
}
constexpr float kHalfRoot = static_cast<float>(cosine(1, 8));
constexpr float kRootTwo = static_cast<float>(2 * cosine(1, 8));

// a * exp(-2 pi i K / N), and with + in the exponent.
template <int K, int N>
HWY_INLINE Complex rotate(Complex a) {
  const Tag tag;
  if constexpr (K == 0) {
    return a;
  } else if constexpr (8 * K == N) {
    const Vector h = hn::Set(tag, kHalfRoot);
    return {hn::Mul(h, hn::Add(a.re, a.im)), hn::Mul(h, hn::Sub(a.im, a.re))};
  } else if constexpr (8 * K == 3 * N) {
    const Vector h = hn::Set(tag, kHalfRoot);
    return {hn::Mul(h, hn::Sub(a.im, a.re)), hn::Mul(hn::Set(tag, -kHalfRoot), hn::Add(a.re, a.im))};
  } else {
    const Vector c = hn::Set(tag, static_cast<float>(cosine(K, N)));
    const Vector s = hn::Set(tag, static_cast<float>(sine(K, N)));
    return {hn::MulAdd(a.re, c, hn::Mul(a.im, s)), hn::NegMulAdd(a.re, s, hn::Mul(a.im, c))};
  }
}
template <int K, int N>
HWY_INLINE Complex rotate_back(Complex a) {
  const Complex swapped = rotate<K, N>({a.im, a.re});
  return {swapped.im, swapped.re};
}

template <int N>
using Index = std::integral_constant<int, N>;

// step(Index<First>) ... step(Index<Last - 1>), unrolled so that every index is a constant.
template <int First, int Last, class Step>
HWY_INLINE void unroll(const Step& step) {
  if constexpr (First < Last) {
    step(Index<First>{});
    unroll<First + 1, Last>(step);
  }
}

// out[k] = sum over n of load(Offset + n * Stride) exp(-2 pi i k n / N). Samples from index Nonzero on are
// zero and are not loaded.
template <int N, int Offset, int Stride, int Nonzero, class Load>
HWY_INLINE void transform(const Load& load, Complex (&out)[N]) {
  if constexpr (N == 1) {
    out[0] = load(Index<Offset>{});
  } else if constexpr (N == 2) {
    const Complex a = load(Index<Offset>{});
    if constexpr (Offset + Stride < Nonzero) {
      const Complex b = load(Index<Offset + Stride>{});
      out[0] = a + b;
      out[1] = a - b;
    } else {
      out[0] = out[1] = a;
    }
  } else {
    constexpr int kQuarter = N / 4;
    Complex even[N / 2];
    transform<N / 2, Offset, 2 * Stride, Nonzero>(load, even);
    if constexpr (Offset + Stride >= Nonzero) {
      unroll<0, N / 2>([&](auto k) HWY_ATTR { out[k] = out[k + N / 2] = even[k]; });
    } else {
      Complex first[kQuarter], third[kQuarter];
      transform<kQuarter, Offset + Stride, 4 * Stride, Nonzero>(load, first);
      if constexpr (Offset + 3 * Stride < Nonzero)
        transform<kQuarter, Offset + 3 * Stride, 4 * Stride, Nonzero>(load, third);
      unroll<0, kQuarter>([&](auto k) HWY_ATTR {
        const Complex a = rotate<k, N>(first[k]);
        Complex sum = a, difference = a;
        if constexpr (Offset + 3 * Stride < Nonzero) {
          const Complex b = rotate<3 * k, N>(third[k]);
          sum = a + b;
          difference = a - b;
        }
        out[k] = even[k] + sum;
        out[k + N / 2] = even[k] - sum;
        out[k + kQuarter] = minus_i(even[k + kQuarter], difference);
        out[k + 3 * kQuarter] = plus_i(even[k + kQuarter], difference);
      });
    }
  }
}

// The same for real samples: out[0 .. N/2], the rest follows by symmetry. The first and the last are real.
template <int N, int Offset, int Stride, int Nonzero, class Load>
HWY_INLINE void real_transform(const Load& load, Complex (&out)[N / 2 + 1]) {
  const Vector zero = hn::Zero(Tag());
  if constexpr (N == 1) {
    out[0] = {load(Index<Offset>{}), zero};
  } else if constexpr (N == 2) {
    const Vector a = load(Index<Offset>{});
    Vector b = zero;
    if constexpr (Offset + Stride < Nonzero) b = load(Index<Offset + Stride>{});
    out[0] = {hn::Add(a, b), zero};
    out[1] = {hn::Sub(a, b), zero};
  } else {
    constexpr int kQuarter = N / 4, kEighth = N / 8;
    Complex even[kQuarter + 1];
    real_transform<N / 2, Offset, 2 * Stride, Nonzero>(load, even);
    if constexpr (Offset + Stride >= Nonzero) {
      unroll<0, kQuarter + 1>([&](auto k) HWY_ATTR {
        out[N / 2 - k] = conjugate(even[k]);
        out[k] = even[k];
      });
    } else {
      Complex first[kEighth + 1], third[kEighth + 1];
      real_transform<kQuarter, Offset + Stride, 4 * Stride, Nonzero>(load, first);
      if constexpr (Offset + 3 * Stride < Nonzero)
        real_transform<kQuarter, Offset + 3 * Stride, 4 * Stride, Nonzero>(load, third);
      else
        unroll<0, kEighth + 1>([&](auto k) HWY_ATTR { third[k] = {zero, zero}; });
      const Vector sum0 = hn::Add(first[0].re, third[0].re), difference0 = hn::Sub(first[0].re, third[0].re);
      out[0] = {hn::Add(even[0].re, sum0), zero};
      out[N / 2] = {hn::Sub(even[0].re, sum0), zero};
      out[kQuarter] = {even[kQuarter].re, hn::Neg(difference0)};
      unroll<1, kEighth>([&](auto k) HWY_ATTR {
        const Complex a = rotate<k, N>(first[k]), b = rotate<3 * k, N>(third[k]);
        const Complex sum = a + b, difference = a - b, mirrored = even[kQuarter - k];
        out[k] = even[k] + sum;
        out[N / 2 - k] = conjugate_minus(even[k], sum);
        out[kQuarter - k] = {hn::Sub(mirrored.re, difference.im), hn::Sub(mirrored.im, difference.re)};
        out[kQuarter + k] = {hn::Add(mirrored.re, difference.im),
                             hn::Neg(hn::Add(mirrored.im, difference.re))};
      });
      if constexpr (kEighth > 0) {
        const Vector h = hn::Set(Tag(), kHalfRoot);
        const Vector a = hn::Mul(h, first[kEighth].re), b = hn::Mul(h, third[kEighth].re);
        const Complex sum{hn::Sub(a, b), hn::Neg(hn::Add(a, b))};
        out[kEighth] = even[kEighth] + sum;
        out[N / 2 - kEighth] = conjugate_minus(even[kEighth], sum);
      }
    }
  }
}

// store(Offset + n * Stride, sum over all N of in[k] exp(+2 pi i k n / N)), not divided by N, from the first
// half of a Hermitian spectrum. Samples that `store` ignores cost nothing.
template <int N, int Offset, int Stride, class Store>
HWY_INLINE void real_inverse(const Complex (&in)[N / 2 + 1], const Store& store) {
  if constexpr (N == 1) {
    store(Index<Offset>{}, in[0].re);
  } else if constexpr (N == 2) {
    store(Index<Offset>{}, hn::Add(in[0].re, in[1].re));
    store(Index<Offset + Stride>{}, hn::Sub(in[0].re, in[1].re));
  } else {
    constexpr int kQuarter = N / 4, kEighth = N / 8;
    const Vector zero = hn::Zero(Tag());
    Complex even[kQuarter + 1], first[kEighth + 1], third[kEighth + 1];
    const Vector sum0 = hn::Sub(in[0].re, in[N / 2].re);
    const Vector difference0 = hn::Add(in[kQuarter].im, in[kQuarter].im);
    even[0] = {hn::Add(in[0].re, in[N / 2].re), zero};
    even[kQuarter] = {hn::Add(in[kQuarter].re, in[kQuarter].re), zero};
    first[0] = {hn::Sub(sum0, difference0), zero};
    third[0] = {hn::Add(sum0, difference0), zero};
    unroll<1, kEighth>([&](auto k) HWY_ATTR {
      const Complex high = in[N / 2 - k], low = in[kQuarter - k];
      const Complex sum = minus_conjugate(in[k], high), difference = minus_conjugate(in[kQuarter + k], low);
      even[k] = plus_conjugate(in[k], high);
      even[kQuarter - k] = plus_conjugate(low, in[kQuarter + k]);
      first[k] = rotate_back<k, N>(plus_i(sum, difference));
      third[k] = rotate_back<3 * k, N>(minus_i(sum, difference));
    });
    if constexpr (kEighth > 0) {
      const Vector root = hn::Set(Tag(), kRootTwo);
      const Complex high = in[N / 2 - kEighth], sum = minus_conjugate(in[kEighth], high);
      even[kEighth] = plus_conjugate(in[kEighth], high);
      first[kEighth] = {hn::Mul(root, hn::Sub(sum.re, sum.im)), zero};
      third[kEighth] = {hn::Mul(hn::Set(Tag(), -kRootTwo), hn::Add(sum.re, sum.im)), zero};
    }
    real_inverse<N / 2, Offset, 2 * Stride>(even, store);
    real_inverse<kQuarter, Offset + Stride, 4 * Stride>(first, store);
    real_inverse<kQuarter, Offset + 3 * Stride, 4 * Stride>(third, store);
  }
}

}  // namespace convscope::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CONVSCOPE_FFT_CODELETS

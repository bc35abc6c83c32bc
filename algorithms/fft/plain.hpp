// Convolution in the frequency domain by its definition, in f64: the model that the transforms are tested
// with, and the place to start reading. Planes are size x size samples, rows one after the other.
#pragma once

#include <complex>
#include <cstddef>
#include <numbers>
#include <vector>

namespace convscope::fft {

using PlainSpectrum = std::vector<std::complex<double>>;

// Bin (v, u) of a window x window corner of samples whose rest is zero: the discrete Fourier transform.
inline std::complex<double> plain_bin(const float* samples, int window, int size, int v, int u) {
  std::complex<double> sum;
  for (int i = 0; i < window; ++i)
    for (int j = 0; j < window; ++j)
      sum +=
          double{samples[i * window + j]} * std::polar(1.0, -2 * std::numbers::pi * (v * i + u * j) / size);
  return sum;
}

inline PlainSpectrum plain_transform(const float* samples, int window, int size) {
  PlainSpectrum bins;
  for (int v = 0; v < size; ++v)
    for (int u = 0; u < size; ++u) bins.push_back(plain_bin(samples, window, size, v, u));
  return bins;
}

// Sample (y, x) of the circular correlation of a tile with a filter: the inverse transform of the tile's
// spectrum times the conjugate of the filter's. It is the correlation itself for y, x <= size - taps.
inline double plain_correlation(const PlainSpectrum& tile, const PlainSpectrum& filter, int size, int y,
                                int x) {
  std::complex<double> sum;
  for (int v = 0; v < size; ++v)
    for (int u = 0; u < size; ++u) {
      const auto bin = static_cast<size_t>(v * size + u);
      sum +=
          tile[bin] * std::conj(filter[bin]) * std::polar(1.0, 2 * std::numbers::pi * (v * y + u * x) / size);
    }
  return sum.real() / (size * size);
}

}  // namespace convscope::fft

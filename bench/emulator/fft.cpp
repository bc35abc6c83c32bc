// Fft of the emulator: recursive transforms in double by the prime factors of the length, rows first. Like
// cuFFT the inverse destroys its spectra, here with NaN.
#include "bench/device/fft.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "bench/device/device_error.hpp"
#include "bench/emulator/emulator_queue.hpp"

namespace convscope::emulated {
namespace {

using Complex = std::complex<double>;

size_t smallest_factor(size_t n) {
  for (size_t factor = 2; factor * factor <= n; ++factor)
    if (n % factor == 0) return factor;
  return n;
}

// The transform of n elements, `stride` apart, with exp(sign * 2 pi i / n).
std::vector<Complex> transform(const Complex* from, size_t stride, size_t n, int sign) {
  if (n == 1) return {from[0]};
  const size_t factor = smallest_factor(n), length = n / factor;
  std::vector<std::vector<Complex>> parts;
  for (size_t part = 0; part < factor; ++part)
    parts.push_back(transform(from + part * stride, stride * factor, length, sign));
  std::vector<Complex> root(n), out(n);
  for (size_t i = 0; i < n; ++i)
    root[i] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n));
  for (size_t i = 0; i < n; ++i)
    for (size_t part = 0; part < factor; ++part) out[i] += root[i * part % n] * parts[part][i % length];
  return out;
}

void transform_columns(std::vector<Complex>& image, size_t rows, size_t columns, int sign) {
  for (size_t column = 0; column < columns; ++column) {
    const std::vector<Complex> out = transform(image.data() + column, columns, rows, sign);
    for (size_t row = 0; row < rows; ++row) image[row * columns + column] = out[row];
  }
}

class EmulatedFft final : public Fft {
 public:
  explicit EmulatedFft(const FftSize& size)
      : size_(size),
        rows_(static_cast<size_t>(size.rows)),
        columns_(static_cast<size_t>(size.columns)),
        half_(columns_ / 2 + 1) {}

  // The emulator needs none; it asks for some so that forgetting it shows.
  size_t workspace_bytes() const override { return 256; }
  void set_workspace(void* data) override { workspace_ = data; }

  void forward(const float* images, std::complex<float>* spectra, Queue& queue) override {
    EmulatorQueue& own = check(images, spectra, queue);
    if (!own.computes("fft")) return;
    const DeviceMemory::Access access(own.memory());
    for (int64_t i = 0; i < size_.batch; ++i, images += rows_ * columns_, spectra += rows_ * half_) {
      std::vector<Complex> spectrum(rows_ * half_);
      for (size_t row = 0; row < rows_; ++row) {
        const std::vector<Complex> line(images + row * columns_, images + (row + 1) * columns_);
        const std::vector<Complex> out = transform(line.data(), 1, columns_, -1);
        std::copy_n(out.begin(), half_, spectrum.begin() + static_cast<ptrdiff_t>(row * half_));
      }
      transform_columns(spectrum, rows_, half_, -1);
      std::copy(spectrum.begin(), spectrum.end(), spectra);
    }
  }

  void inverse(std::complex<float>* spectra, float* images, Queue& queue) override {
    EmulatorQueue& own = check(images, spectra, queue);
    if (!own.computes("fft")) return;
    const DeviceMemory::Access access(own.memory());
    for (int64_t i = 0; i < size_.batch; ++i, images += rows_ * columns_, spectra += rows_ * half_) {
      std::vector<Complex> spectrum(spectra, spectra + rows_ * half_);
      transform_columns(spectrum, rows_, half_, 1);
      for (size_t row = 0; row < rows_; ++row) {
        std::vector<Complex> line(columns_);
        for (size_t column = 0; column < columns_; ++column)
          line[column] = column < half_ ? spectrum[row * half_ + column]
                                        : std::conj(spectrum[row * half_ + columns_ - column]);
        const std::vector<Complex> out = transform(line.data(), 1, columns_, 1);
        for (size_t column = 0; column < columns_; ++column)
          images[row * columns_ + column] = static_cast<float>(out[column].real());
      }
      std::fill_n(spectra, rows_ * half_, std::numeric_limits<float>::quiet_NaN());
    }
  }

 private:
  EmulatorQueue& check(const float* images, const std::complex<float>* spectra, Queue& queue) const {
    EmulatorQueue& own = EmulatorQueue::of(queue, "fft");
    const DeviceMemory& memory = own.memory();
    if (workspace_ == nullptr || !memory.contains(workspace_, workspace_bytes()))
      throw DeviceError("fft: no workspace");
    if (!memory.contains(images, static_cast<size_t>(size_.real_elements()) * sizeof(float)))
      throw DeviceError("fft: the images reach outside their device memory");
    if (!memory.contains(spectra, static_cast<size_t>(size_.complex_elements()) * sizeof(*spectra)))
      throw DeviceError("fft: the spectra reach outside their device memory");
    return own;
  }

  FftSize size_;
  size_t rows_, columns_, half_;
  void* workspace_ = nullptr;
};

}  // namespace

std::unique_ptr<Fft> make_fft(const FftSize& size, Device& device) {
  if (device.info().kind == DeviceKind::cuda) return cuda::make_fft(size, device);
  if (size.rows < 1 || size.columns < 1 || size.batch < 1)
    throw DeviceError("fft: " + std::to_string(size.batch) + " images of " + std::to_string(size.rows) + "x" +
                      std::to_string(size.columns));
  return std::make_unique<EmulatedFft>(size);
}

}  // namespace convscope::emulated

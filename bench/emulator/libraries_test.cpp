// The emulator's Blas and Fft against their definitions, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "bench/device/blas.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/device_error.hpp"
#include "bench/device/fft.hpp"
#include "bench/emulator/kernel_test.hpp"

namespace convscope {
namespace {

using Complex = std::complex<float>;

class EmulatedLibraries : public KernelTest {
 protected:
  static std::vector<Complex> complex_numbers(size_t n, unsigned seed) {
    const std::vector<float> parts = whole_numbers(2 * n, seed);
    std::vector<Complex> values;
    for (size_t i = 0; i < n; ++i) values.emplace_back(parts[2 * i], parts[2 * i + 1]);
    return values;
  }
};

TEST_P(EmulatedLibraries, MultiplyStridedBatches) {
  constexpr int rows = 3, columns = 4, depth = 5, batch = 2;
  // A lies as depth x rows, in rows of 7; B is one matrix for all; C has rows of 6.
  const std::vector<float> a = whole_numbers(batch * 40, 1), b = whole_numbers(depth * columns, 2),
                           c = whole_numbers(batch * 18, 3);
  const Buffer on_a = to_device(a), on_b = to_device(b), on_c = to_device(c);
  Product<float> product{.rows = rows, .columns = columns, .depth = depth, .batch = batch};
  product.a = {on_a.as<float>(), 7, 40, MatrixOp::transpose};
  product.b = {on_b.as<float>(), columns, 0, MatrixOp::none};
  product.c = {on_c.as<float>(), 6, 18, MatrixOp::none};
  product.alpha = 2;
  product.beta = -1;
  emulated::make_blas(*device_)->multiply(product, *queue_);
  std::vector<float> expected = c;
  for (size_t i = 0; i < batch; ++i)
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        float sum = 0;
        for (size_t k = 0; k < depth; ++k) sum += a[i * 40 + k * 7 + row] * b[k * columns + column];
        float& to = expected[i * 18 + row * 6 + column];
        to = 2 * sum - to;
      }
  EXPECT_EQ(to_host<float>(on_c), expected);
}

TEST_P(EmulatedLibraries, ConjugateAComplexOperand) {
  constexpr size_t n = 3;
  const std::vector<Complex> a = complex_numbers(n * n, 1), b = complex_numbers(n * n, 2);
  const Buffer on_a = to_device(a), on_b = to_device(b), on_c = floats(2 * n * n);
  Product<Complex> product{.rows = n, .columns = n, .depth = n};
  product.a = {on_a.as<Complex>(), n, 0, MatrixOp::none};
  product.b = {on_b.as<Complex>(), n, 0, MatrixOp::conjugate_transpose};
  product.c = {on_c.as<Complex>(), n, 0, MatrixOp::none};
  emulated::make_blas(*device_)->multiply(product, *queue_);
  std::vector<Complex> expected(n * n);
  for (size_t row = 0; row < n; ++row)
    for (size_t column = 0; column < n; ++column)
      for (size_t k = 0; k < n; ++k)
        expected[row * n + column] += a[row * n + k] * std::conj(b[column * n + k]);
  EXPECT_EQ(to_host<Complex>(on_c), expected);
}

TEST_P(EmulatedLibraries, RefuseAMatrixThatReachesOutsideItsMemory) {
  const Buffer memory = floats(16);
  Product<float> product{.rows = 4, .columns = 4, .depth = 4};
  product.a = product.b = {memory.as<float>(), 4, 0, MatrixOp::none};
  product.c = {memory.as<float>(), 2048, 0, MatrixOp::none};
  EXPECT_THROW(emulated::make_blas(*device_)->multiply(product, *queue_), DeviceError);
  product.c.stride = 3;
  EXPECT_THROW(emulated::make_blas(*device_)->multiply(product, *queue_), DeviceError);
}

TEST_P(EmulatedLibraries, TransformImagesAndBack) {
  for (const FftSize size : {FftSize{4, 6, 2}, FftSize{5, 7, 1}, FftSize{1, 1, 3}}) {
    const auto rows = static_cast<size_t>(size.rows), columns = static_cast<size_t>(size.columns);
    const std::vector<float> images = whole_numbers(static_cast<size_t>(size.real_elements()), 4);
    const auto half = columns / 2 + 1;
    const Buffer on_images = to_device(images),
                 spectra = floats(2 * static_cast<size_t>(size.complex_elements())),
                 back = floats(images.size());
    const auto fft = emulated::make_fft(size, *device_);
    const Buffer workspace(*device_, fft->workspace_bytes());
    EXPECT_THROW(fft->forward(on_images.as<float>(), spectra.as<Complex>(), *queue_), DeviceError);
    fft->set_workspace(workspace.data());
    fft->forward(on_images.as<float>(), spectra.as<Complex>(), *queue_);

    const std::vector<Complex> out = to_host<Complex>(spectra);
    for (size_t u = 0; u < rows; ++u)
      for (size_t v = 0; v < half; ++v) {
        std::complex<double> sum = 0;
        for (size_t y = 0; y < rows; ++y)
          for (size_t x = 0; x < columns; ++x)
            sum += double{images[y * columns + x]} *
                   std::polar(1.0, -2 * std::numbers::pi *
                                       (double(u * y) / double(rows) + double(v * x) / double(columns)));
        EXPECT_NEAR(out[u * half + v].real(), sum.real(), 1e-4);
        EXPECT_NEAR(out[u * half + v].imag(), sum.imag(), 1e-4);
      }

    fft->inverse(spectra.as<Complex>(), back.as<float>(), *queue_);
    const std::vector<float> twice = to_host<float>(back);
    for (size_t i = 0; i < images.size(); ++i)
      EXPECT_NEAR(twice[i], images[i] * static_cast<float>(rows * columns), 1e-3);
    EXPECT_TRUE(std::isnan(to_host<float>(spectra)[0]));  // as cuFFT may
  }
}

TEST_P(EmulatedLibraries, RefuseTheQueueOfAnotherDevice) {
  CpuDevice cpu;
  const auto queue = cpu.make_queue();
  EXPECT_THROW(emulated::make_blas(*device_)->multiply(Product<float>{}, *queue), DeviceError);
}

INSTANTIATE_TEST_SUITE_P(Emulator, EmulatedLibraries, ::testing::Values(test_devices().front()), device_name);

}  // namespace
}  // namespace convscope

// Batched two-dimensional real transforms from a library: cuFFT on the GPU, plain loops in the emulator. A
// .cu file calls make_fft(size, device) and gets the one of its own namespace.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/device/device.hpp"

namespace convscope {

// `batch` images of rows x columns reals, dense, and their spectra of rows x (columns / 2 + 1) complex
// numbers.
struct FftSize {
  int rows = 1, columns = 1;
  int64_t batch = 1;
  int64_t real_elements() const { return batch * rows * columns; }
  int64_t complex_elements() const { return batch * rows * (columns / 2 + 1); }
};

// Unnormalised: inverse(forward(x)) is rows * columns * x. Work is enqueued; nothing is allocated by the
// transforms. Throws DeviceError. Not in place.
class Fft {
 public:
  virtual ~Fft() = default;
  // Scratch memory in device memory, 256-byte aligned, that set_workspace() must be given before the first
  // transform.
  virtual size_t workspace_bytes() const = 0;
  virtual void set_workspace(void* data) = 0;
  virtual void forward(const float* images, std::complex<float>* spectra, Queue&) = 0;
  virtual void inverse(std::complex<float>* spectra, float* images, Queue&) = 0;  // destroys the spectra
};

namespace cuda {
std::string fft_defect();  // why cuFFT cannot be used here, or an empty string
std::unique_ptr<Fft> make_fft(const FftSize&, Device&);
}  // namespace cuda
namespace emulated {
// Given a CUDA device, which a build without nvcc has on the stand-in for its runtime: that of cuda.
std::unique_ptr<Fft> make_fft(const FftSize&, Device&);
}  // namespace emulated

}  // namespace convscope

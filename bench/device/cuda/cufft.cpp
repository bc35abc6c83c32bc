// Fft by cuFFT, which is loaded at run time. Its few types are declared here; they have been the same since
// CUDA 6.5.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/device/cuda/cuda_queue.hpp"
#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/device_error.hpp"
#include "bench/device/fft.hpp"

namespace convscope::cuda {
namespace {

using PlanHandle = int;
using Complex = std::complex<float>;
constexpr int kSuccess = 0;
constexpr int kRealToComplex = 0x2a, kComplexToReal = 0x2c;
// Launches that one transform takes, at most, in the queue of a held stream.
constexpr int kOperationsPerTransform = 8;

const SharedLibrary& library() {
  static const SharedLibrary loaded({"libcufft.so.12", "libcufft.so.11"}, "cufft");
  return loaded;
}

template <typename Function>
Function* function(const char* name) {
  Function* found = library().function<Function>(name);
  if (found == nullptr) throw DeviceError(fmt::format("cuFFT has no function {}", name));
  return found;
}

void check_status(int status, const char* call) {
  if (status != kSuccess) throw DeviceError(fmt::format("{}: error {}", call, status));
}

// One direction's plan, which uses the workspace that it is given.
class Transform {
 public:
  Transform(const FftSize& size, int type) : destroy_(function<int(PlanHandle)>("cufftDestroy")) {
    check_status(function<int(PlanHandle*)>("cufftCreate")(&handle_), "cufftCreate");
    check_status(function<int(PlanHandle, int)>("cufftSetAutoAllocation")(handle_, 0),
                 "cufftSetAutoAllocation");
    using MakePlan =
        int(PlanHandle, int rank, long long* sizes, long long* input_embed, long long input_stride,
            long long input_distance, long long* output_embed, long long output_stride,
            long long output_distance, int type, long long batch, size_t* workspace_bytes);
    long long sizes[] = {size.rows, size.columns};
    // Without embeds the data is dense, as FftSize says, and strides and distances are not looked at.
    check_status(function<MakePlan>("cufftMakePlanMany64")(handle_, 2, sizes, nullptr, 1, 0, nullptr, 1, 0,
                                                           type, size.batch, &workspace_bytes_),
                 "cufftMakePlanMany64");
  }
  ~Transform() {
    if (handle_ >= 0) destroy_(handle_);
  }
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  PlanHandle handle() const { return handle_; }
  size_t workspace_bytes() const { return workspace_bytes_; }

 private:
  int (*destroy_)(PlanHandle);
  PlanHandle handle_ = -1;
  size_t workspace_bytes_ = 0;
};

class CuFft final : public Fft {
 public:
  explicit CuFft(const FftSize& size)
      : forward_(size, kRealToComplex),
        inverse_(size, kComplexToReal),
        set_workspace_(function<int(PlanHandle, void*)>("cufftSetWorkArea")),
        set_stream_(function<int(PlanHandle, cudaStream_t)>("cufftSetStream")),
        run_forward_(function<int(PlanHandle, float*, Complex*)>("cufftExecR2C")),
        run_inverse_(function<int(PlanHandle, Complex*, float*)>("cufftExecC2R")) {}

  size_t workspace_bytes() const override {
    return std::max(forward_.workspace_bytes(), inverse_.workspace_bytes());
  }
  void set_workspace(void* data) override {
    check_status(set_workspace_(forward_.handle(), data), "cufftSetWorkArea");
    check_status(set_workspace_(inverse_.handle(), data), "cufftSetWorkArea");
  }
  void forward(const float* images, Complex* spectra, Queue& queue) override {
    use_stream(forward_, queue);
    // The library's type lacks a const: out of place, it does not write its input.
    check_status(run_forward_(forward_.handle(), const_cast<float*>(images), spectra), "cufftExecR2C");
  }
  void inverse(Complex* spectra, float* images, Queue& queue) override {
    use_stream(inverse_, queue);
    check_status(run_inverse_(inverse_.handle(), spectra, images), "cufftExecC2R");
  }

 private:
  void use_stream(const Transform& transform, Queue& queue) {
    check_status(set_stream_(transform.handle(), cuda_queue(queue).stream_for(kOperationsPerTransform)),
                 "cufftSetStream");
  }

  Transform forward_, inverse_;
  int (*set_workspace_)(PlanHandle, void*);
  int (*set_stream_)(PlanHandle, cudaStream_t);
  int (*run_forward_)(PlanHandle, float*, Complex*);
  int (*run_inverse_)(PlanHandle, Complex*, float*);
};

}  // namespace

std::string fft_defect() {
  return library().defect();
}

std::unique_ptr<Fft> make_fft(const FftSize& size, Device&) {
  if (const std::string defect = fft_defect(); !defect.empty()) throw DeviceError("no cuFFT: " + defect);
  return std::make_unique<CuFft>(size);
}

}  // namespace convscope::cuda

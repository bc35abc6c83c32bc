// Fft by cuFFT, which is loaded at run time. Its few types are declared here; they have been the same since
// CUDA 6.5.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "bench/device/cuda/cuda_queue.hpp"
#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/device_error.hpp"
#include "bench/device/fft.hpp"

namespace convscope::cuda {
namespace {

using PlanHandle = int;
using Complex = std::complex<float>;
constexpr int kSuccess = 0, kAllocationFailed = 2;
constexpr int kRealToComplex = 0x2a, kComplexToReal = 0x2c;
// Launches that one transform takes, at most, in the queue of a held stream.
constexpr int kOperationsPerTransform = 8;

const SharedLibrary& library() {
  static const SharedLibrary loaded({"libcufft.so.12", "libcufft.so.11"}, "cufft");
  return loaded;
}

constexpr const char* kFunctions[] = {"cufftCreate",         "cufftDestroy",     "cufftSetAutoAllocation",
                                      "cufftMakePlanMany64", "cufftSetWorkArea", "cufftSetStream",
                                      "cufftExecR2C",        "cufftExecC2R"};

// One of kFunctions.
template <typename Function>
Function* function(const char* name) {
  return library().function<Function>(name);
}

// cuFFT has no function that tells the names of its statuses.
std::string status_name(int status) {
  constexpr std::pair<int, const char*> names[] = {
      {0x1, "CUFFT_INVALID_PLAN"},   {kAllocationFailed, "CUFFT_ALLOC_FAILED"},
      {0x3, "CUFFT_INVALID_TYPE"},   {0x4, "CUFFT_INVALID_VALUE"},
      {0x5, "CUFFT_INTERNAL_ERROR"}, {0x6, "CUFFT_EXEC_FAILED"},
      {0x7, "CUFFT_SETUP_FAILED"},   {0x8, "CUFFT_INVALID_SIZE"},
      {0xB, "CUFFT_INVALID_DEVICE"}, {0xD, "CUFFT_NO_WORKSPACE"},
      {0x10, "CUFFT_NOT_SUPPORTED"}, {0x11, "CUFFT_MISSING_DEPENDENCY"},
      {0x12, "CUFFT_NVRTC_FAILURE"}, {0x13, "CUFFT_NVJITLINK_FAILURE"}};
  for (const auto& [number, name] : names)
    if (number == status) return name;
  return fmt::format("status {}", status);
}

void check_status(int status, const char* call) {
  if (status == kSuccess) return;
  const std::string message = fmt::format("{}: {}", call, status_name(status));
  check_device_after(message);
  if (status == kAllocationFailed) throw std::bad_alloc();
  throw DeviceError(message);
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
  static const std::string found =
      defect(library(), {"cuFFT", "cuFFT 11 or 12", "cufftGetProperty", kFunctions});
  return found;
}

std::unique_ptr<Fft> make_fft(const FftSize& size, Device&) {
  if (const std::string defect = fft_defect(); !defect.empty()) throw DeviceError("no cuFFT: " + defect);
  return std::make_unique<CuFft>(size);
}

}  // namespace convscope::cuda

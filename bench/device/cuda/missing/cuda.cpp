// The functions of bench/device/cuda/cuda.hpp, blas.hpp and fft.hpp in a build without CUDA.
#include "bench/device/cuda/cuda.hpp"

#include "bench/device/device_error.hpp"

namespace convscope::cuda {
namespace {

[[noreturn]] void refuse() {
  throw DeviceError("no CUDA device: " + device_defect());
}

}  // namespace

std::string device_defect() {
  return "this build is without CUDA (configure it with -DCONVSCOPE_CUDA=ON)";
}
DeviceInfo describe_device() {
  refuse();
}
std::unique_ptr<Device> make_device(const Options&) {
  refuse();
}
Ceilings measure_ceilings(Device&) {
  refuse();
}
void burn_in(Device&, double) {
  refuse();
}

}  // namespace convscope::cuda

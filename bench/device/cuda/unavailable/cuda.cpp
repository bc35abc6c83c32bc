// The functions of bench/device/cuda/cuda.hpp, blas.hpp, fft.hpp and communicator.hpp in a build without
// CUDA.
#include "bench/device/cuda/cuda.hpp"

#include "bench/device/blas.hpp"
#include "bench/device/communicator.hpp"
#include "bench/device/device_error.hpp"
#include "bench/device/fft.hpp"

namespace convscope::cuda {
namespace {

[[noreturn]] void refuse() {
  throw DeviceError("no CUDA device: " + device_defect());
}

}  // namespace

std::string device_defect() {
  return "this build is without CUDA (configure it with -DCONVSCOPE_CUDA=ON)";
}
int device_count() {
  return 0;
}
DeviceInfo describe_device(int) {
  refuse();
}
std::optional<OthersUse> others_on(int) {
  return std::nullopt;
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
std::unique_ptr<MemoryLoad> make_memory_load(const LoadRate&, Device&) {
  refuse();
}

std::string blas_defect() {
  return device_defect();
}
std::unique_ptr<Blas> make_blas(Device&) {
  refuse();
}
std::string fft_defect() {
  return device_defect();
}
std::unique_ptr<Fft> make_fft(const FftSize&, Device&) {
  refuse();
}
std::string communication_defect() {
  return device_defect();
}
std::string communication_library() {
  refuse();
}
CommunicatorId make_communicator_id() {
  refuse();
}
std::string limits_of(const Device&) {
  refuse();
}
std::unique_ptr<Communicator> make_communicator(const CommunicatorId&, int, int, Device&) {
  refuse();
}

}  // namespace convscope::cuda

#include "bench/device/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <new>

#include "bench/device/cuda/check.hpp"
#include "bench/device/cuda/cuda_queue.hpp"
#include "bench/device/cuda/driver.hpp"
#include "bench/device/device_error.hpp"
#include "bench/device/machine_identity.hpp"

namespace convscope::cuda {
namespace {

// Left to the runtime, which needs memory for kernels and stacks that it loads later.
constexpr size_t kReservedBytes = size_t{64} << 20;
// The same, and what libraries keep for themselves: left free by whoever plans how much to allocate.
constexpr size_t kHeadroomBytes = size_t{1} << 30;

size_t free_bytes() {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

// "h200-sm_90" of "NVIDIA H200".
std::string machine_label(const DeviceInfo& device) {
  std::string label;
  for (const char c : device.name.substr(device.name.starts_with("NVIDIA ") ? 7 : 0)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      label += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!label.empty() && label.back() != '-')
      label += '-';
  }
  if (label.ends_with('-')) label.pop_back();
  return label + "-" + device.instructions;
}

MachineFacts machine_facts(const DeviceInfo& device) {
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  MachineFacts facts{{"name", device.name},
                     {"instructions", device.instructions},
                     {"multiprocessors", std::to_string(device.cores)},
                     {"memory", std::to_string(device.memory_bytes)},
                     {"driver", std::to_string(driver)},
                     {"runtime", std::to_string(CUDART_VERSION)}};
  const MachineFacts settings = Nvml(pci_address(device.index)).facts();
  facts.insert(facts.end(), settings.begin(), settings.end());
  return facts;
}

}  // namespace

std::string device_defect() {
  return driver_defect(look_for_driver());
}

int device_count() {
  return look_for_driver().devices;
}

DeviceInfo describe_device(int device) {
  if (const std::string defect = device_defect(); !defect.empty())
    throw DeviceError("no CUDA device: " + defect);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.index = device;
  info.name = properties.name;
  info.instructions = fmt::format("sm_{}{}", properties.major, properties.minor);
  info.cores = properties.multiProcessorCount;
  info.l1_bytes = static_cast<int64_t>(properties.sharedMemPerMultiprocessor);
  info.l2_bytes = info.llc_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  info.machine_class = machine_class(machine_label(info), machine_facts(info));
  info.machine_unit = machine_unit({properties.uuid.bytes, sizeof properties.uuid.bytes});
  return info;
}

std::optional<OthersUse> others_on(int device) {
  return Nvml(pci_address(device)).others_before_use();
}

std::unique_ptr<Device> make_device(const Options& options) {
  return std::make_unique<CudaDevice>(options);
}

CudaDevice::CudaDevice(const Options& options)
    : options_(options), info_(describe_device(options.device)), nvml_(pci_address(options.device)) {
  check(cudaSetDevice(options.device), "cudaSetDevice");
}

std::unique_ptr<Queue> CudaDevice::make_queue() {
  return std::make_unique<CudaQueue>(options_.blocker);
}

void* CudaDevice::allocate(size_t bytes) {
  if (bytes + kReservedBytes > free_bytes()) throw std::bad_alloc();
  void* data = nullptr;
  check(cudaMalloc(&data, bytes), "cudaMalloc");
  return data;
}

void CudaDevice::release(void* data) noexcept {
  cudaFree(data);  // after a lost device it fails, and the process ends anyway
}

void CudaDevice::copy_to_device(void* to, const void* from, size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  // It may return while the last part is still on its way, and the queues do not wait for this stream.
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

void CudaDevice::copy_to_host(void* to, const void* from, size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void CudaDevice::fill(void* data, unsigned char byte, size_t bytes) {
  check(cudaMemsetAsync(data, byte, bytes, nullptr), "cudaMemsetAsync");
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");  // the queues do not wait for this stream
}

int64_t CudaDevice::usable_bytes() {
  const size_t free = free_bytes();
  return static_cast<int64_t>(free - std::min(free, kHeadroomBytes));
}

DeviceState CudaDevice::state() {
  return nvml_.state();
}

}  // namespace convscope::cuda

// One GPU as a Device. Allocation asks for the free memory first, so that a lack of it is foreseen.
#pragma once

#include <memory>

#include "bench/device/cuda/cuda.hpp"
#include "bench/device/cuda/nvml.hpp"
#include "bench/device/device.hpp"

namespace convscope::cuda {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const Options& options);

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Queue> make_queue() override;
  void* allocate(size_t bytes) override;
  void release(void* data) noexcept override;
  void copy_to_device(void* to, const void* from, size_t bytes) override;
  void copy_to_host(void* to, const void* from, size_t bytes) override;
  void fill(void* data, unsigned char byte, size_t bytes) override;
  // The free memory, less what kernels and libraries load later.
  int64_t usable_bytes() override;
  DeviceState state() override;

 private:
  Options options_;
  DeviceInfo info_;
  Nvml nvml_;
};

}  // namespace convscope::cuda

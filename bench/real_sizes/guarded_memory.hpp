// Device memory whose every buffer lies between inaccessible pages, 20 GiB of them on either side: what a
// kernel touches beyond its end, or below its begin, faults. Of a buffer itself only pages that are touched
// take memory, so that tensors may have their real sizes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/emulator/emulator_device.hpp"

namespace convscope::real_sizes {

class GuardedMemory final : public emulated::DeviceMemory {
 public:
  ~GuardedMemory() override;
  // Aligned to 256 bytes, as on a GPU; the end is rounded up to that. Zeros.
  void* allocate(size_t bytes) override;
  void release(void* data) noexcept override;
  bool contains(const void* data, size_t bytes) const override;

  void make_read_only(void* data);
  // Which buffer the address is nearest to, as in "buffer 3 (4096 bytes), 128 bytes behind its end". Without
  // allocations, for a signal handler: writes at most `room` characters and returns how many.
  size_t describe(const void* address, char* text, size_t room) const;

 private:
  struct Buffer {
    unsigned char *data, *reserved;
    size_t bytes, reserved_bytes;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace convscope::real_sizes

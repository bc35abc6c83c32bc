#include "bench/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace convscope {

std::string OthersUse::text() const {
  return fmt::format("{:.0f}% of the time{}{}", 100 * share, programs.empty() ? "" : ": ", programs);
}

void Device::fill(void* data, unsigned char byte, size_t bytes) {
  constexpr size_t chunk = size_t{1} << 20;
  const std::vector<unsigned char> values(std::min(bytes, chunk), byte);
  for (size_t done = 0; done < bytes; done += chunk)
    copy_to_device(static_cast<std::byte*>(data) + done, values.data(), std::min(chunk, bytes - done));
}

}  // namespace convscope

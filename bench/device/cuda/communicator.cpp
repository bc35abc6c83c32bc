// What the GPUs of a communicator's ranks are compared by. The communicator itself is nccl.cpp.
#include "bench/device/communicator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "bench/device/cuda/nvml.hpp"

namespace convscope::cuda {

// Not the VBIOS, which boards of one model have of several versions.
std::string limits_of(const Device& device) {
  static constexpr std::pair<const char*, const char*> kAsked[] = {
      {"power limit", "mW"}, {"max sm clock", "MHz"}, {"max memory clock", "MHz"}};
  const MachineFacts facts = Nvml(pci_address(device.info().index)).facts();
  std::vector<std::string> limits;
  for (const auto& [name, unit] : kAsked)
    for (const auto& [fact, value] : facts)
      if (fact == name && !value.empty()) limits.push_back(fmt::format("{} {} {}", name, value, unit));
  return fmt::format("{}", fmt::join(limits, ", "));
}

}  // namespace convscope::cuda

// What stands between the convolutions of a modelled step, from kept rows of `convscope operations`: of each
// layer what is run forward and backward, and its update. Start at read_operations() and operations_of().
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/record/result.hpp"

namespace convscope {

struct TimeRange {
  double median = 0, lowest = 0, highest = 0;  // seconds; the ends of the median's 95% interval, NaN if none
};

// A row that was measured and right.
struct KeptOperation {
  std::string network, layer;
  std::string operation, direction;  // "bias+relu", "forward"; "" of what has no direction
  int64_t batch = 1;
  std::string device, device_name, machine_class;
  int threads = 1;
  TimeRange time;
  bool suspect = false;  // more than a quarter of its samples were disturbed
};

// From folders with an operations.json, or such files, compressed ones as well. Throws UsageError with the
// file and the row where one is missing, is no such file or has a member of another type.
std::vector<KeptOperation> read_operations(std::span<const std::string> paths);

struct OperationTimes {
  TimeRange forward, backward, update;
  bool suspect = false;
};
// By batch and layer.
using OperationTimesOfLayers = std::map<std::pair<int64_t, std::string>, OperationTimes>;

// Those of a network, measured on this device with so many threads (on a GPU any). Of each operation the
// fastest provider's counts; where an operation with its ReLU, or a bias with it, has a row, it is one pass,
// and the rows of the two by themselves do not count. The 1-bit code is no part of it.
OperationTimesOfLayers operations_of(std::span<const KeptOperation> rows, const std::string& network,
                                     const DeviceInfo& device, int threads);

}  // namespace convscope

// The times of what stands between the convolutions of a modelled step, from kept rows of `convscope
// operations`. Start at read_operations() and times_on().
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/record/result.hpp"

namespace convscope {

struct TimeRange {
  double median = 0, lowest = 0, highest = 0;  // seconds; the ends of the median's 95% interval, NaN if none
};

// A row that was measured and right.
struct KeptOperation {
  std::string problem;  // to_text() of an OperationProblem
  std::string device, device_name, machine_class;
  int threads = 1;
  TimeRange time;
  // More than a quarter of its samples were disturbed; older files count those of all providers.
  bool suspect = false;
};

// From folders with an operations.json, or such files, compressed ones as well. Throws UsageError with the
// file and the row where one is missing, is no such file or has a member of another type.
std::vector<KeptOperation> read_operations(std::span<const std::string> paths);

// By the problem, the fastest provider's.
using OperationTimes = std::map<std::string, const KeptOperation*>;

// Of the rows that were measured on this device with so many threads (on a GPU any). They outlive the result.
OperationTimes times_on(const DeviceInfo& device, int threads, std::span<const KeptOperation> rows);

}  // namespace convscope

// The shortest time that the measured ceilings allow one candidate: its own arithmetic at the multiply-add
// rate, or the three tensors moved once, whichever is longer. Not a prediction: caches, transforms' traffic
// and reorders only add to it.
#pragma once

#include <optional>
#include <string_view>

#include "bench/record/result.hpp"

namespace convscope {

struct Bound {
  double compute_seconds = 0;  // executed flops over the multiply-add ceiling of the math mode
  double memory_seconds = 0;   // each tensor once, from memory or (see below) from the cache
  double seconds() const { return compute_seconds > memory_seconds ? compute_seconds : memory_seconds; }
  std::string_view kind() const { return compute_seconds >= memory_seconds ? "compute" : "memory"; }
};

// The ceiling for a math mode: that of the tensor cores for its operands (a third of it for 3xtf32), or where
// there are none, as for fp32, the one of FP32.
double multiply_add_rate(MathMode math, const Ceilings& ceilings);

// The larger of each ceiling: two measurements of one device and thread count, of which a lower one was
// disturbed. The shorter of two latencies, where both are known.
Ceilings best_of(const Ceilings& a, const Ceilings& b);

// A cold tensor moves at the larger of the read and copy bandwidths. Where the cache state leaves tensors hot
// and the three fit the last-level cache together, the hot ones move at the cache bandwidth: all of them in
// `hot`, the activations in `weights_cold`. Null where the operations or a ceiling are not known.
std::optional<Bound> bound(const ConvProblem& problem, const OperationCount& operations, CacheState cache,
                           const DeviceInfo& device, const Ceilings& ceilings);
std::optional<Bound> bound(const ResultRecord& record);

// 100 * bound / median of `full`; null where either is not known.
std::optional<double> percent_of_ceiling(const ResultRecord& record);
// Faster than its ceilings allow: they are wrong, since the record's result is right and its time measured.
// False where its share of them is not known, and on a device of virtual time.
bool beats_its_ceilings(const ResultRecord& record);

}  // namespace convscope

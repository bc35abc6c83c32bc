#include "bench/record/bound.hpp"

#include <algorithm>

namespace convscope {
namespace {

// Bytes that must come from memory, the rest being in the cache; see bound.hpp.
double memory_bytes(const ConvProblem& problem, CacheState cache, const DeviceInfo& device) {
  const int64_t total = problem.total_bytes();
  if (cache == CacheState::cold || total > device.llc_bytes) return static_cast<double>(total);
  return cache == CacheState::weights_cold ? static_cast<double>(problem.bytes(Role::filter)) : 0.0;
}

}  // namespace

double multiply_add_rate(MathMode math, const Ceilings& ceilings) {
  double tensor = 0;
  switch (math) {
    case MathMode::fp32:
      break;
    case MathMode::tf32:
      tensor = ceilings.tf32_flops;
      break;
    case MathMode::tf32x3:
      tensor = ceilings.tf32_flops / 3;  // three products for one
      break;
    case MathMode::bf16:
      tensor = ceilings.bf16_flops;
      break;
    case MathMode::fp16:
      tensor = ceilings.fp16_flops;
      break;
  }
  return std::max(tensor, ceilings.fma_flops);
}

Ceilings best_of(const Ceilings& a, const Ceilings& b) {
  Ceilings best = a;
  for (double Ceilings::*rate :
       {&Ceilings::fma_flops, &Ceilings::copy_bytes, &Ceilings::read_bytes, &Ceilings::cache_read_bytes,
        &Ceilings::tf32_flops, &Ceilings::bf16_flops, &Ceilings::fp16_flops})
    best.*rate = std::max(a.*rate, b.*rate);
  double& latency = best.core_to_core_latency_seconds;
  const double other = b.core_to_core_latency_seconds;
  if (latency == 0 || (other > 0 && other < latency)) latency = other;
  return best;
}

std::optional<Bound> bound(const ConvProblem& problem, const OperationCount& operations, CacheState cache,
                           const DeviceInfo& device, const Ceilings& ceilings) {
  const double bandwidth = std::max(ceilings.read_bytes, ceilings.copy_bytes);
  const double rate = multiply_add_rate(problem.math, ceilings);
  const double flops = operations.executed_flops();
  const double from_memory = memory_bytes(problem, cache, device);
  const double from_cache = static_cast<double>(problem.total_bytes()) - from_memory;
  const bool known =
      flops > 0 && rate > 0 && bandwidth > 0 && (from_cache == 0 || ceilings.cache_read_bytes > 0);
  if (!known) return std::nullopt;
  Bound result{flops / rate, from_memory / bandwidth};
  if (from_cache > 0) result.memory_seconds += from_cache / ceilings.cache_read_bytes;
  return result;
}

std::optional<Bound> bound(const ResultRecord& record) {
  return bound(record.key.problem, record.operations, record.key.cache, record.device, record.ceilings);
}

std::optional<double> percent_of_ceiling(const ResultRecord& record) {
  const auto limit = bound(record);
  if (!limit || !record.time || !(record.time->full.statistics.median > 0)) return std::nullopt;
  return 100 * limit->seconds() / record.time->full.statistics.median;
}

bool beats_its_ceilings(const ResultRecord& record) {
  return record.outcome == Outcome::measured && !has_virtual_time(record) &&
         percent_of_ceiling(record).value_or(0) > 100;
}

}  // namespace convscope

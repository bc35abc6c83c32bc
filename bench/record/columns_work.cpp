// Columns of work and worth: operations, bytes, rates, the measured ceilings, accuracy, and the rerun line.
#include <cmath>

#include "bench/record/bound.hpp"
#include "bench/record/column_tables.hpp"

namespace convscope {
namespace {

// `flops` over the median of full; null without a time or a count.
Cell gflops(const R& r, double flops) {
  if (!r.time || r.time->full.statistics.n == 0 || flops <= 0) return {};
  return known(flops / r.time->full.statistics.median / 1e9);
}

// A count or rate that is 0 when nobody knows it.
Cell unless_zero(double value) {
  return value == 0 ? Cell{} : known(value);
}

Cell intensity(const R& r) {
  const auto bytes = static_cast<double>(r.key.problem.total_bytes());
  return unless_zero(r.operations.executed_flops() / bytes);
}

// The plan's workspace; null where no plan was built.
Cell workspace(const R& r) {
  const bool planned = r.outcome == Outcome::measured || r.outcome == Outcome::verified_only ||
                       r.outcome == Outcome::wrong || r.outcome == Outcome::over_workspace;
  return planned || r.workspace_bytes > 0 ? Cell{r.workspace_bytes} : Cell{};
}

Cell bound_kind(const R& r) {
  const auto limit = bound(r);
  return limit ? text(limit->kind()) : Cell{};
}
Cell bound_milliseconds(const R& r) {
  const auto limit = bound(r);
  return limit ? known(1e3 * limit->seconds()) : Cell{};
}

}  // namespace

std::span<const Column> work_columns() {
  static constexpr Column table[] = {
      {"gflops_nominal", "GFLOP/s", "flops_nominal over full_median_ms; the figure to compare algorithms by.",
       [](const R& r) { return gflops(r, r.key.problem.nominal_flops()); }},
      {"gflops_effective", "GFLOP/s", "flops_effective over full_median_ms.",
       [](const R& r) { return gflops(r, r.key.problem.effective_flops()); }},
      {"gflops_executed", "GFLOP/s", "flops_executed over full_median_ms: how busy the arithmetic units are.",
       [](const R& r) { return gflops(r, r.operations.executed_flops()); }},
      {"flops_nominal", "flop",
       "2 N K C R S P Q / groups: the seven loops, the same for every algorithm and pass.",
       [](const R& r) { return known(r.key.problem.nominal_flops()); }},
      {"flops_effective", "flop", "The same with the taps on padding left out.",
       [](const R& r) { return known(r.key.problem.effective_flops()); }},
      {"flops_executed", "flop",
       "What the algorithm does: transforms and the waste of partial tiles included.",
       [](const R& r) { return unless_zero(r.operations.executed_flops()); }},
      {"bytes_min", "bytes", "The three tensors, each once.",
       [](const R& r) -> Cell { return r.key.problem.total_bytes(); }},
      {"bytes_algo", "bytes",
       "Tensors and intermediate buffers that the algorithm reads and writes, perfect reuse assumed.",
       [](const R& r) { return unless_zero(r.operations.bytes); }},
      {"bytes_cached", "bytes",
       "Intermediate buffers that the algorithm writes and reads in a core's private caches, not in "
       "bytes_algo; null where there are none or none are counted.",
       [](const R& r) { return unless_zero(r.operations.cached_bytes); }},
      {"arithmetic_intensity", "flop/byte", "flops_executed over bytes_min.",
       [](const R& r) { return intensity(r); }},
      {"workspace_bytes", "bytes",
       "The plan's scratch memory, prepared filters included; null where no plan was built.",
       [](const R& r) { return workspace(r); }},
      {"ceiling_gflops", "GFLOP/s",
       "Measured multiply-add rate of these threads or this GPU: FP32, or the tensor cores' in the math "
       "mode.",
       [](const R& r) { return unless_zero(multiply_add_rate(r.key.problem.math, r.ceilings) / 1e9); }},
      {"ceiling_read_gbs", "GB/s", "Measured bandwidth of reading memory.",
       [](const R& r) { return unless_zero(r.ceilings.read_bytes / 1e9); }},
      {"ceiling_copy_gbs", "GB/s", "Measured bandwidth of copying memory, bytes read plus bytes written.",
       [](const R& r) { return unless_zero(r.ceilings.copy_bytes / 1e9); }},
      {"ceiling_cache_gbs", "GB/s", "Measured bandwidth of reading the last private cache.",
       [](const R& r) { return unless_zero(r.ceilings.cache_read_bytes / 1e9); }},
      {"bound", "",
       "The ceiling that binds: compute (flops_executed at the multiply-add rate) or memory (bytes_min at "
       "the larger of read and copy bandwidth; tensors that the cache state keeps hot, if all three fit the "
       "last-level cache, at the cache bandwidth).",
       [](const R& r) { return bound_kind(r); }},
      {"bound_ms", "ms", "The time that this ceiling allows at best.",
       [](const R& r) { return bound_milliseconds(r); }},
      {"percent_of_ceiling", "%", "100 bound_ms / full_median_ms.",
       [](const R& r) { return known(percent_of_ceiling(r)); }},
      {"relative_l2", "",
       "||y - y64|| / ||y64|| over the checked outputs, against a reference in f64; what the gate is on.",
       [](const R& r) { return known(r.accuracy.relative_l2); }},
      {"max_abs", "", "Largest |y - y64|.", [](const R& r) { return known(r.accuracy.max_abs); }},
      {"max_relative", "", "Largest |y - y64| over the largest |y64|.",
       [](const R& r) { return known(r.accuracy.max_relative); }},
      {"integers_exact", "",
       "Whether integer data came out exactly; null where the algorithm does not promise it.",
       [](const R& r) { return known(r.accuracy.integers_exact); }},
      {"checked_outputs", "", "Outputs compared with the reference; large problems are sampled.",
       [](const R& r) -> Cell { return r.accuracy.checked_outputs; }},
      {"total_outputs", "", "Outputs that there are.",
       [](const R& r) -> Cell { return r.accuracy.total_outputs; }},
      {"gate", "", "The largest relative_l2 that passes.",
       [](const R& r) { return unless_zero(r.accuracy.gate); }},
      {"rerun", "", "The command that measures this row alone again.",
       [](const R& r) { return text(rerun_command(r)); }},
  };
  return table;
}

}  // namespace convscope

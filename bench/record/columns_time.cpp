// Columns of time: the three totals, the phases, and how the samples were taken. Milliseconds.
#include "bench/record/column_tables.hpp"

namespace convscope {
namespace {

// One statistic of a total in milliseconds; null where there is no such total.
Cell milliseconds(const Series* series, double Statistics::*value) {
  if (series == nullptr || series->statistics.n == 0) return {};
  return known(1e3 * (series->statistics.*value));
}
const Series* full(const R& r) {
  return r.time ? &r.time->full : nullptr;
}
const Series* inference(const R& r) {
  return r.time && r.time->inference ? &*r.time->inference : nullptr;
}
const Series* single(const R& r) {
  return r.time && r.time->single ? &*r.time->single : nullptr;
}
const Series* kernel(const R& r) {
  return r.time && r.time->kernel ? &*r.time->kernel : nullptr;
}

Cell phase_milliseconds(const R& r, Phase phase) {
  if (!r.time) return {};
  const auto& seconds = r.time->phase_seconds[static_cast<size_t>(phase)];
  return seconds ? known(1e3 * *seconds) : Cell{};
}

Cell measured_count(const R& r, int64_t Measurement::*value) {
  return r.time ? Cell{(*r.time).*value} : Cell{};
}

// The second series of --aa over the first.
Cell aa_ratio(const R& r) {
  if (!r.time || !r.time->repeat) return {};
  return known(r.time->repeat->statistics.median / r.time->full.statistics.median);
}

}  // namespace

std::span<const Column> time_columns() {
  static constexpr Column table[] = {
      {"full_median_ms", "ms",
       "Median time of one run, everything included: from the user's tensors to the user's tensor. The "
       "headline.",
       [](const R& r) { return milliseconds(full(r), &Statistics::median); }},
      {"full_ci_low_ms", "ms",
       "Lower end of the 95% confidence interval of that median (distribution-free); null below 6 samples.",
       [](const R& r) { return milliseconds(full(r), &Statistics::ci_low); }},
      {"full_ci_high_ms", "ms", "Upper end of that interval.",
       [](const R& r) { return milliseconds(full(r), &Statistics::ci_high); }},
      {"full_min_ms", "ms", "Shortest sample.",
       [](const R& r) { return milliseconds(full(r), &Statistics::min); }},
      {"full_q1_ms", "ms", "First quartile.",
       [](const R& r) { return milliseconds(full(r), &Statistics::q1); }},
      {"full_q3_ms", "ms", "Third quartile.",
       [](const R& r) { return milliseconds(full(r), &Statistics::q3); }},
      {"full_iqr_ms", "ms", "Interquartile range.",
       [](const R& r) { return milliseconds(full(r), &Statistics::iqr); }},
      {"full_mean_ms", "ms", "Mean.", [](const R& r) { return milliseconds(full(r), &Statistics::mean); }},
      {"full_stddev_ms", "ms", "Standard deviation.",
       [](const R& r) { return milliseconds(full(r), &Statistics::stddev); }},
      {"full_samples", "", "Samples behind the statistics of full.",
       [](const R& r) -> Cell { return r.time ? Cell{r.time->full.statistics.n} : Cell{}; }},
      {"not_held_samples", "",
       "Samples of full on a GPU that began before all of their work was enqueued, so that gaps of the host "
       "may be in their time: 0 is as it should be; null elsewhere.",
       [](const R& r) -> Cell {
         return r.time && r.time->full.not_held ? Cell{*r.time->full.not_held} : Cell{};
       }},
      {"inference_median_ms", "ms", "Median with the filters prepared once; null where it equals full.",
       [](const R& r) { return milliseconds(inference(r), &Statistics::median); }},
      {"inference_ci_low_ms", "ms", "Lower end of its 95% confidence interval.",
       [](const R& r) { return milliseconds(inference(r), &Statistics::ci_low); }},
      {"inference_ci_high_ms", "ms", "Upper end of that interval.",
       [](const R& r) { return milliseconds(inference(r), &Statistics::ci_high); }},
      {"kernel_median_ms", "ms",
       "Median without layout reorders, filters prepared: the arithmetic alone; null where it equals "
       "inference (or full).",
       [](const R& r) { return milliseconds(kernel(r), &Statistics::median); }},
      {"kernel_ci_low_ms", "ms", "Lower end of its 95% confidence interval.",
       [](const R& r) { return milliseconds(kernel(r), &Statistics::ci_low); }},
      {"kernel_ci_high_ms", "ms", "Upper end of that interval.",
       [](const R& r) { return milliseconds(kernel(r), &Statistics::ci_high); }},
      {"single_median_ms", "ms",
       "Median of one launch alone, its overhead included, where full is the mean of a batch of short runs "
       "on a "
       "GPU; null elsewhere.",
       [](const R& r) { return milliseconds(single(r), &Statistics::median); }},
      {"prepare_ms", "ms",
       "Median time inside full of preparing the filter; null where it cannot be told apart.",
       [](const R& r) { return phase_milliseconds(r, Phase::prepare); }},
      {"layout_ms", "ms", "The same of moving between the user's layout and the kernel's own.",
       [](const R& r) { return phase_milliseconds(r, Phase::layout); }},
      {"transform_ms", "ms",
       "The same of the first part of the arithmetic: im2col, or the transform of the input.",
       [](const R& r) { return phase_milliseconds(r, Phase::transform); }},
      {"product_ms", "ms", "The same of the GEMM or batched product.",
       [](const R& r) { return phase_milliseconds(r, Phase::product); }},
      {"inverse_ms", "ms", "The same of the last part: col2im, or the inverse transform.",
       [](const R& r) { return phase_milliseconds(r, Phase::inverse); }},
      {"plan_ms", "ms", "Building the plan once, outside every total.",
       [](const R& r) { return r.time ? known(1e3 * r.time->plan_seconds) : Cell{}; }},
      {"iterations_per_sample", "", "Runs that one sample is the mean of.",
       [](const R& r) { return measured_count(r, &Measurement::iterations_per_sample); }},
      {"warmup_runs", "", "Untimed runs before the first sample, those of the verification not counted.",
       [](const R& r) { return measured_count(r, &Measurement::warmup_runs); }},
      {"rounds", "", "How often the group of candidates was visited until this one had converged.",
       [](const R& r) { return measured_count(r, &Measurement::rounds); }},
      {"tensor_copies", "", "Copies of the tensors rotated through, so that each run finds them cold.",
       [](const R& r) { return measured_count(r, &Measurement::tensor_copies); }},
      {"stop_reason", "", "Why sampling ended: converged, noise_plateau, time_limit or max_samples.",
       [](const R& r) { return r.time ? text(r.time->stop_reason) : Cell{}; }},
      {"aa_ratio", "",
       "With --aa, the median of a second series of the same candidate over full_median_ms: the noise floor.",
       [](const R& r) { return aa_ratio(r); }},
      {"governor", "", "The CPU frequency governor.", [](const R& r) { return text(r.health.governor); }},
      {"load_before", "", "1-minute load average when measuring began.",
       [](const R& r) { return r.time ? known(r.health.load_before) : Cell{}; }},
      {"load_after", "", "1-minute load average when it ended.",
       [](const R& r) { return r.time ? known(r.health.load_after) : Cell{}; }},
      {"clock_mhz", "MHz", "Median processor clock over the samples, where it can be read.",
       [](const R& r) { return known(r.health.clock_mhz); }},
      {"core_share", "",
       "Median over the samples of the threads' multiply-add rate over the best one seen: about 1 where each "
       "has a core of its own, 0.5 where two share one.",
       [](const R& r) { return known(r.health.core_share); }},
      {"signal_ns", "ns",
       "Median over the samples of the time a cache line takes from one thread to the next.",
       [](const R& r) {
         return r.health.core_to_core_latency_seconds ? known(1e9 * *r.health.core_to_core_latency_seconds)
                                                      : Cell{};
       }},
      {"power_watts", "W", "Median power of a GPU over the samples, where it can be read.",
       [](const R& r) { return known(r.health.power_watts); }},
      {"temperature_celsius", "C", "Highest temperature of a GPU over the samples, where it can be read.",
       [](const R& r) { return known(r.health.temperature_celsius); }},
      {"throttle_reasons", "", "Why the driver held a GPU's clock down while it measured.",
       [](const R& r) { return text(r.health.throttle_reasons); }},
      {"involuntary_switches", "", "Context switches forced on the program while it measured.",
       [](const R& r) { return known(r.health.involuntary_switches); }},
      {"discarded_samples", "",
       "Samples thrown away, and taken again, because the clock was throttled or threads badly placed.",
       [](const R& r) { return r.time ? Cell{r.health.discarded_samples} : Cell{}; }},
      {"throttled", "",
       "Whether the samples kept are, in the median, those of a throttled clock or of badly placed threads: "
       "the row is suspect.",
       [](const R& r) { return r.time ? Cell{r.health.throttled} : Cell{}; }},
  };
  return table;
}

}  // namespace convscope

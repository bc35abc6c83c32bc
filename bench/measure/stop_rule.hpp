// When a series has enough samples, and how many to take next. Always ends: every rule but the first two is
// a hard limit.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/record/result.hpp"

namespace convscope {

// Shrinking by less than this over the last third of the samples counts as a plateau. Noise that averages out
// would narrow the interval by 1 - sqrt(2/3) = 18%.
inline constexpr double kPlateauShrink = 0.10;

// Why no more samples are needed, or nothing: "converged", "noise_plateau", "max_samples", "time_limit".
// `seconds_left` is what the series may still spend, `sample_seconds` what one sample costs. The time limit
// outranks min_samples, but for the first samples, as many as an interval needs (6), a series may take two
// limits more. Never "converged" with fewer.
std::optional<std::string> stop_reason(std::span<const double> samples, const SamplingRule& rule,
                                       double seconds_left, double sample_seconds);

// Samples of the next round: min_samples, then half as many again as there are, within the limits; at least
// 1.
int64_t next_round(int64_t samples, const SamplingRule& rule, double seconds_left, double sample_seconds);

}  // namespace convscope

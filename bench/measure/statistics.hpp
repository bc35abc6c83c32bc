// Summary of one series of samples, and when a series has enough of them. Nothing here assumes a normal
// distribution. A series always ends: max_samples and the time limit hold whatever the samples are.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/record/result.hpp"

namespace convscope {

// Median, quartiles (linear between order statistics), mean and standard deviation (n - 1). The median's
// interval is the tightest symmetric pair of order statistics that covers it with at least 95%, whatever the
// distribution; below 6 samples there is none, and its ends are NaN. All else 0 for no samples.
Statistics summarise(std::span<const double> samples);

// The place of the sample that is nearest to the median, the first of several; there is one at least.
size_t nearest_to_median(std::span<const double> samples);

// How far the interval reaches from the median, as a share of it: the larger side; infinite without one.
double relative_half_width(const Statistics& statistics);

// Why no more samples are needed, or nothing: "converged", "max_samples", "time_limit".
// `seconds_left` is what the series may still spend, `sample_seconds` what one sample costs. The time limit
// outranks min_samples, but for the first samples, as many as an interval needs (6), a series may take two
// limits more. A series that the limit ends has "converged" where its interval is within the width all the
// same; never with fewer than those 6.
std::optional<std::string> stop_reason(std::span<const double> samples, const SamplingRule& rule,
                                       double seconds_left, double sample_seconds);

// Samples of the next round: min_samples, then half as many again as there are, within the limits; never
// fewer than 1.
int64_t next_round(int64_t samples, const SamplingRule& rule, double seconds_left, double sample_seconds);

}  // namespace convscope

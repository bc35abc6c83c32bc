// Summary of one series of samples. Nothing here assumes a normal distribution.
#pragma once

#include <span>

#include "bench/record/result.hpp"

namespace convscope {

// Median, quartiles (linear between order statistics), mean and standard deviation (n - 1). The median's
// interval is the tightest symmetric pair of order statistics that covers it with at least 95%, whatever the
// distribution; below 6 samples there is none, and its ends are NaN. All else 0 for no samples.
Statistics summarise(std::span<const double> samples);

// How far the interval reaches from the median, as a share of it: the larger side; infinite without one.
double relative_half_width(const Statistics& statistics);

}  // namespace convscope

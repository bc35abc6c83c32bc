// The noise floor that `run --aa` is for: how far two series of one and the same candidate lie apart.
// Differences smaller than this say nothing.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>

#include "bench/record/result.hpp"

namespace convscope {

// |median of the second series / median of the first - 1|; null where there is no second series.
std::optional<double> difference_of_series(const ResultRecord& record);

// One line a layer and pass with the largest difference among its candidates, under a heading for all that
// was run under the same circumstances; then the largest of all.
void print_noise_floor(std::ostream& out, std::span<const ResultRecord> records);

}  // namespace convscope

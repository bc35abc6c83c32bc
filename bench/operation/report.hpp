// What a person reads of a network's operations.
#pragma once

#include <iosfwd>
#include <span>

#include "bench/operation/measure_operations.hpp"
#include "bench/report/format.hpp"

namespace convscope {

// A line for each problem, ours beside the fastest library, then what was wrong. Rows of one problem follow
// each other, ours first.
void print_operations(std::ostream& out, std::span<const OperationRow> rows, const Look& look);

}  // namespace convscope

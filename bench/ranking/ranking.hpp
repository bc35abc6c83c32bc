// Who wins, written into the records. Console, tables, figures, report and selection read it from there or
// from the same contests; none of them compares medians to find a winner.
#pragma once

#include <span>

#include "bench/record/result.hpp"

namespace convscope {

// Fills `ranking` of every record from all of them together: repeats of a candidate, as several files have
// them, must be among them. Replaces what is there.
void rank_records(std::span<ResultRecord> records);

}  // namespace convscope

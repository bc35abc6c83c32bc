// Records as comma-separated values: one line per record, one field per column of the column table.
#pragma once

#include <iosfwd>
#include <span>

#include "bench/record/result.hpp"

namespace convscope {

// A line of names, then the records in their order. Quoted as RFC 4180 says, lines end in \n, null is empty.
void write_csv(std::ostream& out, std::span<const ResultRecord> records);

}  // namespace convscope

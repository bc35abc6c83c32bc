// Records as comma-separated values: one row a record, one field a column of the column table.
#pragma once

#include <iosfwd>
#include <span>

#include "bench/record/result.hpp"

namespace convscope {

// A heading row, then the records in their order. Quoted as RFC 4180 says, lines end in \n, null is empty.
void write_csv(std::ostream& out, std::span<const ResultRecord> records);

}  // namespace convscope

// docs/results_format.md, made from the code so that it cannot drift: the columns from the column table, the
// JSON fields from what to_json() writes.
#pragma once

#include <string>

namespace convscope {

std::string results_format_markdown();

}  // namespace convscope

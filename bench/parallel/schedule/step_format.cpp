// step_format_markdown(), which step_report.hpp declares.
#include "bench/parallel/allreduce/reduction_row.hpp"
#include "bench/parallel/schedule/step_report.hpp"

namespace convscope {

std::string step_format_markdown() {
  return R"(# Format of allreduce and step rows

Made by `convscope list columns steps --markdown` from the program's own tables; a test fails when this file differs. Do
not edit it. What the figures mean, and what they may be used for, is in [step.md](step.md).

`--out DIR` leaves `allreduce.csv` or `steps.csv`, the same rows in `allreduce.json` or `steps.json` beside `argv` and
`environment`, and `journal.jsonl`, to which each row is added as soon as it is known. In CSV null is an empty field.

## Columns of allreduce.csv

)" + columns_markdown(reduction_columns()) +
         "\n## Columns of steps.csv\n\n" + columns_markdown(step_columns());
}

}  // namespace convscope

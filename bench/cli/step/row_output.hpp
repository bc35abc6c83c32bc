// What the verbs whose results are rows (operations, allreduce, step) do with them: --out's folder, --json or
// tables on the standard output, and the exit code.
#pragma once

#include <fmt/ostream.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "bench/cli/verbs.hpp"
#include "bench/parallel/network/basis.hpp"
#include "bench/record/cells.hpp"
#include "bench/record/record_json.hpp"
#include "bench/record/row_files.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/environment.hpp"

namespace convscope {

// Null where --out was left out. Throws UsageError where the folder cannot be made.
template <typename Row>
std::unique_ptr<RowFolder<Row>> row_folder(const Program& program, const std::string& out, std::string name,
                                           std::span<const ColumnOf<Row>> columns) {
  if (out.empty()) return nullptr;
  return std::make_unique<RowFolder<Row>>(
      out, std::move(name),
      RowsHead{program.argv, describe_environment(find_devices().present, program.registry)}, columns);
}

// With `json` one array; else what `print_tables` prints and, where there is a folder, its name.
template <typename Row, typename PrintTables>
void show_rows(const Program& program, bool json, const std::string& out,
               std::span<const ColumnOf<Row>> columns, std::span<const Row> rows,
               const PrintTables& print_tables) {
  if (json) {
    auto array = nlohmann::ordered_json::array();
    for (const Row& row : rows) array.push_back(row_json(columns, row));
    program.out << dump_json(array, 1) << '\n';
    return;
  }
  print_tables();
  if (!out.empty()) fmt::print(program.out, "{} rows are in {}\n", rows.size(), out);
}

// 0 where a row is good and none is wrong.
template <typename Row>
int exit_code_of(std::span<const Row> rows) {
  const auto any = [&](RowOutcome outcome) {
    return std::ranges::any_of(rows, [&](const Row& row) { return row.outcome == outcome; });
  };
  return any(RowOutcome::good) && !any(RowOutcome::wrong) ? 0 : 1;
}

}  // namespace convscope

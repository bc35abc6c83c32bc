// The files of rows in a result folder, as run writes its records: NAME.csv and NAME.json, each replaced
// whole or not at all, and journal.jsonl, in which each row is on disk before the next begins.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "bench/record/cells.hpp"
#include "bench/record/record_json.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {

// What NAME.json says besides its rows.
struct RowsHead {
  std::vector<std::string> argv;
  nlohmann::ordered_json environment;
};
inline constexpr int kRowsSchemaVersion = 1;

inline nlohmann::ordered_json to_json(const RowsHead& head) {
  return {{"schema_version", kRowsSchemaVersion}, {"argv", head.argv}, {"environment", head.environment}};
}

// A folder that gets rows of one kind. The constructor throws UsageError where the folder holds a run already
// or cannot be written.
template <typename Row>
class RowFolder {
 public:
  RowFolder(const std::string& folder, std::string name, RowsHead head,
            std::span<const ColumnOf<Row>> columns)
      : folder_(folder),
        name_(std::move(name)),
        head_(std::move(head)),
        columns_(columns),
        journal_(Journal::begin(folder, false)) {
    nlohmann::ordered_json entry = to_json(head_);
    entry["kind"] = name_;
    journal_.append(entry);
  }

  void add(const Row& row) { journal_.append({{"kind", "row"}, {"row", row_json(columns_, row)}}); }

  void finish(std::span<const Row> rows) const {
    std::ostringstream csv;
    write_csv(csv, columns_, rows);
    write_file_atomically((std::filesystem::path(folder_) / (name_ + ".csv")).string(), csv.str());
    write_file_atomically((std::filesystem::path(folder_) / (name_ + ".json")).string(),
                          lines_text(to_json(head_), "rows", rows.size(),
                                     [&](size_t i) { return row_json(columns_, rows[i]); }));
  }

 private:
  std::string folder_, name_;
  RowsHead head_;
  std::span<const ColumnOf<Row>> columns_;
  Journal journal_;
};

}  // namespace convscope

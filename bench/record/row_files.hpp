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

// One row a line, so that the file can be searched and compared with line tools.
template <typename Row>
std::string rows_text(const RowsHead& head, std::span<const ColumnOf<Row>> columns,
                      std::span<const Row> rows) {
  std::string text = "{\n";
  const nlohmann::ordered_json members = to_json(head);
  for (const auto& [key, value] : members.items()) text += " \"" + key + "\": " + dump_json(value) + ",\n";
  text += " \"rows\": [";
  const char* separator = "\n";
  for (const Row& row : rows) {
    text.append(separator).append("  ").append(dump_json(row_json(columns, row)));
    separator = ",\n";
  }
  return text + "\n ]\n}\n";
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
                          rows_text(head_, columns_, rows));
  }

 private:
  std::string folder_, name_;
  RowsHead head_;
  std::span<const ColumnOf<Row>> columns_;
  Journal journal_;
};

}  // namespace convscope

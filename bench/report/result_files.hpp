// The files of a result folder: results.json, results.csv, benchmark.json; and the journal they are made
// from. Whatever moment the program is killed at, each of the first three is the old one or the new one,
// whole, and the journal holds every entry whose append() returned.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/result.hpp"

namespace convscope {

inline constexpr int kSchemaVersion = 1;

// Everything in results.json.
struct ResultFile {
  std::vector<std::string> argv;
  nlohmann::ordered_json config;       // the suites as run, overrides applied
  nlohmann::ordered_json environment;  // machine, versions, flags, commit, start and end time
  std::vector<Ceilings> ceilings;
  std::vector<ResultRecord> records;
};

// Writes results.json and results.csv, each atomically; makes the folder. Throws UsageError with the path and
// the system's words when it cannot.
void write_results(const std::string& folder, const ResultFile& file);

// Reads a folder's results.json, or the file itself. Throws UsageError that names the file and the place when
// it is missing, is not JSON, has another schema version or a foreign shape.
ResultFile read_results(const std::string& path);

// Replaces the file by `text`: written beside it, fsynced, renamed. Throws UsageError as above.
void write_file_atomically(const std::string& path, std::string_view text);

// Append-only, one JSON object a line: {"kind": "run"|"record"|"benchmark", ...}. Every append is one write
// and an fsync.
class Journal {
 public:
  // Opens the folder's journal.jsonl to append, making both where they are missing. A last line that a kill
  // cut short is cut off, so that the next entry has a line of its own. Throws UsageError when it cannot
  // write.
  explicit Journal(const std::string& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  // Throws std::runtime_error when the disk does not take it.
  void append(const nlohmann::ordered_json& entry);

  // Every whole entry; a last line that a kill cut short is left out. Throws UsageError when there is no
  // journal.
  static std::vector<nlohmann::ordered_json> read(const std::string& folder);

 private:
  int file_ = -1;
};

}  // namespace convscope

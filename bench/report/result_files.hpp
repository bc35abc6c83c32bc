// The files of a result folder: results.json, results.csv, benchmark.json; and the journal they are made
// from.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
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

void write_results(const std::string& folder,
                   const ResultFile& file);        // results.json and results.csv, atomically
ResultFile read_results(const std::string& path);  // a folder or a results.json; throws UsageError

// Append-only, one JSON object a line: {"kind": "run"|"record"|"benchmark", ...}. Every append is flushed and
// fsynced.
class Journal {
 public:
  explicit Journal(
      const std::string& folder);  // creates folder and file; throws UsageError when it cannot write
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  void append(const nlohmann::ordered_json& entry);

  // Every whole entry; a last line that a kill cut short is left out. Throws UsageError when there is no
  // journal.
  static std::vector<nlohmann::ordered_json> read(const std::string& folder);

 private:
  int file_ = -1;
};

}  // namespace convscope

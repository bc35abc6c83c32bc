// The files of a result folder: results.json, results.csv, benchmark.json; and the journal they are made
// from. Whatever moment the program is killed at, each of the first three is the old one or the new one,
// whole, and the journal holds every entry whose append() returned.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/file_descriptor.hpp"
#include "bench/record/result.hpp"

namespace convscope {

inline constexpr int kSchemaVersion = 3;
inline constexpr int kOldestSchemaVersion = 1;    // its records lack the sampling rule
inline constexpr int64_t kMaxShards = 1'000'000;  // of one run

// Everything in results.json.
struct ResultFile {
  std::vector<std::string> argv;
  nlohmann::ordered_json config;       // the suites as run, overrides applied
  nlohmann::ordered_json environment;  // machine, versions, flags, commit, start and end time
  std::vector<Ceilings> ceilings;
  std::vector<ResultRecord> records;
  int schema_version = kSchemaVersion;  // of the file that was read; version kSchemaVersion is written
};

// Records under columns(), as write_csv() of any rows (cells.hpp) writes them.
void write_csv(std::ostream& out, std::span<const ResultRecord> records);

// Writes results.csv, benchmark.json where `benchmarks` is its text, and results.json last, each atomically:
// where a new folder has results.json, it has the others. Makes the folder. Throws as write_file_atomically.
void write_results(const std::string& folder, const ResultFile& file, const std::string& benchmarks = "");

// Reads a folder's results.json, or the file itself, plain or compressed by xz, of any schema version; what
// an old one lacks has its initial value. Throws UsageError that names the file and the place when it is
// missing, is not JSON, has an unknown schema version or a foreign shape.
ResultFile read_results(const std::string& path);
// The same of a file's bytes; `file` is for messages.
ResultFile results_from_bytes(std::string_view bytes, const std::string& file);

// Whether `bytes` begin as the .xz file format does (xz-file-format 1.2, section 2.1.1.1); the name of a file
// decides nothing. The content of such a file, its checksums verified. Throws UsageError with what is wrong:
// damaged, cut off, or larger than 1 GiB when unpacked.
bool is_xz(std::string_view bytes);
std::string unpack_xz(std::string_view bytes);
// The JSON in a file's bytes, plain or so compressed. Throws UsageError where they are neither.
nlohmann::ordered_json json_from_bytes(std::string_view bytes);

// The bytes of a file. Throws UsageError with the path and the system's words.
std::string read_file(const std::string& path);

// JSON text: the members of `head`, one per line, then the list `name` of so many entries, one per line, so
// that a file of it can be searched and compared with line tools.
std::string lines_text(const nlohmann::ordered_json& head, std::string_view name, size_t entries,
                       const std::function<nlohmann::ordered_json(size_t)>& entry);

// Replaces the file by `text`: written beside it, fsynced, renamed. What is no plain file, as a pipe or
// /dev/stdout, is written to. Throws with the path and the system's words: UsageError where no file can be
// made or that pipe or device takes no more, std::runtime_error where the disk does not take it.
void write_file_atomically(const std::string& path, std::string_view text);
// Throws where that could not begin, for what is written behind hours of work.
void check_can_be_written(const std::string& path);

// Append-only, one JSON object per line with its "kind": of a run those that bench/runner/run_log lists, of
// rows "row" and, on the first line, the table's name. Every append is one write and an fsync. While it is
// open, no other process can open it.
class Journal {
 public:
  Journal() = default;  // closed: append() throws
  // The folder's journal.jsonl, new: makes both where they are missing. One without a whole line is as good
  // as new. Throws UsageError when it holds a run, another process has it open, or it cannot be written.
  static Journal begin(const std::string& folder, bool can_be_resumed = true);
  // The journal that is there, to append to. A last line that a kill cut short is cut off, so that the next
  // entry has a line of its own. Throws UsageError when there is none, another process has it open, or it
  // cannot be written.
  static Journal resume(const std::string& folder);

  // Throws std::runtime_error when the disk does not take it; then nothing of it is left in the journal.
  void append(const nlohmann::ordered_json& entry);

  // Every whole entry; a last line that a kill cut short is left out. Throws UsageError when there is no
  // journal.
  static std::vector<nlohmann::ordered_json> read(const std::string& folder);
  // The same of a journal's text; `path` is for messages.
  static std::vector<nlohmann::ordered_json> entries_of(std::string_view text, const std::string& path);

 private:
  Journal(const std::string& folder, int flags);
  size_t cut_off_unfinished_line();  // returns the bytes that are left

  std::string path_;
  FileDescriptor file_;
};

}  // namespace convscope

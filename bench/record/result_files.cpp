#include "bench/record/result_files.hpp"

#include <fcntl.h>
#include <lzma.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "bench/core/error.hpp"
#include "bench/record/columns.hpp"
#include "bench/record/record_json.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kNoRunButRows =
    "it holds no run but rows, of a step, operations or allreduce; scripts/convscope-report reads those";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UsageError(path + ": " + what);
}
[[noreturn]] void fail_with_errno(const std::string& path, const std::string& what) {
  fail(path, what + ": " + std::generic_category().message(errno));
}

// What the user cannot have foreseen: a full or broken disk.
[[noreturn]] void fail_late(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what + ": " + std::generic_category().message(errno));
}

FileDescriptor open_file(const std::string& path, int flags) {
  return FileDescriptor(open(path.c_str(), flags | O_CLOEXEC, 0644));
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, "cannot create this folder: " + error.message());
}

// A rename or a new file is safe only once its folder is on disk too. Some file systems refuse this; then the
// content is on disk and only its name may be lost with the power.
void sync_folder(const fs::path& folder) {
  const FileDescriptor opened = open_file(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
  if (opened.is_open()) fsync(opened.get());
}

std::string journal_path(const std::string& folder) {
  return (fs::path(folder) / "journal.jsonl").string();
}

std::string results_text(const ResultFile& file) {
  Json ceilings = Json::array();
  for (const Ceilings& measured : file.ceilings) ceilings.push_back(to_json(measured));
  const Json head{{"schema_version", kSchemaVersion},
                  {"argv", file.argv},
                  {"config", file.config},
                  {"environment", file.environment},
                  {"ceilings", ceilings}};
  return lines_text(head, "records", file.records.size(), [&](size_t i) { return to_json(file.records[i]); });
}

const Json& member(const Json& json, const char* key, Json::value_t type, const char* expected) {
  const auto found = json.find(key);
  if (found == json.end() || found->type() != type)
    throw UsageError(std::string("/") + key + ": expected " + expected);
  return *found;
}

int read_version(const Json& json) {
  if (!json.is_object())
    throw UsageError("expected an object with schema_version, found another kind of JSON");
  const auto version = json.find("schema_version");
  if (version == json.end()) throw UsageError("no schema_version: this is not a convscope result file");
  if (!version->is_number_integer() || *version < kOldestSchemaVersion || *version > kSchemaVersion)
    throw UsageError("/schema_version is " + dump_json(*version) + "; this program reads versions " +
                     std::to_string(kOldestSchemaVersion) + " to " + std::to_string(kSchemaVersion));
  return version->get<int>();
}

// Puts the list's pointer before the message of whatever is wrong in one entry.
template <typename T, typename Convert>
void read_list(const Json& json, const char* key, std::vector<T>& list, const Convert& convert) {
  for (const Json& entry : member(json, key, Json::value_t::array, "a list")) try {
      list.push_back(convert(entry));
    } catch (const UsageError& error) {
      throw UsageError(std::string("/") + key + "/" + std::to_string(list.size()) + ": " + error.what());
    }
}

constexpr size_t kLargestContent = size_t{1} << 30;
// `xz -9` needs 65 MiB to unpack; a damaged header may ask for 4 GiB.
constexpr uint64_t kMaxMemory = uint64_t{256} << 20;

const char* xz_fault(lzma_ret code) {
  switch (code) {
    case LZMA_MEMLIMIT_ERROR:
      return "unpacking it needs more than 256 MiB of memory: this is no run";
    case LZMA_BUF_ERROR:
      return "the compressed file is cut off; copy it again";
    case LZMA_OPTIONS_ERROR:
    case LZMA_FORMAT_ERROR:
      return "the compressed file has a form that this program's liblzma does not read";
    default:
      return "the compressed file is damaged; copy it again";
  }
}

// A member that readers of an environment use, where it is there.
const Json* optional_member(const Json& object, const char* key, const std::string& place,
                            bool (Json::*is_kind)() const noexcept, const char* expected) {
  const auto found = object.find(key);
  if (found == object.end()) return nullptr;
  if (!((*found).*is_kind)()) throw UsageError(place + "/" + key + ": expected " + expected);
  return &*found;
}

// The parts that merging looks at: whether the run is complete, its shard, and those of what was merged.
void check_environment(const Json& environment, const std::string& place) {
  if (environment.is_null()) return;
  if (!environment.is_object()) throw UsageError(place + ": expected an object");
  optional_member(environment, "complete", place, &Json::is_boolean, "true or false");
  if (const Json* shard = optional_member(environment, "shard", place, &Json::is_object, "an object")) {
    const auto part = [&](const char* key) {
      const auto found = shard->find(key);
      const bool fits =
          found != shard->end() && found->is_number_integer() && *found >= 1 && *found <= kMaxShards;
      if (!fits)
        throw UsageError(place + "/shard/" + key + ": expected a whole number from 1 to " +
                         std::to_string(kMaxShards));
      return found->get<int64_t>();
    };
    if (part("index") > part("count")) throw UsageError(place + "/shard/index: expected at most the count");
  }
  const Json* sources = optional_member(environment, "merged_from", place, &Json::is_array, "a list");
  for (size_t i = 0; sources != nullptr && i < sources->size(); ++i) {
    const std::string source_place = place + "/merged_from/" + std::to_string(i);
    const Json& source = (*sources)[i];
    if (!source.is_object()) throw UsageError(source_place + ": expected an object");
    optional_member(source, "folder", source_place, &Json::is_string, "text");
    if (const auto inner = source.find("environment"); inner != source.end())
      check_environment(*inner, source_place + "/environment");
  }
}

ResultFile result_file_from_json(const Json& json) {
  ResultFile file;
  file.schema_version = read_version(json);
  if (json.contains("rows") && !json.contains("records")) throw UsageError(kNoRunButRows);
  read_list(json, "argv", file.argv, [](const Json& word) {
    if (!word.is_string()) throw UsageError("expected text");
    return word.get<std::string>();
  });
  if (json.contains("config")) file.config = json["config"];
  if (json.contains("environment")) file.environment = json["environment"];
  check_environment(file.environment, "/environment");
  read_list(json, "ceilings", file.ceilings, part_from_json<Ceilings>);
  read_list(json, "records", file.records, [&](const Json& record) {
    if (file.schema_version > 1 && record.is_object() && !record.contains("sampling"))
      throw UsageError("result record, at /sampling: missing");
    return record_from_json(record);
  });
  return file;
}

}  // namespace

void write_csv(std::ostream& out, std::span<const ResultRecord> records) {
  write_csv(out, columns(), records);
}

bool is_xz(std::string_view bytes) {
  constexpr std::string_view kMagic(
      "\xfd"
      "7zXZ\0",
      6);
  return bytes.starts_with(kMagic);
}

std::string unpack_xz(std::string_view bytes) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxMemory, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> end(&stream, lzma_end);
  stream.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  std::string content;
  std::array<uint8_t, 1 << 16> part;
  for (lzma_ret code = LZMA_OK; code != LZMA_STREAM_END;) {
    stream.next_out = part.data();
    stream.avail_out = part.size();
    code = lzma_code(&stream, LZMA_FINISH);
    if (code == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (code != LZMA_OK && code != LZMA_STREAM_END) throw UsageError(xz_fault(code));
    content.append(reinterpret_cast<const char*>(part.data()), part.size() - stream.avail_out);
    if (content.size() > kLargestContent)
      throw UsageError("unpacked it is larger than 1 GiB: this is no run");
  }
  return content;
}

Json json_from_bytes(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b"))  // RFC 1952, section 2.3.1
    throw UsageError(
        "it is compressed by gzip, where only xz is read: unpack it with gunzip; xz -T0 compresses it again");
  return parse_json_text(is_xz(bytes) ? unpack_xz(bytes) : bytes);
}

std::string read_file(const std::string& path) {
  constexpr size_t chunk = size_t{1} << 20;
  const FileDescriptor file = open_file(path, O_RDONLY);
  std::string text;
  for (size_t size = 0;;) {
    text.resize(size + chunk);
    const ssize_t got = file.is_open() ? read(file.get(), text.data() + size, chunk) : -1;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno(path, "cannot read this file");
    text.resize(size += static_cast<size_t>(got));
    if (got == 0) return text;
  }
}

namespace {

// A pipe, a device or a terminal, such as /dev/stdout: it is written to and never replaced.
bool is_no_plain_file(const std::string& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// Not so where that cannot be said, as of a name that is too long: opening it says why.
bool is_missing(const std::string& path) {
  std::error_code unknown;
  return fs::status(path, unknown).type() == fs::file_type::not_found;
}

// Throws UsageError with what is meant by a path without results, where that can be said.
void fail_with_what_is_meant(const std::string& path) {
  std::error_code unknown;
  const auto has = [&](const char* name) { return fs::is_regular_file(fs::path(path) / name, unknown); };
  for (const char* rows : {"tasks.json", "steps.json", "operations.json", "allreduce.json"})
    if (has(rows)) fail(path, kNoRunButRows);
  // That of step, operations and allreduce begins otherwise, and cannot be gone on with.
  constexpr std::string_view run = "{\"kind\":\"run\"";
  if (has("journal.jsonl") && read_file((fs::path(path) / "journal.jsonl").string()).starts_with(run))
    fail(path, "the run was interrupted before it wrote results.json; --resume " + path + " finishes it");
  const std::string kept = path + ".json.xz";
  if (fs::is_regular_file(kept, unknown)) fail(path, "there is no such file; did you mean " + kept + "?");
}

}  // namespace

std::string lines_text(const Json& head, std::string_view name, size_t entries,
                       const std::function<Json(size_t)>& entry) {
  std::string text = "{\n";
  for (const auto& [key, value] : head.items()) text += " \"" + key + "\": " + dump_json(value) + ",\n";
  text.append(" \"").append(name).append("\": [");
  for (size_t i = 0; i < entries; ++i)
    text.append(i == 0 ? "\n" : ",\n").append("  ").append(dump_json(entry(i)));
  return text + "\n ]\n}\n";
}

void check_can_be_written(const std::string& path) {
  if (is_no_plain_file(path)) return;
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) throw UsageError(path + ": it is a folder; name a file");
  const std::string temporary = path + ".writing";
  if (!open_file(temporary, O_WRONLY | O_CREAT).is_open()) fail_with_errno(path, "cannot create this file");
  unlink(temporary.c_str());
}

void write_file_atomically(const std::string& path, std::string_view text) {
  if (is_no_plain_file(path)) {
    const FileDescriptor file = open_file(path, O_WRONLY);
    if (!file.is_open() || !write_all(file.get(), text)) fail_with_errno(path, "cannot write this file");
    return;
  }
  const std::string temporary = path + ".writing";
  {
    const FileDescriptor file = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.is_open()) fail_with_errno(path, "cannot create this file");
    if (!write_all(file.get(), text) || fsync(file.get()) != 0) {
      const int error = errno;
      unlink(temporary.c_str());  // it takes the room that going on needs
      errno = error;
      fail_late(temporary, "cannot write this file");
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    fail_late(path, "cannot put the finished file in place");
  sync_folder(fs::path(path).parent_path());
}

void write_results(const std::string& folder, const ResultFile& file, const std::string& benchmarks) {
  make_folder(folder);
  const auto write = [&](const char* name, const std::string& text) {
    write_file_atomically((fs::path(folder) / name).string(), text);
  };
  std::ostringstream csv;
  write_csv(csv, file.records);
  write("results.csv", csv.str());
  if (!benchmarks.empty()) write("benchmark.json", benchmarks);
  write("results.json", results_text(file));
}

ResultFile read_results(const std::string& path) {
  std::error_code unknown;  // then it is tried as a file, and that says what is wrong
  const std::string file =
      fs::is_directory(path, unknown) ? (fs::path(path) / "results.json").string() : path;
  if (is_missing(file)) fail_with_what_is_meant(path);
  return results_from_bytes(read_file(file), file);
}

ResultFile results_from_bytes(std::string_view bytes, const std::string& file) try {
  return result_file_from_json(json_from_bytes(bytes));
} catch (const UsageError& error) {
  fail(file, error.what());
}

Journal Journal::begin(const std::string& folder, bool can_be_resumed) {
  make_folder(folder);
  Journal journal(folder, O_CREAT);
  if (journal.cut_off_unfinished_line() > 0)
    fail(folder, "holds a run already (journal.jsonl); choose another --out" +
                     (can_be_resumed ? ", or finish that run with --resume " + folder : ""));
  sync_folder(folder);
  return journal;
}

Journal Journal::resume(const std::string& folder) {
  if (is_missing(folder)) fail(folder, "there is no such folder");
  if (is_missing(journal_path(folder)))
    fail(folder, "it has no journal.jsonl, so there is no run to go on with (a merged folder has none)");
  Journal journal(folder, 0);
  journal.cut_off_unfinished_line();
  return journal;
}

Journal::Journal(const std::string& folder, int flags)
    : path_(journal_path(folder)), file_(open_file(path_, O_RDWR | O_APPEND | flags)) {
  if (!file_.is_open()) fail_with_errno(path_, "cannot write to this file");
  // Where the file system knows no locks, two writers go unnoticed.
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail(path_, "is being written by another process");
}

size_t Journal::cut_off_unfinished_line() {
  const std::string text = read_file(path_);
  const size_t last_break = text.rfind('\n');
  const size_t whole = last_break == std::string::npos ? 0 : last_break + 1;
  if (whole < text.size() && ftruncate(file_.get(), static_cast<off_t>(whole)) != 0)
    fail_with_errno(path_, "cannot cut off its unfinished last line");
  return whole;
}

void Journal::append(const Json& entry) {
  const off_t end = lseek(file_.get(), 0, SEEK_END);
  if (write_all(file_.get(), dump_json(entry) + "\n") && fsync(file_.get()) == 0) return;
  const int error = errno;
  // The beginning of the entry would stand before the next one, on its line.
  [[maybe_unused]] const int cut = ftruncate(file_.get(), end);
  errno = error;
  fail_late(path_, "cannot write to the journal");
}

std::vector<Json> Journal::read(const std::string& folder) {
  const std::string path = journal_path(folder);
  return entries_of(read_file(path), path);
}

std::vector<Json> Journal::entries_of(std::string_view text, const std::string& path) {
  std::vector<Json> entries;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string place = path + ":" + std::to_string(entries.size() + 1);
    try {
      entries.push_back(parse_json_text(text.substr(begin, end - begin)));
    } catch (const UsageError& error) {
      fail(place, std::string("this line is not a JSON object: ") + error.what());
    }
    if (!entries.back().is_object()) fail(place, "this line is not a JSON object");
  }
  return entries;
}

}  // namespace convscope

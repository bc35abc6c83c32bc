#include "bench/cli/fuzz/readers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cli/read/policies.hpp"
#include "bench/cli/run/npy.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/core/problem.hpp"
#include "bench/parallel/schedule/kept_operations.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/record/file_descriptor.hpp"
#include "bench/record/record_json.hpp"
#include "bench/record/result_files.hpp"
#include "bench/report/console.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/config_value.hpp"
#include "bench/runner/run_log.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

// Nowhere is a file of this name: it is for messages.
const std::string kFile = "fuzzed";

void expect(bool good, const char* what) {
  if (!good) throw std::logic_error(what);
}

void read_problem(std::string_view bytes) {
  const ConvProblem problem = parse_problem(bytes);
  expect(parse_problem(to_line(problem)) == problem, "a problem's line is read as another problem");
  expect(problem.total_bytes() > 0 && problem.nominal_flops() > 0, "a problem's sizes overflow");
  parse_benchdnn(to_benchdnn(problem));
}

void read_benchdnn(std::string_view bytes) {
  const ConvProblem problem = parse_benchdnn(bytes);
  expect(parse_benchdnn(to_benchdnn(problem)) == problem, "a descriptor is read as another problem");
}

void read_config(std::string_view bytes) {
  const Suite suite = suite_from_json(parse_json(bytes, kFile), kFile);
  const std::string text = dump_json(to_json(suite));
  expect(dump_json(to_json(suite_from_json(parse_json(text, kFile), kFile))) == text,
         "a config is read as another config");
}

void read_policy(std::string_view bytes) {
  policy_from_json(parse_json(bytes, kFile), kFile);
}

void read_results_file(std::string_view bytes) {
  const ResultFile file = results_from_bytes(bytes, kFile);
  for (const ResultRecord& record : file.records) {
    const nlohmann::ordered_json json = to_json(record);
    expect(to_json(record_from_json(json)) == json, "a record is read as another record");
  }
}

// read_operations() takes a path: the bytes are put into a file in memory.
void read_operations_file(std::string_view bytes) {
  const FileDescriptor file(memfd_create(kFile.c_str(), MFD_CLOEXEC));
  expect(file.is_open() && write_all(file.get(), bytes), "no memory for a file");
  read_operations(std::vector{fmt::format("/proc/self/fd/{}", file.get())});
}

// What `run --record` writes of results.
void read_answers(std::string_view bytes) {
  const ResultFile file = results_from_bytes(bytes, kFile);
  parse_json_text(dump_json(recorded_answers(file.records)));
}

// All that is printed of results that were read.
void print_results_file(std::string_view bytes) {
  ResultFile file = results_from_bytes(bytes, kFile);
  rank_records(file.records);
  std::ostream nowhere(nullptr);
  write_csv(nowhere, file.records);
  print_group(nowhere, file.records, {});
  print_roll_up(nowhere, file.records, {});
  print_verdict(nowhere, file.records, {});
  const Selection selection = select(file.records, default_choosers());
  print_selection(nowhere, selection, false);
  print_predictions(nowhere, selection, false);
  dump_json(to_json(selection));
  Policy policy;
  policy.name = policy.framework = "fuzzed";
  for (Pass pass : kPasses) policy.algorithms[pass] = {"direct*", "*"};
  const std::vector<Contest> all = contests(file.records);
  const std::vector<Policy> policies{policy};
  const std::vector<PolicyScope> scopes = apply(policies, all, first_layers(file.config));
  print_policies(nowhere, scopes, false);
  dump_json(to_json(scopes));
}

void read_journal(std::string_view bytes) {
  const RunLog log("fuzzed", Journal::entries_of(bytes, kFile));
  log.tasks_left();
  log.results();
}

void read_report(std::string_view bytes) {
  const nlohmann::ordered_json report = parse_json_text(bytes);
  check_report(report);
  join_benchmarks({{"one", report}, {"one", report}, {"two", report}});
}

void read_npy_file(std::string_view bytes) {
  const NpyArray array = npy_from_bytes(bytes, kFile);
  size_t elements = 1;
  for (int64_t size : array.shape) elements *= static_cast<size_t>(size);
  expect(array.values.size() == elements, "an array has more or fewer values than its shape says");
}

void read_xz(std::string_view bytes) {
  if (is_xz(bytes)) unpack_xz(bytes);
}

// A word of the command line per line.
void read_command(std::string_view bytes) {
  std::vector<std::string> words{"convscope"};
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    words.emplace_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  parse_command(words);
}

constexpr FuzzedReader kReaders[] = {
    {"problem", read_problem},  {"benchdnn", read_benchdnn},    {"config", read_config},
    {"policy", read_policy},    {"results", read_results_file}, {"operations", read_operations_file},
    {"answers", read_answers},  {"tables", print_results_file}, {"journal", read_journal},
    {"benchmark", read_report}, {"npy", read_npy_file},         {"xz", read_xz},
    {"command", read_command},
};

}  // namespace

std::span<const FuzzedReader> fuzzed_readers() {
  return kReaders;
}

}  // namespace convscope

// The verbs that read results and measure nothing: `csv`, their records as results.csv has them; `show`, the
// tables once more; `select`, what a library's own choice cost and how much workspace is enough (the figures
// are bench/select's); `merge`, several runs as one (bench/runner/merge).
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "bench/cli/run/run.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/core/counted.hpp"
#include "bench/core/error.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/console.hpp"
#include "bench/runner/algorithm_patterns.hpp"
#include "bench/runner/merge.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

struct CsvOptions {
  std::vector<std::string> results;
};

int print_csv(const CsvOptions& options, const Program& program) {
  write_csv(program.out, read_all_results(options.results).records);
  return 0;
}

void add_flags(CLI::App& verb, CsvOptions& options) {
  add_results(verb, options.results);
  verb.footer(
      "Runs nothing. docs/results_format.md explains every column.\n\n"
      "Examples:\n"
      "  convscope csv out/alexnet\n"
      "  convscope csv results/amd-zen4-2-cores/alexnet.json.xz > alexnet.csv");
}

struct ShowOptions {
  std::vector<std::string> results;
  std::vector<std::string> layers;  // patterns; empty: all
  std::vector<std::string> passes;  // empty: all
  bool failed = false;              // --failed: failures instead of tables
};

bool is_wanted(const ResultRecord& record, const ShowOptions& options) {
  const auto& passes = options.passes;
  const auto matches = [&](const std::string& layer) { return matches_glob(layer, record.key.layer); };
  return (options.layers.empty() || std::ranges::any_of(options.layers, matches)) &&
         (passes.empty() ||
          std::find(passes.begin(), passes.end(), name(record.key.problem.pass)) != passes.end());
}

int print_results(const ShowOptions& options, const Program& program) {
  ResultFile file = read_all_results(options.results);
  std::vector<std::string> there;
  for (const ResultRecord& record : file.records)
    if (std::ranges::find(there, record.key.layer) == there.end()) there.push_back(record.key.layer);
  if (there.empty())
    throw UsageError("show: the results hold no records: the run was interrupted before its first");
  std::erase_if(file.records, [&](const ResultRecord& record) { return !is_wanted(record, options); });
  if (file.records.empty())
    throw UsageError(
        fmt::format("show: the results have no record of {} in the passes asked for; there are {}",
                    options.layers.empty() ? "any layer" : comma_list(options.layers), comma_list(there)));
  if (options.failed) {
    if (print_failures(program.out, file.records, true) == 0)
      fmt::print(program.out, "none of {} records is wrong or failed\n", file.records.size());
    return 0;
  }
  print_group(program.out, file.records, program.terminal.look());
  print_roll_up(program.out, file.records, program.terminal.look());
  return 0;
}

void add_flags(CLI::App& verb, ShowOptions& options) {
  add_results(verb, options.results);
  verb.add_option("--layer", options.layers, "Only layers whose names match one of these patterns.")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb.add_option("--pass", options.passes, "Only these passes.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(all_names(kPasses)))
      ->type_name("PASS,...");
  verb.add_flag(
      "--failed", options.failed,
      "Instead of the tables: what is wrong or failed and why, and the command that runs it again.");
  verb.footer(
      "Runs nothing. Several RESULTS are repeats of each other.\n\n"
      "Examples:\n"
      "  convscope show out/alexnet\n"
      "  convscope show out/alexnet --failed\n"
      "  convscope show results/amd-zen4-2-cores/alexnet.json.xz --layer 'conv3' --pass forward");
}

struct SelectOptions {
  std::vector<std::string> results;   // files or folders; several are repeats of each other
  std::vector<std::string> choosers;  // --chooser: ids or stems; empty: the libraries' own choices
  bool json = false;
};

int print_selection(const SelectOptions& options, const Program& program) {
  const ResultFile file = read_all_results(options.results);
  for (const std::string& chooser : options.choosers) check_recorded("--chooser", chooser, file.records);
  const Selection selection =
      select(file.records, options.choosers.empty() ? default_choosers() : options.choosers);
  if (options.json)
    program.out << dump_json(to_json(selection), 1) << '\n';
  else
    print_selection(program.out, selection, program.terminal.look());
  return 0;
}

void add_flags(CLI::App& verb, SelectOptions& options) {
  add_results(verb, options.results);
  verb.add_option(
          "--chooser", options.choosers,
          "Ids of the records that are a library's own choice, with or without their device; when left out " +
              comma_list(default_choosers()) + ".")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ID,...");
  add_json(verb, options.json);
  verb.footer(
      "Runs nothing. Several RESULTS are repeats of each other: a candidate's middle time counts, and the "
      "table says\nhow often a choice was the same. docs/selection.md explains every figure.\n\n"
      "Examples:\n"
      "  convscope select out/alexnet\n"
      "  convscope run configs/alexnet.json --workspace-cap 0,8MiB,32MiB,64MiB,128MiB,256MiB,inf --out "
      "out/caps\n"
      "  convscope select out/caps --json");
}

struct MergeOptions {
  std::vector<std::string> folders;
  std::string out;
};

int merge(const MergeOptions& options, const Program& program) {
  const std::filesystem::path out(options.out);
  std::error_code unknown;  // what is wrong with the folder, writing to it will say
  if (std::filesystem::exists(out / "results.json", unknown))
    throw UsageError(options.out + " holds results already; choose another --out");
  Merged merged = merge_results(options.folders);
  const std::string benchmarks = merge_benchmarks(options.folders);
  merged.file.argv = program.argv;
  write_results(options.out, merged.file, benchmarks);
  for (const std::string& remark : merged.remarks) fmt::print(program.errors, "convscope: {}\n", remark);
  fmt::print(program.out, "{} of {} are in {}\n", counted(merged.file.records.size(), "record"),
             counted(options.folders.size(), "folder"), options.out);
  return 0;
}

void add_flags(CLI::App& verb, MergeOptions& options) {
  verb.add_option("DIR", options.folders, "Result folders")->type_name("DIR")->required();
  add_out(verb, options.out, "Folder for the joined results")->required();
  verb.footer(
      "Records of different machines stay apart by device_name, machine_class and machine_unit. A\n"
      "candidate that two folders have must have the same record in both. Exit codes: 0 joined; 2 bad\n"
      "usage or folders that contradict each other.\n\n"
      "Example:\n  convscope merge out/part1 out/part2 --out out/all");
}

}  // namespace

Verb csv_verb() {
  return make_verb<CsvOptions>("csv", "Print the records of results as results.csv has them.", add_flags,
                               print_csv);
}

Verb show_verb() {
  return make_verb<ShowOptions>("show", "Print the tables of results once more.", add_flags, print_results);
}

Verb select_verb() {
  return make_verb<SelectOptions>(
      "select",
      "What a library's own choice of algorithm costs against the best, and how much workspace is enough.",
      add_flags, print_selection);
}

Verb merge_verb() {
  return make_verb<MergeOptions>(
      "merge", "Join the result folders of several runs, such as shards, into one.", add_flags, merge);
}

}  // namespace convscope

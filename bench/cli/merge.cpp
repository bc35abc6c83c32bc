// The verb `merge`. How results are joined is bench/runner/merge.
#include "bench/runner/merge.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <system_error>

#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"

namespace convscope {
namespace {

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
  write_results(options.out, merged.file);
  write_file_atomically((out / "benchmark.json").string(), benchmarks);
  for (const std::string& remark : merged.remarks) fmt::print(program.errors, "convscope: {}\n", remark);
  fmt::print(program.out, "{} rows of {} folders are in {}\n", merged.file.records.size(),
             options.folders.size(), options.out);
  return 0;
}

void add_flags(CLI::App& verb, MergeOptions& options) {
  verb.add_option("DIR", options.folders, "Result folders")->type_name("DIR")->required();
  verb.add_option("--out", options.out, "Folder for the joined results")->type_name("DIR")->required();
  verb.footer(
      "Rows of different devices stay apart by device_name. A candidate that two folders have must have the "
      "same\n"
      "row in both. Exit codes: 0 joined; 2 bad usage or folders that contradict each other.\n\n"
      "Example:\n  convscope merge out/part1 out/part2 --out out/all");
}

}  // namespace

Verb merge_verb() {
  return make_verb<MergeOptions>(
      "merge", "Join the result folders of several runs, such as shards, into one.", add_flags, merge);
}

}  // namespace convscope

// The verb `show`: the tables of a run once more, from its results, as `run` printed them.
#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "bench/cli/flags.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/report/console.hpp"

namespace convscope {
namespace {

struct ShowOptions {
  std::vector<std::string> results;
  std::string layer = "*";
  std::vector<std::string> passes;  // empty: all
};

bool is_wanted(const ResultRecord& record, const ShowOptions& options) {
  const auto& passes = options.passes;
  return matches_glob(options.layer, record.key.layer) &&
         (passes.empty() ||
          std::find(passes.begin(), passes.end(), name(record.key.problem.pass)) != passes.end());
}

int print_results(const ShowOptions& options, const Program& program) {
  ResultFile file = read_all_results(options.results);
  std::erase_if(file.records, [&](const ResultRecord& record) { return !is_wanted(record, options); });
  if (file.records.empty())
    throw UsageError("show: the results have no record of layer \"" + options.layer +
                     "\" in the passes asked for");
  print_group(program.out, file.records, {program.terminal.colour});
  print_roll_up(program.out, file.records, {program.terminal.colour});
  if (!program.out.flush())
    throw std::runtime_error("show: standard output took no more: disk full or closed");
  return 0;
}

void add_flags(CLI::App& verb, ShowOptions& options) {
  add_results(verb, options.results);
  verb.add_option("--layer", options.layer, "Only layers whose name matches.")->type_name("GLOB");
  verb.add_option("--pass", options.passes, "Only these passes.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"forward", "backward_data", "backward_filter"}))
      ->type_name("PASS,...");
  verb.footer(
      "Runs nothing. Several RESULTS are repeats of each other.\n\n"
      "Examples:\n"
      "  convscope show out/alexnet\n"
      "  convscope show results/amd-zen4-2-cores/alexnet.json.xz --layer 'conv3' --pass forward");
}

}  // namespace

Verb show_verb() {
  return make_verb<ShowOptions>("show", "Print the tables of results once more.", add_flags, print_results);
}

}  // namespace convscope

// The verb `select`: what a library's own choice cost against the oracle, and how much workspace is enough,
// from results. Measures nothing; the figures are bench/select's.
#include <ostream>

#include "bench/cli/flags.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/record/record_json.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

struct SelectOptions {
  std::vector<std::string> results;   // files or folders; several are repeats of each other
  std::vector<std::string> choosers;  // --chooser: ids or stems; empty: the libraries' own choices
  bool json = false;
};

int print_selection(const SelectOptions& options, const Program& program) {
  const ResultFile file = read_all_results(options.results);
  const Selection selection =
      select(file.records, options.choosers.empty() ? default_choosers() : options.choosers);
  if (options.json)
    program.out << dump_json(to_json(selection), 1) << '\n';
  else
    print_selection(program.out, selection, {program.terminal.colour});
  return 0;
}

void add_flags(CLI::App& verb, SelectOptions& options) {
  add_results(verb, options.results);
  verb.add_option("--chooser", options.choosers,
                  "Ids of the rows that are a library's own choice, with or without their device; when left "
                  "out cudnn.get, cudnn.find, cudnn.heur_a, cudnn.heur_b, cudnn.heur_fallback, "
                  "cudnn.autotune and onednn.auto.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ID,...");
  add_json(verb, options.json);
  verb.footer(
      "Runs nothing. Several RESULTS are repeats of each other: a candidate's middle time counts, and the "
      "table "
      "says\nhow often a choice was the same. docs/selection.md explains every figure.\n\n"
      "Examples:\n"
      "  convscope select out/alexnet\n"
      "  convscope run configs/alexnet.json --workspace-cap 0,8MiB,32MiB,64MiB,128MiB,256MiB,inf --out "
      "out/caps\n"
      "  convscope select out/caps --json");
}

}  // namespace

Verb select_verb() {
  return make_verb<SelectOptions>(
      "select",
      "What a library's own choice of algorithm costs against the best, and how much workspace is enough.",
      add_flags, print_selection);
}

}  // namespace convscope

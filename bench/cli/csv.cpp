// The verb `csv`: the records of results as results.csv has them, whatever program wrote them.
#include "bench/record/csv.hpp"

#include <ostream>
#include <stdexcept>

#include "bench/cli/flags.hpp"
#include "bench/cli/verbs.hpp"

namespace convscope {
namespace {

struct CsvOptions {
  std::vector<std::string> results;
};

int print_csv(const CsvOptions& options, const Program& program) {
  write_csv(program.out, read_all_results(options.results).records);
  if (!program.out.flush())
    throw std::runtime_error("csv: standard output took no more: disk full or closed");
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

}  // namespace

Verb csv_verb() {
  return make_verb<CsvOptions>("csv", "Print the rows of results as results.csv has them.", add_flags,
                               print_csv);
}

}  // namespace convscope

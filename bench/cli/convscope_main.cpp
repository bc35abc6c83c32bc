#include "bench/cli/convscope_main.hpp"

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "bench/cli/merge.hpp"
#include "bench/cli/options.hpp"
#include "bench/cli/run.hpp"
#include "bench/core/error.hpp"
#include "bench/record/csv.hpp"
#include "bench/runner/worker.hpp"

namespace convscope {
namespace {

struct Runner {
  const std::vector<std::string>& argv;
  const Registry& registry;
  const DeviceMaker& maker;

  int operator()(const Notice& notice) const {
    std::cout << notice.text;
    return 0;
  }
  int operator()(const RunOptions& options) const { return run(options, argv, registry); }
  int operator()(const ListOptions& options) const {
    list(std::cout, options, registry);
    return 0;
  }
  int operator()(const InfoOptions& options) const {
    info(std::cout, options, registry);
    return 0;
  }
  int operator()(const ExplainOptions& options) const {
    explain(std::cout, options, registry);
    return 0;
  }
  int operator()(const ExecOptions& options) const { return exec(options, registry, std::cerr); }
  int operator()(const MergeOptions& options) const { return merge(options, argv); }
  int operator()(const CsvOptions& options) const {
    write_csv(std::cout, read_all_results(options.results).records);
    if (!std::cout.flush())
      throw std::runtime_error("csv: standard output took no more: disk full or closed");
    return 0;
  }
  int operator()(const SelectOptions& options) const {
    select_results(std::cout, options);
    return 0;
  }
  int operator()(const PoliciesOptions& options) const {
    print_policy_times(std::cout, options);
    return 0;
  }
  int operator()(const ChooseOptions& options) const {
    choose(std::cout, options, registry);
    return 0;
  }
  int operator()(const WorkerOptions& options) const { return worker_main(registry, options.parent, maker); }
};

}  // namespace

int convscope_main(int argc, char** argv, const Registry& registry, const DeviceMaker& maker) {
  const std::vector<std::string> words(argv, argv + argc);
  try {
    return std::visit(Runner{words, registry, maker}, parse_command(words));
  } catch (const UsageError& error) {
    std::cerr << "convscope: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "convscope: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace convscope

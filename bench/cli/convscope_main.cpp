#include "bench/cli/convscope_main.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "bench/cli/merge.hpp"
#include "bench/cli/options.hpp"
#include "bench/cli/run.hpp"
#include "bench/core/error.hpp"
#include "bench/runner/worker.hpp"

namespace convscope {
namespace {

struct Runner {
  const std::vector<std::string>& argv;
  const Registry& registry;

  int operator()(const Notice& notice) const {
    fmt::print("{}", notice.text);
    return 0;
  }
  int operator()(const RunOptions& options) const { return run(options, argv, registry); }
  int operator()(const MergeOptions& options) const { return merge(options, argv); }
  int operator()(const WorkerOptions& options) const { return worker_main(registry, options.parent); }
};

}  // namespace

int convscope_main(int argc, char** argv, const Registry& registry) {
  const std::vector<std::string> words(argv, argv + argc);
  try {
    return std::visit(Runner{words, registry}, parse_command(words));
  } catch (const UsageError& error) {
    fmt::print(stderr, "convscope: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "convscope: {}\n", error.what());
    return 1;
  }
}

}  // namespace convscope

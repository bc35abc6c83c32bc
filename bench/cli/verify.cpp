// The verb `verify`: a run that measures nothing (run.hpp).
#include <fmt/format.h>

#include "bench/cli/flags.hpp"
#include "bench/cli/run.hpp"

namespace convscope {
void add_verify_flags(CLI::App& verb, RunOptions& options) {
  options.measure = false;
  add_configs(verb, options);
  add_overrides(verb, options.overrides, {"--cache", "--min-samples", "--max-samples", "--confidence-width"});
  add_whereabouts(verb, options);
  verb.footer(fmt::format("{}\n\nExample:\n  convscope verify configs/alexnet.json --batch 1", kExitCodes));
}

Verb verify_verb() {
  return make_verb<RunOptions>("verify",
                               "Check every algorithm's results on every layer and pass; time nothing.",
                               add_verify_flags, run, check_run);
}

}  // namespace convscope

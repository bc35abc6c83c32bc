// The verbs of the command line: one file each, bench/cli/VERB.cpp, with the verb's flags, its help text,
// what it does and what it prints. A new verb is that file, its test and two lines at the end of this one.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/runner/worker.hpp"

namespace convscope {

// What the terminal can show.
struct Terminal {
  bool colour = false;    // on standard output
  bool progress = false;  // a line that is overwritten, on standard error
  size_t columns = 80;
};

// What every verb may use besides its own flags.
struct Program {
  std::vector<std::string> argv;
  const Registry& registry;
  std::ostream& out;
  std::ostream& errors;
  Terminal terminal = {};
  DeviceMaker device_maker = make_device;  // for workers
};

struct Verb {
  std::string name;
  std::string summary;  // for `convscope --help`; empty for a hidden verb
  std::function<void(CLI::App&)> add_flags;
  std::function<void(const CLI::App&)> check;  // throws UsageError where flags contradict each other
  std::function<int(const Program&)> act;      // returns the exit code; throws UsageError
};

// A verb that keeps its flags in an Options; `check` may be left out.
template <typename Options>
Verb make_verb(const std::string& name, const std::string& summary, void (*add_flags)(CLI::App&, Options&),
               int (*act)(const Options&, const Program&),
               void (*check)(const CLI::App&, const Options&) = nullptr) {
  const auto options = std::make_shared<Options>();
  return {name, summary, [=](CLI::App& verb) { add_flags(verb, *options); },
          [=](const CLI::App& verb) {
            if (check != nullptr) check(verb, *options);
          },
          [=](const Program& program) { return act(*options, program); }};
}

Verb run_verb(), verify_verb();
Verb list_verb();
Verb info_verb();
Verb explain_verb();
Verb exec_verb();
Verb merge_verb();
Verb csv_verb();
Verb show_verb();
Verb select_verb();
Verb policies_verb();
Verb choose_verb();
Verb worker_verb();

// In the order of `convscope --help`.
inline std::vector<Verb> all_verbs() {
  return {run_verb(),      verify_verb(), list_verb(),  info_verb(), explain_verb(),
          exec_verb(),     merge_verb(),  csv_verb(),   show_verb(), select_verb(),
          policies_verb(), choose_verb(), worker_verb()};
}

}  // namespace convscope

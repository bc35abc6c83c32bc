// The command line and its verbs. A verb's flags, its help text, what it does and what it prints are in a
// file of one of the rooms beside this: run/ (run and verify), step/, read/ (those that read results only)
// and inventory/. A new verb is that file, its test, and its declaration and its place in the list below.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/record/result_files.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/overrides.hpp"
#include "bench/runner/worker.hpp"

namespace convscope {

// What the terminal can show.
struct Terminal {
  bool colour = false;    // on standard output
  bool progress = false;  // a line that is overwritten, on standard error
  size_t columns = 80;    // of standard error
  size_t width = 80;      // columns of standard output

  Look look() const { return {colour, width}; }
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

// Exit codes: a device was lost; Ctrl-C stopped the verb, as a shell's.
inline constexpr int kDeviceLost = 3, kInterrupted = 130;

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
Verb calibrate_verb();
Verb explain_verb();
Verb exec_verb();
Verb merge_verb();
Verb csv_verb();
Verb show_verb();
Verb select_verb();
Verb policies_verb();
Verb choose_verb();
Verb allreduce_verb();
Verb step_verb();
Verb operations_verb();
Verb completion_verb();
Verb worker_verb();

// In the order of `convscope --help`.
inline std::vector<Verb> all_verbs() {
  return {run_verb(),    verify_verb(),    list_verb(), info_verb(),       calibrate_verb(),  explain_verb(),
          exec_verb(),   merge_verb(),     csv_verb(),  show_verb(),       select_verb(),     policies_verb(),
          choose_verb(), allreduce_verb(), step_verb(), operations_verb(), completion_verb(), worker_verb()};
}

// The verb with its flags, ready to be run; of --help and --version the text to print. Runs nothing and reads
// no file. Throws UsageError with one sentence; for an unknown verb or flag it names the nearest known one.
std::function<int(const Program&)> parse_command(const std::vector<std::string>& argv);

// The program: finds the verb and its flags in argv, runs the verb, and turns what it throws into a message
// and an exit code, which it returns. A test gives other algorithms and, for workers, another device.
int convscope_main(int argc, char** argv, const Registry& registry, const DeviceMaker& maker = make_device);

// --- The flags and arguments that several verbs have, so that they read and are explained alike ---

// The flags that override a config, without those named in `left_out`. Lists are given with commas, repeated
// flags, or both.
void add_overrides(CLI::App& verb, Overrides& overrides, const std::vector<std::string_view>& left_out);

// A flag that is on or off.
void add_switch(CLI::App& verb, const std::string& flag, bool& target, const std::string& meaning);

// --out: a folder, whose name is not empty.
CLI::Option* add_out(CLI::App& verb, std::string& folder, const std::string& meaning);

// --json: one JSON document and nothing else.
void add_json(CLI::App& verb, bool& json);

// --device, --threads, --workspace-cap (in bytes; null for inf).
void add_device(CLI::App& verb, std::optional<DeviceId>& device, const std::string& meaning);
void add_threads(CLI::App& verb, int& threads);
void add_workspace_cap(CLI::App& verb, std::optional<int64_t>& cap);

// RESULTS: result folders or files.
void add_results(CLI::App& verb, std::vector<std::string>& results);

// The files' records and configs one after the other. Unlike in merge the same candidate may be in several:
// repeats. Throws UsageError for a file that cannot be read, and as OneProtocol.
ResultFile read_all_results(const std::vector<std::string>& paths);

// The flags that were given, by their long names, and arguments by theirs.
std::vector<std::string> given_flags(const CLI::App& verb);

}  // namespace convscope

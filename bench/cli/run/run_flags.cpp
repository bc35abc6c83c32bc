// What `run` and `verify` take from the command line: flags, help, and which flags exclude each other.

#include <fmt/format.h>

#include <algorithm>

#include "bench/cli/run/run.hpp"
#include "bench/core/error.hpp"

namespace convscope {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 all good; 1 a record is wrong, a candidate crashed, hung or failed, or every one was "
    "refused;\n"
    "2 bad usage or config; "
    "3 a device was lost, the rest of its records is left to --resume; 130 interrupted.";

void add_configs(CLI::App& verb, RunOptions& options) {
  verb.add_option("CONFIG", options.configs,
                  "JSON config files (docs/configs.md), or names of those in configs/")
      ->type_name("FILE");
  verb.add_option("--layer", options.layers, "Only layers whose names match one of these patterns.")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void add_whereabouts(CLI::App& verb, RunOptions& options) {
  add_out(verb, options.out, "Folder for the results; out/<date-time> when left out.");
  verb.add_option(
          "--resume", options.resume,
          "Finish the interrupted run in this folder; what to do is taken from its journal, so no CONFIG "
          "and no flag that changes it goes with it.")
      ->type_name("DIR");
  verb.add_option_function<std::string>(
          "--shard", [&options](const std::string& text) { options.shard = parse_shard(text); },
          "Run only the I-th of N parts of the sweep; `convscope merge` joins the parts.")
      ->type_name("I/N");
  verb.add_flag("--dry-run", options.dry_run,
                "Print what would be run and an estimate of the time; run nothing.");
  add_switch(
      verb, "--isolate", options.isolate,
      "on (default): each group of candidates runs in a child process, so that a crash or a hang costs "
      "one record; off: in this process, as a debugger wants it, and without time limits.");
}

}  // namespace

void add_flags(CLI::App& verb, RunOptions& options) {
  add_configs(verb, options);
  verb.add_option("--case", options.problem,
                  "One problem, as records of a result file have it, instead of a CONFIG.")
      ->type_name("LINE");
  add_overrides(verb, options.overrides, {});
  add_whereabouts(verb, options);
  add_switch(verb, "--blocker", options.blocker,
             "on (default): on a GPU, all work of a sample is enqueued before any of it runs, so that the "
             "host's gaps are not timed; off: for profilers that run launches one by one.");
  verb.add_option("--wait-for-quiet", options.wait_for_quiet,
                  "Wait up to S seconds, before anything is measured, until other programs together use less "
                  "than 5% of a core and, where the run is on a GPU, of its time.")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e6));
  verb.add_option("--knobs", options.knobs,
                  "For each engine of cuDNN, try up to N combinations of its knobs besides the defaults, and "
                  "measure the fastest (0).")
      ->type_name("N")
      ->check(CLI::Range(0, 10000));
  verb.add_option("--record", options.record,
                  "Write what libraries said when they were asked to choose to this JSON file too.")
      ->type_name("FILE");
  verb.add_flag("--aa", options.repeat, "Measure every candidate twice and print the noise floor.");
  verb.footer(fmt::format(
      "Flags override the config; what neither says has the default that docs/configs.md lists. Lists take\n"
      "commas, repeated flags, or both. Ctrl-C ends the run with its files written; --resume goes on from "
      "there.\n"
      "{}\n\n"
      "Examples:\n"
      "  convscope run alexnet --pass forward --batch 1,16 --layer conv3\n"
      "  convscope run alexnet --algorithm winograd,onednn --out out/winograd\n"
      "  convscope run --resume out/winograd\n"
      "  convscope run --case \"forward fp32 nchw n=16 c=96 hw=27x27 k=256 rs=5x5 stride=1x1 pad=2x2\" "
      "--algorithm direct.cpu",
      kExitCodes));
}

void add_verify_flags(CLI::App& verb, RunOptions& options) {
  options.measure = false;
  add_configs(verb, options);
  add_overrides(verb, options.overrides,
                {"--cache", "--time-limit", "--min-samples", "--max-samples", "--confidence-width"});
  add_whereabouts(verb, options);
  verb.footer(fmt::format("{}\n\nExample:\n  convscope verify alexnet --batch 1", kExitCodes));
}

void check_run(const CLI::App& verb, const RunOptions& options) {
  const std::string name = "convscope " + verb.get_name();
  const std::vector<std::string> given = given_flags(verb);
  const auto refuse_beside = [&](const std::string& flag, const std::vector<std::string>& others,
                                 const std::string& why) {
    for (const std::string& other : given)
      if (other != flag && std::find(others.begin(), others.end(), other) == others.end())
        throw UsageError(flag + " " + why + "; leave out " + other);
  };
  if (!options.resume.empty())
    return refuse_beside("--resume", {"--isolate", "--record", "--wait-for-quiet"},
                         "takes what to do from the folder's journal");
  if (!options.problem.empty()) {
    return refuse_beside(
        "--case",
        {"--algorithm", "--device", "--threads", "--blocker", "--knobs", "--cache", "--workspace-cap",
         "--time-limit", "--stage-limit", "--min-samples", "--max-samples", "--confidence-width", "--seed",
         "--out", "--aa", "--record", "--dry-run", "--isolate", "--wait-for-quiet"},
        "says the whole problem");
  }
  if (options.configs.empty())
    throw UsageError(name + " needs a CONFIG, as in: " + name + " alexnet (" + name + " --help)");
}

}  // namespace convscope

#include "bench/cli/options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bench/core/error.hpp"
#include "bench/runner/build_info.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {
namespace {

constexpr std::string_view kExitCodes =
    "Exit codes: 0 all good; 1 a row is wrong, or a candidate crashed, hung or failed; 2 bad usage or config;\n"
    "130 interrupted.";

// Lists are given with commas, repeated flags, or both.
void add_overrides(CLI::App& verb, Overrides& overrides, const std::vector<std::string_view>& left_out) {
  for (const OverrideFlag& flag : override_flags()) {
    if (std::find(left_out.begin(), left_out.end(), flag.flag) != left_out.end()) continue;
    const std::string name(flag.flag), meaning(flag.meaning);
    if (flag.value.empty()) {
      verb.add_flag_callback(name, [&overrides, &flag] { flag.set(overrides, ""); }, meaning);
      continue;
    }
    const auto set = [&overrides, &flag](const std::vector<std::string>& texts) {
      flag.set(overrides, fmt::format("{}", fmt::join(texts, ",")));
    };
    verb.add_option_function<std::vector<std::string>>(name, set, meaning)
        ->allow_extra_args(false)
        ->type_name(std::string(flag.value));
  }
}

void add_where(CLI::App& verb, RunOptions& options) {
  verb.add_option("--out", options.out, "Folder for the results; out/<date-time> when left out.")->type_name("DIR");
  verb.add_option("--resume", options.resume,
                  "Finish the interrupted run in this folder; what to do is taken from its journal, so no CONFIG "
                  "and no other flag but --isolate goes with it.")
      ->type_name("DIR");
  verb.add_option_function<std::string>(
          "--shard", [&options](const std::string& text) { options.shard = parse_shard(text); },
          "Run only the I-th of N parts of the sweep; `convscope merge` joins the parts.")
      ->type_name("I/N");
  verb.add_flag("--dry-run", options.dry_run, "Print what would be run and an estimate of the time; run nothing.");
  verb.add_option_function<std::string>(
          "--isolate",
          [&options](const std::string& text) {
            if (text != "on" && text != "off")
              throw UsageError("--isolate: found \"" + text + "\"; allowed is on, off");
            options.isolate = text == "on";
          },
          "on (default): each group of candidates runs in a child process, so that a crash or a hang costs one "
          "row; off: in this process, as a debugger wants it, and without time limits.")
      ->type_name("on|off");
}

void add_run(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Verify and time every algorithm on every layer and pass of a config.");
  run->add_option("CONFIG", options.configs, "JSON config files (docs/configs.md)")->type_name("FILE");
  run->add_option("--case", options.problem,
                  "One problem, as rows of a result file have it, instead of a CONFIG; needs --algorithm.")
      ->type_name("LINE");
  add_overrides(*run, options.overrides, {});
  add_where(*run, options);
  run->add_flag("--aa", options.repeat, "Measure every candidate twice and print the noise floor.");
  run->footer(fmt::format(
      "Flags override the config. Lists take commas, repeated flags, or both. Ctrl-C ends the run with its files\n"
      "written; --resume goes on from there.\n"
      "{}\n\n"
      "Examples:\n"
      "  convscope run configs/alexnet.json --pass forward --batch 1,16\n"
      "  convscope run configs/alexnet.json --algorithm 'winograd.*,onednn.*' --out out/winograd\n"
      "  convscope run --resume out/winograd\n"
      "  convscope run --case \"forward fp32 nchw n=16 c=96 hw=27x27 k=256 rs=5x5 stride=1x1 pad=2x2\" "
      "--algorithm direct.cpu",
      kExitCodes));
}

void add_verify(CLI::App& app, RunOptions& options) {
  options.measure = false;
  CLI::App* verify =
      app.add_subcommand("verify", "Check every algorithm's results on every layer and pass; time nothing.");
  verify->add_option("CONFIG", options.configs, "JSON config files (docs/configs.md)")->type_name("FILE");
  add_overrides(*verify, options.overrides, {"--cache", "--min-samples", "--max-samples", "--confidence-width"});
  add_where(*verify, options);
  verify->footer(fmt::format("{}\n\nExample:\n  convscope verify configs/alexnet.json --batch 1", kExitCodes));
}

void add_merge(CLI::App& app, MergeOptions& options) {
  CLI::App* merge = app.add_subcommand("merge", "Join the result folders of several runs, such as shards, into one.");
  merge->add_option("DIR", options.folders, "Result folders")->type_name("DIR")->required();
  merge->add_option("--out", options.out, "Folder for the joined results")->type_name("DIR")->required();
  merge->footer(
      "Rows of different devices stay apart by device_name. A candidate that two folders have must have the same\n"
      "row in both. Exit codes: 0 joined; 2 bad usage or folders that contradict each other.\n\n"
      "Example:\n  convscope merge out/part1 out/part2 --out out/all");
}

void add_worker(CLI::App& app, WorkerOptions& options) {
  CLI::App* worker = app.add_subcommand("worker", "");
  worker->group("");  // hidden
  worker->add_option("PARENT", options.parent)->required();
}

const CLI::App* chosen_verb(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? nullptr : verbs.front();
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App* v) { return !v->get_group().empty(); }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// A word that the verb, or the program, does not know.
void refuse_leftovers(const CLI::App& app) {
  const CLI::App* verb = chosen_verb(app);
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return;
  const std::string& word = words.front();
  const std::string flag = word.substr(0, word.find('='));
  const std::string help = verb == nullptr ? "convscope --help" : "convscope " + verb->get_name() + " --help";
  if (verb == nullptr && word.front() != '-')
    throw UsageError("there is no verb \"" + word + "\"" + did_you_mean(word, verb_names(app)) + " (" + help + ")");
  if (word.front() == '-')
    throw UsageError("there is no flag " + flag + did_you_mean(flag, flag_names(verb == nullptr ? app : *verb)) +
                     " (" + help + ")");
  throw UsageError("\"" + word + "\" is one word too many (" + help + ")");
}

// The flags given, by their long names.
std::vector<std::string> given_flags(const CLI::App& verb) {
  std::vector<std::string> given;
  for (const CLI::Option* option : verb.get_options())
    if (option->count() > 0) given.push_back(option->get_name());
  return given;
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
    return refuse_beside("--resume", {"--isolate"}, "takes what to do from the folder's journal");
  if (!options.problem.empty()) {
    refuse_beside("--case",
                  {"--algorithm", "--threads", "--cache", "--workspace-cap", "--time-limit", "--min-samples",
                   "--max-samples", "--confidence-width", "--seed", "--out", "--aa", "--dry-run", "--isolate"},
                  "says the whole problem");
    if (!options.overrides.algorithms) throw UsageError("--case needs --algorithm, the id of the algorithm to run");
    return;
  }
  if (options.configs.empty())
    throw UsageError(name + " needs a CONFIG, as in: " + name + " configs/alexnet.json (" + name + " --help)");
}

}  // namespace

Command parse_command(const std::vector<std::string>& argv) {
  CLI::App app("convscope times convolution algorithms side by side, every result verified.", "convscope");
  RunOptions run, verify;
  MergeOptions merge;
  WorkerOptions worker;
  add_run(app, run);
  add_verify(app, verify);
  add_merge(app, merge);
  add_worker(app, worker);
  app.set_version_flag("--version", "convscope " + build_info().version);
  app.footer("`convscope VERB --help` tells more. Example:\n  convscope run configs/smoke.json");
  app.allow_extras();
  for (CLI::App* verb : app.get_subcommands({})) verb->allow_extras();

  try {
    app.parse(std::vector<std::string>(argv.rbegin(), argv.rend() - 1));
  } catch (const CLI::CallForHelp&) {
    const CLI::App* verb = chosen_verb(app);
    return Notice{(verb == nullptr ? app : *verb).help("", CLI::AppFormatMode::Normal)};
  } catch (const CLI::CallForVersion& version) {
    return Notice{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    refuse_leftovers(app);
    throw UsageError(error.what());
  }
  refuse_leftovers(app);
  const CLI::App* verb = chosen_verb(app);
  if (verb == nullptr) throw UsageError("a verb is missing: " + join(verb_names(app)) + " (convscope --help)");
  const std::string name = verb->get_name();
  if (name == "merge") return merge;
  if (name == "worker") return worker;
  const RunOptions& options = name == "run" ? run : verify;
  check_run(*verb, options);
  return options;
}

}  // namespace convscope

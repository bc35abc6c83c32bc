#include "bench/cli/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/build_info.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {
namespace {

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
  if (verb == nullptr && word.front() != '-') {
    const std::vector<std::string> verbs = verb_names(app);
    const std::string near = did_you_mean(word, verbs);
    throw UsageError("there is no verb \"" + word + "\"" +
                     (near.empty() ? "; there are " + comma_list(verbs) : near) + " (" + help + ")");
  }
  if (word.front() == '-')
    throw UsageError("there is no flag " + flag +
                     did_you_mean(flag, flag_names(verb == nullptr ? app : *verb)) + " (" + help + ")");
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
                  {"--algorithm", "--device", "--threads", "--blocker", "--knobs", "--cache",
                   "--workspace-cap", "--time-limit", "--stage-limit", "--min-samples", "--max-samples",
                   "--confidence-width", "--seed", "--out", "--aa", "--record", "--dry-run", "--isolate"},
                  "says the whole problem");
    if (!options.overrides.algorithms)
      throw UsageError("--case needs --algorithm, the id of the algorithm to run");
    return;
  }
  if (options.configs.empty())
    throw UsageError(name + " needs a CONFIG, as in: " + name + " configs/alexnet.json (" + name +
                     " --help)");
}

void check_choose(const ChooseOptions& options, const CLI::App& verb) {
  if (options.config.empty() && options.results.empty())
    throw UsageError(
        "convscope choose needs a CONFIG or --results, as in: convscope choose configs/alexnet.json "
        "(convscope "
        "choose --help)");
  for (const std::string& flag : given_flags(verb))
    if (!options.results.empty() && flag != "--results" && flag != "--json")
      throw UsageError("--results says the whole problem; leave out " + flag);
}

}  // namespace

Command parse_command(const std::vector<std::string>& argv) {
  CLI::App app("convscope times convolution algorithms side by side, every result verified.", "convscope");
  VerbOptions options;
  add_verbs(app, options);
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
  if (verb == nullptr)
    throw UsageError("a verb is missing: " + comma_list(verb_names(app)) + " (convscope --help)");
  Command command = options.of(verb->get_name());
  if (const auto* run = std::get_if<RunOptions>(&command)) check_run(*verb, *run);
  if (const auto* choice = std::get_if<ChooseOptions>(&command)) check_choose(*choice, *verb);
  return command;
}

}  // namespace convscope

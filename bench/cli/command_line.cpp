// The command line: parse_command() and convscope_main().

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/parallel/fabric/mpi_job.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/runner/environment.hpp"

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

// Throws for a word that neither the verb nor the program knows.
void refuse_leftovers(const CLI::App& app) {
  const CLI::App* verb = chosen_verb(app);
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return;
  const std::string& word = words.front();
  const std::string flag = word.substr(0, word.find('='));
  const std::string help = verb == nullptr ? "convscope --help" : "convscope " + verb->get_name() + " --help";
  const bool is_flag = word.starts_with('-');
  if (verb == nullptr && !is_flag) {
    const std::vector<std::string> verbs = verb_names(app);
    const std::string near = did_you_mean(word, verbs);
    throw UsageError("there is no verb \"" + word + "\"" +
                     (near.empty() ? "; there are " + comma_list(verbs) : near) + " (" + help + ")");
  }
  if (verb != nullptr && is_flag && std::ranges::count(flag_names(*verb), flag) > 0)
    throw UsageError(flag + " goes after the verb, as in: convscope " + verb->get_name() + " " + flag);
  if (is_flag)
    throw UsageError("there is no flag " + flag +
                     did_you_mean(flag, flag_names(verb == nullptr ? app : *verb)) + " (" + help + ")");
  throw UsageError("\"" + word + "\" is one word too many (" + help + ")");
}

// "convscope csv needs RESULTS, as in: convscope csv out/alexnet (convscope csv --help)" of "RESULTS is
// required", with the first example of the verb's help.
std::string what_is_missing(const CLI::App& verb, const std::string& required) {
  const std::string name = "convscope " + verb.get_name(), footer = verb.get_footer();
  const size_t begin = footer.find("\n  " + name), end = footer.find('\n', begin + 1);
  const std::string what = required.substr(0, required.find(' '));
  const std::string example =
      begin == std::string::npos ? "" : ", as in: " + footer.substr(begin + 3, end - begin - 3);
  return name + " needs " + what + example + " (" + name + " --help)";
}

void add_verb(CLI::App& app, const Verb& verb) {
  CLI::App* added = app.add_subcommand(verb.name, verb.summary);
  if (verb.summary.empty()) added->group("");  // hidden
  added->allow_extras();                       // refuse_leftovers() refuses them, with a better message
  verb.add_flags(*added);
}

std::function<int(const Program&)> notice(const std::string& text) {
  return [text](const Program& program) {
    program.out << text;
    return 0;
  };
}

// What the terminal says, or 80 where the file is none.
size_t columns_at(int file) {
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : Terminal().columns;
}

// NO_COLOR, TERM and COLUMNS say what the reader wants to see, and the launcher whether there is one; they
// change no result.
Terminal describe_terminal() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool is_dumb = kind != nullptr && std::string_view(kind) == "dumb";
  const bool wants_colour = no_colour == nullptr || *no_colour == '\0';
  Terminal terminal;
  // mpirun gives its ranks a terminal of their own, and writes to whatever it was given itself.
  const bool is_own_terminal = !launch().says_size.starts_with("OMPI");
  terminal.colour = isatty(STDOUT_FILENO) == 1 && is_own_terminal && wants_colour && !is_dumb;
  terminal.progress = isatty(STDERR_FILENO) == 1 && !is_dumb;
  terminal.columns = columns_at(STDERR_FILENO);
  const char* asked = std::getenv("COLUMNS");
  const long columns = asked == nullptr ? 0 : std::strtol(asked, nullptr, 10);
  terminal.width = columns > 0 ? static_cast<size_t>(columns) : columns_at(STDOUT_FILENO);
  return terminal;
}

// A standard file that is closed would be the number of the next file that is opened, such as the journal,
// and what is printed would be written into it. /dev/null opened for reading takes its place: it takes
// nothing.
void hold_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(file, F_GETFD) < 0) open("/dev/null", O_RDONLY);  // the lowest number that is free: `file`
}

// The hidden verb: the child process that runs one group of candidates (bench/runner/worker).
struct WorkerOptions {
  pid_t parent = 0;
};

int work(const WorkerOptions& options, const Program& program) {
  return worker_main(program.registry, options.parent, program.device_maker);
}

void add_flags(CLI::App& verb, WorkerOptions& options) {
  verb.add_option("PARENT", options.parent)->required();
}

}  // namespace

Verb worker_verb() {
  return make_verb<WorkerOptions>("worker", "", add_flags, work);
}

std::function<int(const Program&)> parse_command(const std::vector<std::string>& argv) {
  CLI::App app("convscope times convolution algorithms side by side, every result verified.", "convscope");
  const std::vector<Verb> verbs = all_verbs();
  for (const Verb& verb : verbs) add_verb(app, verb);
  app.require_subcommand(0, 1);  // behind the verb the name of another one is a word like any other
  app.set_version_flag("--version", "convscope " + build_info().version);
  app.footer("`convscope VERB --help` tells more. Example:\n  convscope run configs/smoke.json");
  app.allow_extras();

  try {
    app.parse(std::vector<std::string>(argv.rbegin(), argv.rend() - 1));
  } catch (const CLI::CallForHelp&) {
    const CLI::App* verb = chosen_verb(app);
    return notice((verb == nullptr ? app : *verb).help("", CLI::AppFormatMode::Normal));
  } catch (const CLI::CallForVersion& version) {
    return notice(std::string(version.what()) + "\n");
  } catch (const CLI::RequiredError& error) {
    refuse_leftovers(app);
    throw UsageError(what_is_missing(*chosen_verb(app), error.what()));
  } catch (const CLI::ParseError& error) {
    refuse_leftovers(app);
    throw UsageError(error.what());
  }
  refuse_leftovers(app);
  const CLI::App* chosen = chosen_verb(app);
  if (chosen == nullptr)
    throw UsageError("a verb is missing: " + comma_list(verb_names(app)) + " (convscope --help)");
  for (const Verb& verb : verbs) {
    if (verb.name != chosen->get_name()) continue;
    verb.check(*chosen);
    return verb.act;
  }
  throw std::logic_error("CLI11 chose a verb that was not added");
}

int convscope_main(int argc, char** argv, const Registry& registry, const DeviceMaker& maker) {
  hold_standard_files();
  const Program program{{argv, argv + argc}, registry, std::cout, std::cerr, describe_terminal(), maker};
  try {
    const int code = parse_command(program.argv)(program);
    if (std::cout.flush()) return code;
    std::cerr
        << "convscope: standard output took no more: disk full or closed; what it would have said is lost\n";
    return 2;
  } catch (const UsageError& error) {
    std::cerr << "convscope: " << error.what() << "\n";
    return 2;
  } catch (const nlohmann::json::exception& error) {  // its text begins with "[json.exception...] "
    const std::string_view text = error.what();
    std::cerr << "convscope: a file has another form than this program writes: "
              << text.substr(text.find(' ') + 1) << "; copy it again, or name another\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "convscope: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace convscope

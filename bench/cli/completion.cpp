// `convscope completion bash|zsh`: a script with which a shell completes verbs, flags, their values and names
// of algorithms and configs. It is generated from the command line itself; the shell runs nothing to
// complete.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "bench/cli/inventory/list.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {
namespace {

using Words = std::vector<std::string>;

struct CompletionOptions {
  std::string shell;
};

// Ids, and what stands for several of them: families and first parts of ids.
Words algorithm_names(const Registry& registry) {
  std::set<std::string> names;
  for (const Algorithm* algorithm : registry.all()) {
    const AlgorithmInfo& info = algorithm->info();
    if (info.on_request) continue;  // hundreds
    names.insert(info.id);
    if (info.candidate && !info.family.empty()) names.insert(info.family);
    if (info.candidate) names.insert(info.id.substr(0, info.id.find('.')));
  }
  return {names.begin(), names.end()};
}

// Those that a shell reads as one word: any other, as "net (1)", would be a part of the script.
Words config_names() {
  Words names;
  for (const auto& [name, file] : known_configs())
    if (shell_word(name) == name) names.push_back(name);
  return names;
}

// The values of the flags that have a few, whatever the verb.
std::map<std::string, Words> values_of_flags(const Registry& registry) {
  return {{"--algorithm", algorithm_names(registry)},
          {"--blocker", {"on", "off"}},
          {"--cache", all_names(kCacheStates)},
          {"--device", all_names(kDeviceKinds)},
          {"--epilogue", all_names(kEpilogues)},
          {"--isolate", {"on", "off"}},
          {"--layout", all_names(kLayouts)},
          {"--math", all_names(kMathModes)},
          {"--pass", all_names(kPasses)}};
}

// The words that may stand where no flag's value is expected, besides flags; elsewhere files may.
Words arguments_of(const std::string& verb) {
  if (verb == "list") return {kListings.begin(), kListings.end()};
  if (verb == "completion") return {"bash", "zsh"};
  if (verb == "run" || verb == "verify" || verb == "choose" || verb == "step" || verb == "operations")
    return config_names();
  return {};
}

// `values`: flags behind which a value stands that is no file, as a number or a layer.
struct CompletedVerb {
  std::string name;
  Words flags, values, arguments;
};

bool takes_a_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto is = [&type](const char* word) { return type.find(word) != std::string::npos; };
  return is("FILE") || is("DIR") || is("PATH") || is("HOW");  // --choose takes a policy's, too
}

std::vector<CompletedVerb> completed_verbs() {
  std::vector<CompletedVerb> all;
  for (const Verb& verb : all_verbs()) {
    if (verb.summary.empty()) continue;  // hidden
    CLI::App app;
    verb.add_flags(app);
    CompletedVerb one{verb.name, {}, {}, arguments_of(verb.name)};
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames()) {
        one.flags.push_back("--" + name);
        if (option->get_items_expected_max() > 0 && !takes_a_file(*option)) one.values.push_back("--" + name);
      }
    std::ranges::sort(one.flags);
    all.push_back(std::move(one));
  }
  return all;
}

// "    run) candidates=(a b) ;;", in both shells; nothing where there are no words.
void print_case(std::ostream& out, const std::string& pattern, const Words& words) {
  if (!words.empty()) fmt::print(out, "    {}) candidates=({}) ;;\n", pattern, fmt::join(words, " "));
}

// Sets `candidates` from $verb, $previous and $current; $files is 1 where files may stand too.
void print_candidates(std::ostream& out, const Registry& registry) {
  const std::vector<CompletedVerb> verbs = completed_verbs();
  Words names;
  for (const CompletedVerb& verb : verbs) names.push_back(verb.name);
  out << "  candidates=() files=1\n  case \"$previous\" in\n";
  for (const auto& [flag, values] : values_of_flags(registry)) print_case(out, flag, values);
  out << "  esac\n"
         "  if [[ ${#candidates[@]} -gt 0 ]]; then files=0; return; fi\n"
         "  if [[ $verb == '' ]]; then\n";
  fmt::print(out, "    candidates=({} --help --version) files=0\n    return\n  fi\n", fmt::join(names, " "));
  out << "  if [[ $current == -* ]]; then\n    files=0\n    case \"$verb\" in\n";
  for (const CompletedVerb& verb : verbs) print_case(out, verb.name, verb.flags);
  out << "    esac\n    return\n  fi\n  case \"$verb $previous\" in\n";
  for (const CompletedVerb& verb : verbs)
    for (const std::string& flag : verb.values) fmt::print(out, "    '{} {}') files=0 ;;\n", verb.name, flag);
  print_case(out, "'list layers'", config_names());
  print_case(out, "'list algorithms'", algorithm_names(registry));
  print_case(out, "'list columns'", {"results", "allreduce", "steps", "tasks", "operations"});
  out << "    *) case \"$verb\" in\n";
  for (const CompletedVerb& verb : verbs) print_case(out, verb.name, verb.arguments);
  out << "    esac ;;\n  esac\n";
}

void print_bash(std::ostream& out, const Registry& registry) {
  out << "# bash completion of convscope: source <(convscope completion bash)\n"
         "_convscope_candidates() {\n";
  print_candidates(out, registry);
  out << R"(}
_convscope() {
  local verb='' current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} before=''
  local candidates files
  [[ $COMP_CWORD -gt 1 ]] && verb=${COMP_WORDS[1]}
  [[ $current == '=' ]] && current=''  # --flag=value: bash breaks words at the =
  [[ $previous == '=' ]] && previous=${COMP_WORDS[COMP_CWORD-2]}
  _convscope_candidates
  if [[ $current == *,* ]]; then before=${current%,*},; fi
  if [[ ${current##*,} == '!'* ]]; then before+='!'; fi
  COMPREPLY=($(compgen -P "$before" -W "${candidates[*]}" -- "${current:${#before}}"))
  if [[ $files == 1 ]]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _convscope convscope
)";
}

void print_zsh(std::ostream& out, const Registry& registry) {
  out << "#compdef convscope\n"
         "# zsh completion of convscope: source <(convscope completion zsh), behind compinit\n"
         "_convscope_candidates() {\n";
  print_candidates(out, registry);
  out << R"(}
_convscope() {
  local verb='' current=${words[CURRENT]} previous=${words[CURRENT-1]} files
  local -a candidates
  (( CURRENT > 2 )) && verb=${words[2]}
  if [[ $current == --*=* ]]; then
    previous=${current%%=*} current=${current#*=}
    compset -P '*='
  fi
  _convscope_candidates
  compset -P '*,'
  compset -P '!'
  compadd -a candidates
  if [[ $files == 1 ]]; then _files; fi
}
# As a file of $fpath this text is the function's first call; sourced, it is a definition.
if [[ ${funcstack[1]} == _convscope ]]; then _convscope "$@"; else compdef _convscope convscope; fi
)";
}

int complete(const CompletionOptions& options, const Program& program) {
  if (options.shell == "bash")
    print_bash(program.out, program.registry);
  else if (options.shell == "zsh")
    print_zsh(program.out, program.registry);
  else
    throw UsageError(fmt::format("completion: found \"{}\"; allowed are bash, zsh", options.shell));
  return 0;
}

void add_flags(CLI::App& verb, CompletionOptions& options) {
  verb.add_option("SHELL", options.shell, "bash or zsh")->type_name("SHELL")->required();
  verb.footer(
      "Names of algorithms and configs are those of this program, here and now.\n\n"
      "Examples:\n"
      "  source <(build/convscope completion bash)\n"
      "  build/convscope completion zsh > ~/.zsh/_convscope");
}

}  // namespace

Verb completion_verb() {
  return make_verb<CompletionOptions>("completion", "Print a script with which bash or zsh completes words.",
                                      add_flags, complete);
}

}  // namespace convscope

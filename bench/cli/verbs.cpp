#include "bench/cli/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/core/error.hpp"
#include "bench/ranking/contest.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {

void add_overrides(CLI::App& verb, Overrides& overrides, const std::vector<std::string_view>& left_out) {
  for (const OverrideFlag& flag : override_flags()) {
    if (std::find(left_out.begin(), left_out.end(), flag.flag) != left_out.end()) continue;
    const std::string name(flag.flag), meaning(flag.meaning);
    if (flag.value.empty()) {
      verb.add_flag_callback(
          name, [&overrides, &flag] { overrides.add(flag.flag, ""); }, meaning);
      continue;
    }
    const auto set = [&overrides, &flag](const std::vector<std::string>& texts) {
      overrides.add(flag.flag, fmt::format("{}", fmt::join(texts, ",")));
    };
    verb.add_option_function<std::vector<std::string>>(name, set, meaning)
        ->allow_extra_args(false)
        ->type_name(std::string(flag.value));
  }
}

void add_switch(CLI::App& verb, const std::string& flag, bool& target, const std::string& meaning) {
  const auto set = [flag, &target](const std::string& text) {
    if (text != "on" && text != "off")
      throw UsageError(flag + ": found \"" + text + "\"; allowed is on, off");
    target = text == "on";
  };
  verb.add_option_function<std::string>(flag, set, meaning)->type_name("on|off");
}

CLI::Option* add_out(CLI::App& verb, std::string& folder, const std::string& meaning) {
  const auto set = [&folder](const std::string& text) {
    if (text.empty()) throw UsageError("--out: the name is empty; name a folder");
    folder = text;
  };
  return verb.add_option_function<std::string>("--out", set, meaning)->type_name("DIR");
}

void add_json(CLI::App& verb, bool& json) {
  verb.add_flag("--json", json, "Print one JSON document and nothing else.");
}

void add_device(CLI::App& verb, std::optional<DeviceId>& device, const std::string& meaning) {
  verb.add_option_function<std::string>(
          "--device", [&device](const std::string& text) { device = parse_device("--device", text); },
          meaning)
      ->type_name("NAME");
}

void add_threads(CLI::App& verb, int& threads) {
  verb.add_option("--threads", threads, "Threads on the CPU; 0 is every core, as when left out.")
      ->type_name("N")
      ->check(CLI::Range(kThreadCounts.lowest, kThreadCounts.highest));
}

void add_workspace_cap(CLI::App& verb, std::optional<int64_t>& cap) {
  const auto set = [&cap](const std::string& text) {
    const auto limit = parse_byte_limit(text);
    if (!limit)
      throw UsageError(fmt::format("--workspace-cap: found \"{}\"; allowed is {}", text, kByteLimitForms));
    cap = limit->bytes;
  };
  verb.add_option_function<std::string>("--workspace-cap", set,
                                        "Workspace that an algorithm may use; inf is no cap. " +
                                            byte_limit_text(kDefaultWorkspaceCap) + " when left out.")
      ->type_name("SIZE");
}

void add_results(CLI::App& verb, std::vector<std::string>& results) {
  verb.add_option("RESULTS", results,
                  "Result folders, their results.json, or kept runs (results/*/*.json.xz)")
      ->type_name("PATH")
      ->required();
}

ResultFile read_all_results(const std::vector<std::string>& paths) {
  ResultFile all;
  all.config = nlohmann::ordered_json::array();
  OneProtocol protocol;
  for (const std::string& path : paths) {
    ResultFile next = read_results(path);
    for (ResultRecord& record : next.records) {
      protocol.add(path, record);
      all.records.push_back(std::move(record));
    }
    all.config.push_back(std::move(next.config));
  }
  rank_records(all.records);
  return all;
}

std::vector<std::string> given_flags(const CLI::App& verb) {
  std::vector<std::string> given;
  for (const CLI::Option* option : verb.get_options())
    if (option->count() > 0) given.push_back(option->get_name());
  return given;
}

}  // namespace convscope

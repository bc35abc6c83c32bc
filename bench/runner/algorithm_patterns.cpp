#include "bench/runner/algorithm_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "bench/core/error.hpp"
#include "bench/ranking/contest.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {
namespace {

constexpr char kExclusion = '!';

bool excludes(std::string_view pattern) {
  return pattern.starts_with(kExclusion);
}

std::string without_mark(const std::string& pattern) {
  return pattern.substr(excludes(pattern) ? 1 : 0);
}

// The names that begin with `text`, each once, devices left out.
std::set<std::string> completions(const std::string& text, const Registry& registry) {
  std::set<std::string> names;
  for (const Algorithm* algorithm : registry.all())
    if (algorithm->info().candidate && algorithm->info().id.starts_with(text))
      names.emplace(stem(algorithm->info().id));
  return names;
}

bool is_name(const std::string& text, const AlgorithmInfo& info) {
  return info.id == text || info.family == text || info.id.starts_with(text + ".");
}

// Whether a pattern without mark means the algorithm.
bool means(const std::string& text, const AlgorithmInfo& info, const Registry& registry) {
  if (matches_glob(text, info.id)) return !(info.on_request && text == "*");
  if (is_name(text, info)) return true;
  const std::vector<const Algorithm*> all = registry.all();
  if (std::ranges::any_of(all, [&](const Algorithm* other) { return is_name(text, other->info()); }))
    return false;
  const std::set<std::string> names = completions(text, registry);
  return names.size() == 1 && stem(info.id) == *names.begin();
}

bool matches_a_separate_form(const std::string& text, const Registry& registry) {
  return std::ranges::any_of(registry.all(), [&](const Algorithm* algorithm) {
    const Algorithm* const separate = registry.separate(*algorithm);
    return separate != nullptr && matches_glob(text, separate->info().id);
  });
}

// Whether a pattern without mark means the separate form of an algorithm.
bool means_separate(const std::string& text, const AlgorithmInfo& info, const AlgorithmInfo& separate,
                    const Registry& registry) {
  if (matches_glob(text, separate.id)) return !(info.on_request && text == "*");
  return text != info.id && means(text, info, registry);
}

// What a name may be besides an id: families and first parts of ids.
std::vector<std::string> known_names(const Registry& registry) {
  std::set<std::string> names;
  for (const Algorithm* algorithm : registry.all()) {
    const AlgorithmInfo& info = algorithm->info();
    if (!info.candidate) continue;
    names.insert(info.id.substr(0, info.id.find('.')));
    if (!info.family.empty()) names.insert(info.family);
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::string defect_of_pattern(const std::string& pattern, const Registry& registry) {
  const std::string text = without_mark(pattern);
  if (matches_a_separate_form(text, registry)) return "";
  std::vector<std::string> ids;
  std::string other;  // never timed
  for (const Algorithm* algorithm : registry.all()) {
    const AlgorithmInfo& info = algorithm->info();
    if (!info.candidate) {
      if (matches_glob(text, info.id) || is_name(text, info)) other = info.id;
      continue;
    }
    if (means(text, info, registry)) return "";
    ids.push_back(info.id);
  }
  if (!other.empty())
    return fmt::format("found \"{}\", which matches only {}, and that is never timed against others", pattern,
                       other);
  const std::set<std::string> begun = text.empty() ? std::set<std::string>() : completions(text, registry);
  if (begun.size() > 1)
    return fmt::format("found \"{}\", which is the beginning of {}; say which, or \"{}*\" for all", pattern,
                       comma_list({begun.begin(), begun.end()}), text);
  const std::vector<std::string> names = known_names(registry);
  std::vector<std::string> near = ids;
  near.insert(near.end(), names.begin(), names.end());
  const std::string hint = did_you_mean(text, near);
  return fmt::format("found \"{}\", which matches no algorithm{} (`convscope list algorithms` shows all)",
                     pattern,
                     hint.empty() ? "; allowed are ids, patterns over them, and " + comma_list(names) : hint);
}

std::vector<std::string> meant_by(const std::vector<std::string>& patterns, const Registry& registry,
                                  DeviceKind kind, Epilogue epilogue) {
  std::vector<std::string> wanted, unwanted;
  for (const std::string& pattern : patterns)
    (excludes(pattern) ? unwanted : wanted).push_back(without_mark(pattern));
  if (wanted.empty()) wanted = {"*"};
  std::vector<std::string> ids;
  for (const Algorithm* algorithm : registry.all()) {
    const AlgorithmInfo& info = algorithm->info();
    if (!info.candidate || !runs_on(info, kind)) continue;
    const auto add_if_meant = [&](const std::string& id, const auto& meaning) {
      if (std::ranges::any_of(wanted, meaning) && std::ranges::none_of(unwanted, meaning)) ids.push_back(id);
    };
    add_if_meant(info.id, [&](const std::string& text) { return means(text, info, registry); });
    const Algorithm* const separate = registry.separate(*algorithm);
    if (epilogue == Epilogue::none || separate == nullptr) continue;
    add_if_meant(separate->info().id, [&](const std::string& text) {
      return means_separate(text, info, separate->info(), registry);
    });
  }
  return ids;
}

void check_recorded(std::string_view flag, const std::string& name, std::span<const ResultRecord> records) {
  std::set<std::string> names;
  for (const ResultRecord& record : records) {
    if (is_named(record.key.algorithm, name)) return;
    names.emplace(stem(record.key.algorithm));
  }
  const std::vector<std::string> known(names.begin(), names.end());
  const std::string hint = did_you_mean(name, known);
  throw UsageError(fmt::format("{}: no record is of \"{}\"{}", flag, name,
                               hint.empty() ? "; there are " + comma_list(known) : hint));
}

}  // namespace convscope

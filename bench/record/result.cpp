#include "bench/record/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace convscope {
namespace {

// The flags that say in what the rule differs from the defaults, a space before each; the width always, since
// its default is the machine's.
std::string sampling_flags(const SamplingRule& rule) {
  const SamplingRule standard;
  std::string flags;
  const auto add = [&](std::string_view flag, auto SamplingRule::*value) {
    if (rule.*value != standard.*value) flags += fmt::format(" {} {}", flag, rule.*value);
  };
  add("--time-limit", &SamplingRule::time_limit_seconds);
  add("--min-samples", &SamplingRule::min_samples);
  add("--max-samples", &SamplingRule::max_samples);
  flags += fmt::format(" --confidence-width {}", rule.confidence_width);
  add("--stage-limit", &SamplingRule::stage_limit_seconds);
  if (rule.repeat) flags += " --aa";
  return flags;
}

// The device, where it is none that an algorithm's id alone takes.
std::string named_device(DeviceId device) {
  const bool is_first = device.index == 0 && device.kind != DeviceKind::emulator;
  return is_first ? "" : " --device " + name(device);
}

}  // namespace

std::string_view name(Outcome outcome) {
  constexpr std::string_view names[] = {"measured",       "verified_only", "unsupported",
                                        "over_workspace", "out_of_memory", "wrong",
                                        "timeout",        "crashed",       "failed"};
  return names[static_cast<size_t>(outcome)];
}

std::string_view name(CacheState state) {
  constexpr std::string_view names[] = {"cold", "hot", "weights-cold"};
  return names[static_cast<size_t>(state)];
}

std::string_view name(Standing standing) {
  constexpr std::string_view names[] = {"good",  "virtual_time", "throttled", "disturbed", "repeat",
                                        "wrong", "wrong_repeat", "untimed",   "refused",   "failed"};
  return names[static_cast<size_t>(standing)];
}

Outcome outcome_of(Reason reason, bool is_timed) {
  switch (reason) {
    case Reason::none:
      return is_timed ? Outcome::measured : Outcome::verified_only;
    case Reason::throttled:
    case Reason::disturbed:
      return Outcome::measured;
    case Reason::unsupported_pass:
    case Reason::unsupported_math:
    case Reason::unsupported_layout:
    case Reason::unsupported_filter:
    case Reason::unsupported_stride:
    case Reason::unsupported_dilation:
    case Reason::unsupported_groups:
    case Reason::unsupported_size:
    case Reason::unsupported_epilogue:
    case Reason::library_missing:
    case Reason::library_refused:
    case Reason::device_missing:
    case Reason::left_out_after_failures:
      return Outcome::unsupported;
    case Reason::workspace_over_cap:
      return Outcome::over_workspace;
    case Reason::out_of_memory:
      return Outcome::out_of_memory;
    case Reason::accuracy:
      return Outcome::wrong;
    case Reason::timeout:
      return Outcome::timeout;
    case Reason::crashed:
      return Outcome::crashed;
    case Reason::failed:
      return Outcome::failed;
  }
  return Outcome::failed;
}

void settle(ResultRecord& record, Reason reason, std::string note) {
  record.outcome = outcome_of(reason, record.time.has_value());
  record.reason = reason;
  record.note = std::move(note);
}

std::string shell_word(const std::string& text) {
  // Bytes of UTF-8 and these mean nothing to a shell.
  const auto is_plain = [](char c) {
    return (c & 0x80) != 0 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_-./,:@%+=").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string word = "'";
  for (const char c : text)
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  return word + "'";
}

std::string program_at_hand() {
  std::error_code unknown;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return unknown || path.filename() != "convscope" ? "convscope" : shell_word(path.string());
}

std::string rerun_command(const ResultRecord& record) {
  const CaseKey& key = record.key;
  const std::string cap = key.workspace_cap ? std::to_string(*key.workspace_cap) : "inf";
  return fmt::format(
      "{} run --case \"{}\" --algorithm {}{} --threads {} --cache {} --workspace-cap {} --seed {}{}{}",
      program_at_hand(), to_line(key.problem), key.algorithm, named_device(key.device_id()), key.threads,
      name(key.cache), cap, key.seed, key.knobs == 0 ? "" : fmt::format(" --knobs {}", key.knobs),
      sampling_flags(record.sampling));
}

}  // namespace convscope

#include "bench/record/columns.hpp"

#include <fmt/format.h>

#include <vector>

#include "bench/record/column_tables.hpp"

namespace convscope {

std::span<const Column> columns() {
  static const std::vector<Column> all = [] {
    std::vector<Column> joined;
    for (auto part : {case_columns(), time_columns(), work_columns(), answer_columns(), ranking_columns()})
      joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }();
  return all;
}

namespace {

// The flags that say in what the rule differs from the defaults, a space before each.
std::string sampling_flags(const SamplingRule& rule) {
  const SamplingRule standard;
  std::string flags;
  const auto add = [&](std::string_view flag, auto SamplingRule::*value) {
    if (rule.*value != standard.*value) flags += fmt::format(" {} {}", flag, rule.*value);
  };
  add("--time-limit", &SamplingRule::time_limit_seconds);
  add("--min-samples", &SamplingRule::min_samples);
  add("--max-samples", &SamplingRule::max_samples);
  add("--confidence-width", &SamplingRule::confidence_width);
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

std::string rerun_command(const ResultRecord& record) {
  const CaseKey& key = record.key;
  const std::string cap = key.workspace_cap ? std::to_string(*key.workspace_cap) : "inf";
  return fmt::format(
      "convscope run --case \"{}\" --algorithm {}{} --threads {} --cache {} --workspace-cap {} --seed {}{}{}",
      to_line(key.problem), key.algorithm, named_device(key.device_id()), key.threads, name(key.cache), cap,
      key.seed, key.knobs == 0 ? "" : fmt::format(" --knobs {}", key.knobs), sampling_flags(record.sampling));
}

std::string cell_text(const Cell& cell) {
  struct Visitor {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const { return value; }
  };
  return std::visit(Visitor{}, cell);
}

}  // namespace convscope

// The flags' text forms, their table, and what each does to a suite. See overrides.hpp.
#include "bench/runner/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <stdexcept>

#include "bench/core/error.hpp"
#include "bench/record/result_files.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {
namespace {

[[noreturn]] void refuse(std::string_view flag, std::string_view found, const std::string& allowed) {
  throw UsageError(fmt::format("{}: found \"{}\"; allowed is {}", flag, found, allowed));
}

// Nothing when the text is not wholly a number of this type.
template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Works for ranges of whole numbers and of others.
template <typename Range>
auto number_in(const Range& range, std::string_view flag, std::string_view text) {
  const auto value = number_of<decltype(range.highest)>(text);
  if (!value || !range.has(*value)) refuse(flag, text, range.words());
  return *value;
}

// "a,b,c"; every entry is read with `read`, and no two may be equal.
template <typename Read>
auto list_of(std::string_view flag, std::string_view text, Read read) {
  std::vector<decltype(read(text))> result;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    if (word.empty()) refuse(flag, text, "a list with commas and without empty entries");
    auto entry = read(word);
    if (std::find(result.begin(), result.end(), entry) != result.end())
      refuse(flag, text, fmt::format("every entry once, and {} is there twice", word));
    result.push_back(std::move(entry));
    if (comma == std::string_view::npos) return result;
    rest.remove_prefix(comma + 1);
  }
}

// --- What a flag does: reads its text and sets a member of the suite, of its measuring settings or of their
// rule ---

template <auto member, typename T>
SuiteChange set_to(const T& value) {
  return [value](Suite& suite) {
    if constexpr (requires { suite.*member; })
      suite.*member = value;
    else if constexpr (requires { suite.measuring.*member; })
      suite.measuring.*member = value;
    else
      suite.measuring.sampling.*member = value;
  };
}

template <auto member, const auto& values>
SuiteChange set_names(std::string_view flag, std::string_view text) {
  return set_to<member>(list_of(flag, text, [&](std::string_view word) {
    const auto value = from_name(values, word);
    const auto names = all_names(values);
    if (!value) refuse(flag, word, comma_list(names) + did_you_mean(word, names));
    return *value;
  }));
}

template <auto member, const auto& range>
SuiteChange set_number(std::string_view flag, std::string_view text) {
  return set_to<member>(number_in(range, flag, text));
}

SuiteChange set_devices(std::string_view flag, std::string_view text) {
  return set_to<&Suite::devices>(
      list_of(flag, text, [&](std::string_view word) { return parse_device(flag, word); }));
}

SuiteChange set_algorithms(std::string_view flag, std::string_view text) {
  return set_to<&Suite::algorithms>(
      list_of(flag, text, [](std::string_view word) { return std::string(word); }));
}

// Of every kind of device, and in place of the layers' own.
SuiteChange set_batch(std::string_view flag, std::string_view text) {
  const auto sizes =
      list_of(flag, text, [&](std::string_view word) { return number_in(kSizes, flag, word); });
  return [sizes](Suite& suite) {
    for (DeviceKind kind : kDeviceKinds) suite.batch[kind] = sizes;
    for (Layer& layer : suite.layers) layer.batch.reset();
  };
}

SuiteChange set_confidence_width(std::string_view flag, std::string_view text) {
  const double width = number_in(kConfidenceWidths, flag, text);
  return [width](Suite& suite) {
    suite.measuring.sampling.confidence_width = width;
    suite.measuring.is_width_given = true;
  };
}

SuiteChange set_threads(std::string_view flag, std::string_view text) {
  return set_to<&Suite::threads>(list_of(flag, text, [&](std::string_view word) {
    return static_cast<int>(number_in(kThreadCounts, flag, word));
  }));
}

SuiteChange set_workspace_caps(std::string_view flag, std::string_view text) {
  return set_to<&MeasuringSettings::workspace_caps>(list_of(flag, text, [&](std::string_view word) {
    const auto limit = parse_byte_limit(word);
    if (!limit) refuse(flag, word, std::string(kByteLimitForms));
    return limit->bytes;
  }));
}

// In the order of docs/configs.md.
constexpr OverrideFlag kFlags[] = {
    {"--device", "devices", "NAME,...",
     "Devices to run on, one after another: cpu, cuda (the first GPU), cuda:1, emulator.", set_devices},
    {"--algorithm", "algorithms", "NAME,...",
     "Algorithms to run: ids, families (winograd), patterns ('*.mixed.*'); !NAME leaves out.",
     set_algorithms},
    {"--pass", "passes", "NAME,...", "Passes: forward, backward_data, backward_filter.",
     set_names<&Suite::passes, kPasses>},
    {"--batch", "batch", "N,...", "Batch sizes, for every layer and every device.", set_batch},
    {"--math", "math", "NAME,...", "Math modes: fp32, tf32, 3xtf32, bf16, fp16.",
     set_names<&Suite::math, kMathModes>},
    {"--layout", "layouts", "NAME,...", "Layouts of the caller's tensors: nchw, nhwc, chwn.",
     set_names<&Suite::layouts, kLayouts>},
    {"--epilogue", "epilogues", "NAME,...",
     "What forward applies to its outputs: none, relu, bias, bias+relu; other passes run where none is "
     "there.",
     set_names<&Suite::epilogues, kEpilogues>},
    {"--threads", "threads", "N,...", "Thread counts on the CPU; 0 is every core.", set_threads},
    {"--first-backward-data", "first_backward_data", "", "Run backward-data on first layers too.",
     [](std::string_view, std::string_view) { return set_to<&Suite::first_backward_data>(true); }},
    {"--cache", "measuring.cache", "NAME,...", "Cache states: cold, hot, weights-cold.",
     set_names<&MeasuringSettings::cache, kCacheStates>},
    {"--workspace-cap", "measuring.workspace_cap", "SIZE,...",
     "Workspace that a candidate may use, as in 256MiB; inf is no cap.", set_workspace_caps},
    {"--time-limit", "measuring.time_limit_s", "S",
     "Seconds that timing one candidate may take; a series' first six samples may take two limits more.",
     set_number<&SamplingRule::time_limit_seconds, kTimeLimits>},
    {"--stage-limit", "measuring.stage_limit_s", "S",
     "Seconds that one stage of a candidate (plan, verify, measure beyond its time limit) may take before it "
     "counts as hung; 0 derives it from the work.",
     set_number<&SamplingRule::stage_limit_seconds, kStageLimits>},
    {"--min-samples", "measuring.min_samples", "N", "Samples of a candidate, at least.",
     set_number<&SamplingRule::min_samples, kSampleCounts>},
    {"--max-samples", "measuring.max_samples", "N", "Samples of a candidate, at most.",
     set_number<&SamplingRule::max_samples, kSampleCounts>},
    {"--confidence-width", "measuring.confidence_width", "X",
     "Stop when the median's 95% interval is within this share of it; 0.005, or what the machine can resolve "
     "(convscope calibrate) where that is more.",
     set_confidence_width},
    {"--seed", "measuring.seed", "N", "Seed of the data and of the interleaving.",
     set_number<&MeasuringSettings::seed, kSeeds>},
};

}  // namespace

std::span<const OverrideFlag> override_flags() {
  return kFlags;
}

void Overrides::add(std::string_view flag, std::string_view text) {
  const auto* known = std::ranges::find(kFlags, flag, &OverrideFlag::flag);
  if (known == std::end(kFlags)) throw std::logic_error("no setting has the flag " + std::string(flag));
  given.emplace_back(known, known->read(flag, text));
}

void apply(const Overrides& overrides, Suite& suite) {
  for (const auto& [flag, change] : overrides.given) {
    change(suite);
    suite.flag_of[std::string(flag->key)] = flag->flag;
  }
  check_suite(suite);
}

DeviceId parse_device(std::string_view flag, std::string_view text) {
  const auto device = device_from_name(text);
  if (!device) refuse(flag, text, std::string(kDeviceForms) + did_you_mean_device(text));
  return *device;
}

Shard parse_shard(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const auto index = number_of<int64_t>(text.substr(0, slash)).value_or(0);
  const auto count = number_of<int64_t>(text.substr(std::min(slash + 1, text.size()))).value_or(0);
  if (index < 1 || index > count || count > kMaxShards)
    refuse("--shard", text, fmt::format("I/N with 1 <= I <= N <= {}, as in 2/4", kMaxShards));
  return {index, count};
}

}  // namespace convscope

// The flags' text forms, their table, and what each does to a suite. See overrides.hpp.
#include "bench/runner/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "bench/core/error.hpp"
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

int64_t whole_number(std::string_view flag, std::string_view text, int64_t lowest, int64_t highest) {
  const auto value = number_of<int64_t>(text);
  if (!value || *value < lowest || *value > highest)
    refuse(flag, text, fmt::format("a whole number from {} to {}", lowest, highest));
  return *value;
}

double number_above_zero(std::string_view flag, std::string_view text, double highest) {
  const auto value = number_of<double>(text);
  if (!value || !(*value > 0) || *value > highest)
    refuse(flag, text, fmt::format("a number above 0, at most {}", highest));
  return *value;
}

double number_from_zero(std::string_view flag, std::string_view text, double highest) {
  const auto value = number_of<double>(text);
  if (!value || !(*value >= 0) || *value > highest)
    refuse(flag, text, fmt::format("a number from 0 to {}", highest));
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

template <typename Values, typename FromName>
auto names_of(std::string_view flag, std::string_view text, const Values& values, FromName from_name) {
  return list_of(flag, text, [&](std::string_view word) {
    const auto value = from_name(word);
    const auto names = all_names(values);
    if (!value) refuse(flag, word, comma_list(names) + did_you_mean(word, names));
    return *value;
  });
}

std::optional<int64_t> byte_limit_of(std::string_view flag, std::string_view text) {
  const auto limit = parse_byte_limit(text);
  if (!limit) refuse(flag, text, std::string(kByteLimitForms));
  return limit->bytes;
}

// In the order of docs/configs.md.
constexpr OverrideFlag kFlags[] = {
    {"--device", "devices", "NAME,...",
     "Devices to run on, one after another: cpu, cuda (the first GPU), cuda:1, emulator.",
     [](Overrides& o, std::string_view text) {
       o.devices =
           list_of("--device", text, [](std::string_view word) { return parse_device("--device", word); });
     }},
    {"--algorithm", "algorithms", "GLOB,...", "Algorithms to run, as patterns over their ids.",
     [](Overrides& o, std::string_view text) {
       o.algorithms = list_of("--algorithm", text, [](std::string_view word) { return std::string(word); });
     }},
    {"--pass", "passes", "NAME,...", "Passes: forward, backward_data, backward_filter.",
     [](Overrides& o, std::string_view text) {
       o.passes = names_of("--pass", text, kPasses, pass_from_name);
     }},
    {"--batch", "batch", "N,...", "Batch sizes, for every layer and every device.",
     [](Overrides& o, std::string_view text) {
       o.batch = list_of("--batch", text, [](std::string_view word) {
         return whole_number("--batch", word, 1, kLargestSize);
       });
     }},
    {"--math", "math", "NAME,...", "Math modes: fp32, tf32, 3xtf32, bf16, fp16.",
     [](Overrides& o, std::string_view text) {
       o.math = names_of("--math", text, kMathModes, math_from_name);
     }},
    {"--layout", "layouts", "NAME,...", "Layouts of the caller's tensors: nchw, nhwc, chwn.",
     [](Overrides& o, std::string_view text) {
       o.layouts = names_of("--layout", text, kLayouts, layout_from_name);
     }},
    {"--threads", "threads", "N,...", "Thread counts on the CPU; 0 is every core.",
     [](Overrides& o, std::string_view text) {
       o.threads = list_of("--threads", text, [](std::string_view word) {
         return static_cast<int>(whole_number("--threads", word, 0, kLargestThreads));
       });
     }},
    {"--first-backward-data", "first_backward_data", "", "Run backward-data on first layers too.",
     [](Overrides& o, std::string_view) { o.first_backward_data = true; }},
    {"--cache", "measuring.cache", "NAME,...", "Cache states: cold, hot, weights-cold.",
     [](Overrides& o, std::string_view text) {
       o.cache = names_of("--cache", text, kCacheStates, cache_state_from_name);
     }},
    {"--workspace-cap", "measuring.workspace_cap", "SIZE,...",
     "Workspace that a candidate may use, as in 256MiB; inf is no cap.",
     [](Overrides& o, std::string_view text) {
       o.workspace_caps = list_of("--workspace-cap", text, [](std::string_view word) {
         return byte_limit_of("--workspace-cap", word);
       });
     }},
    {"--time-limit", "measuring.time_limit_s", "S",
     "Seconds that timing one candidate may take; a series' first six samples may take two limits more.",
     [](Overrides& o, std::string_view text) {
       o.time_limit_seconds = number_above_zero("--time-limit", text, kLongestTimeLimit);
     }},
    {"--stage-limit", "measuring.stage_limit_s", "S",
     "Seconds that one stage of a candidate (plan, verify, measure beyond its time limit) may take before it "
     "counts as hung; 0 derives it from the work.",
     [](Overrides& o, std::string_view text) {
       o.stage_limit_seconds = number_from_zero("--stage-limit", text, kLongestTimeLimit);
     }},
    {"--min-samples", "measuring.min_samples", "N", "Samples of a candidate, at least.",
     [](Overrides& o, std::string_view text) {
       o.min_samples = whole_number("--min-samples", text, 1, kLargestSamples);
     }},
    {"--max-samples", "measuring.max_samples", "N", "Samples of a candidate, at most.",
     [](Overrides& o, std::string_view text) {
       o.max_samples = whole_number("--max-samples", text, 1, kLargestSamples);
     }},
    {"--confidence-width", "measuring.confidence_width", "X",
     "Stop when the median's 95% interval is within this share of it.",
     [](Overrides& o, std::string_view text) {
       o.confidence_width = number_above_zero("--confidence-width", text, 1);
     }},
    {"--seed", "measuring.seed", "N", "Seed of the data and of the interleaving.",
     [](Overrides& o, std::string_view text) {
       o.seed = static_cast<uint64_t>(whole_number("--seed", text, 0, INT64_MAX));
     }},
};

}  // namespace

std::span<const OverrideFlag> override_flags() {
  return kFlags;
}

void apply(const Overrides& overrides, Suite& suite) {
  const auto replace = [&](std::string_view key, const auto& value, auto& target) {
    if (!value) return;
    target = *value;
    const auto flag =
        std::find_if(std::begin(kFlags), std::end(kFlags), [&](const auto& f) { return f.key == key; });
    suite.flag_of[std::string(key)] = flag->flag;
  };
  replace("devices", overrides.devices, suite.devices);
  replace("algorithms", overrides.algorithms, suite.algorithms);
  replace("passes", overrides.passes, suite.passes);
  replace("math", overrides.math, suite.math);
  replace("layouts", overrides.layouts, suite.layouts);
  replace("threads", overrides.threads, suite.threads);
  replace("first_backward_data", overrides.first_backward_data, suite.first_backward_data);
  MeasuringSettings& measuring = suite.measuring;
  replace("measuring.cache", overrides.cache, measuring.cache);
  replace("measuring.workspace_cap", overrides.workspace_caps, measuring.workspace_caps);
  replace("measuring.time_limit_s", overrides.time_limit_seconds, measuring.time_limit_seconds);
  replace("measuring.stage_limit_s", overrides.stage_limit_seconds, measuring.stage_limit_seconds);
  replace("measuring.min_samples", overrides.min_samples, measuring.min_samples);
  replace("measuring.max_samples", overrides.max_samples, measuring.max_samples);
  replace("measuring.confidence_width", overrides.confidence_width, measuring.confidence_width);
  replace("measuring.seed", overrides.seed, measuring.seed);
  for (DeviceKind kind : kDeviceKinds) replace("batch", overrides.batch, suite.batch[kind]);
  if (overrides.batch)
    for (Layer& layer : suite.layers) layer.batch.reset();
  check_suite(suite);
}

DeviceId parse_device(std::string_view flag, std::string_view text) {
  const auto device = device_from_name(text);
  if (!device) refuse(flag, text, std::string(kDeviceForms) + did_you_mean_device(text));
  return *device;
}

Shard parse_shard(std::string_view text) {
  constexpr int64_t most = 1'000'000;
  const size_t slash = std::min(text.find('/'), text.size());
  const auto index = number_of<int64_t>(text.substr(0, slash)).value_or(0);
  const auto count = number_of<int64_t>(text.substr(std::min(slash + 1, text.size()))).value_or(0);
  if (index < 1 || index > count || count > most)
    refuse("--shard", text, fmt::format("I/N with 1 <= I <= N <= {}, as in 2/4", most));
  return {index, count};
}

}  // namespace convscope

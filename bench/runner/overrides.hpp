// What the command line may change in a suite: the flags of `run` and `verify`, as text and as values. The
// flags' own table, override_flags(), is what the command line, its help and docs/configs.md follow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/runner/config.hpp"

namespace convscope {

// Each set field replaces the suite's.
struct Overrides {
  std::optional<std::vector<DeviceId>> devices;
  std::optional<std::vector<std::string>> algorithms;  // globs
  std::optional<std::vector<Pass>> passes;
  std::optional<std::vector<int64_t>> batch;  // for every kind of device and every layer
  std::optional<std::vector<MathMode>> math;
  std::optional<std::vector<Layout>> layouts;
  std::optional<std::vector<int>> threads;  // 0 is every core
  std::optional<std::vector<CacheState>> cache;
  std::optional<std::vector<std::optional<int64_t>>> workspace_caps;  // bytes; null is no cap
  std::optional<double> time_limit_seconds;
  std::optional<double> stage_limit_seconds;
  std::optional<int64_t> min_samples;
  std::optional<int64_t> max_samples;
  std::optional<double> confidence_width;
  std::optional<uint64_t> seed;
  std::optional<bool> first_backward_data;
};

// Changes the suite and checks it again (check_suite). Throws UsageError.
void apply(const Overrides& overrides, Suite& suite);

// One flag. `value` is empty for a flag that stands alone.
struct OverrideFlag {
  std::string_view flag;     // "--batch"
  std::string_view key;      // what it overrides in the config: "batch", "measuring.cache"
  std::string_view value;    // for help: "N,..."
  std::string_view meaning;  // for help: one sentence
  // Reads the text and sets the field. Throws UsageError "--batch: found \"0\"; allowed is ...".
  void (*set)(Overrides& overrides, std::string_view text);
};
std::span<const OverrideFlag> override_flags();

// "cuda:1". Throws UsageError "<flag>: found ...; allowed is ...".
DeviceId parse_device(std::string_view flag, std::string_view text);

// --shard 2/4: the second of four parts. Throws UsageError unless 1 <= index <= count.
struct Shard {
  int64_t index = 1;
  int64_t count = 1;
};
Shard parse_shard(std::string_view text);

}  // namespace convscope

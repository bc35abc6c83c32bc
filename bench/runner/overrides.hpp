// What the command line may change in a suite: the flags of `run` and `verify`, as text and as values. The
// flags' own table, override_flags(), is what the command line, its help and docs/configs.md follow.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/runner/config.hpp"

namespace convscope {

// What one flag changes in a suite.
using SuiteChange = std::function<void(Suite&)>;

// One flag. `value` is empty for a flag that stands alone.
struct OverrideFlag {
  std::string_view flag;     // "--batch"
  std::string_view key;      // what it overrides in the config: "batch", "measuring.cache"
  std::string_view value;    // for help: "N,..."
  std::string_view meaning;  // for help: one sentence
  // Reads the text. Throws UsageError "--batch: found \"0\"; allowed is ...".
  SuiteChange (*read)(std::string_view flag, std::string_view text);
};
std::span<const OverrideFlag> override_flags();

// The flags that were given, each with the change that it makes.
struct Overrides {
  std::vector<std::pair<const OverrideFlag*, SuiteChange>> given;
  // One of override_flags(), with its text. Throws UsageError as read() does.
  void add(std::string_view flag, std::string_view text);
};
// Changes the suite and checks it again (check_suite). Throws UsageError.
void apply(const Overrides& overrides, Suite& suite);

// "cuda:1". Throws UsageError "<flag>: found ...; allowed is ...".
DeviceId parse_device(std::string_view flag, std::string_view text);

// --shard 2/4: the second of four parts. Throws UsageError unless 1 <= index <= count.
struct Shard {
  int64_t index = 1;
  int64_t count = 1;
};
Shard parse_shard(std::string_view text);

}  // namespace convscope

// A suite: what a JSON config (docs/configs.md, configs/schema.json) asks for, checked and with its defaults
// in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/core/result.hpp"

namespace convscope {

// One layer. Batch, pass, math and layout of `shape` are set by the expansion.
struct Layer {
  std::string name;
  ConvProblem shape;
  int64_t count = 1;             // how often the network has it
  bool first = false;            // reads the image: no backward-data by default
  std::optional<int64_t> batch;  // a layer's own batch, as in DeepBench's sets; overrides the suite's
};

// Measuring settings; each has a documented default and a flag.
struct MeasuringSettings {
  std::vector<CacheState> cache{CacheState::cold};
  std::vector<std::optional<int64_t>> workspace_caps{int64_t{256} << 20};  // bytes; null is no cap
  double time_limit_seconds = 15;                                          // per candidate
  int64_t min_samples = 10;
  int64_t max_samples = 200;
  double confidence_width = 0.005;
  uint64_t seed = 1;
};

struct Suite {
  std::string name;
  std::string source;
  std::string file;  // where it was read from, for messages
  std::vector<Layer> layers;
  std::map<DeviceKind, std::vector<int64_t>> batch;
  std::vector<DeviceKind> devices;  // empty: every device present that can be timed
  std::vector<Pass> passes;
  std::vector<MathMode> math;
  std::vector<Layout> layouts;
  std::vector<std::string> algorithms;  // globs
  std::vector<int> threads;             // 0 is every core
  bool first_backward_data = false;
  MeasuringSettings measuring;
};

// Reads and checks a config. Throws UsageError that names the file, the place (line and column for syntax,
// JSON pointer otherwise), what was found and what is allowed.
Suite load_suite(const std::string& path);

}  // namespace convscope

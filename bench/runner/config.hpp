// A suite: what a JSON config (docs/configs.md, configs/schema.json) asks for, checked, with its defaults
// filled in. Start at load_suite(). Flags that override a suite are in overrides.hpp, its expansion in
// cases.hpp.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/layer_operation.hpp"
#include "bench/core/problem.hpp"
#include "bench/record/result.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {

// An output that is read, of a layer or a graph's entry, and the pools that it is read through.
struct ReadOutput {
  std::string name;
  std::vector<LayerOperation> through;
  auto operator<=>(const ReadOutput&) const = default;
};

// One layer. Batch, pass, math and layout of `shape` are set by the expansion.
struct Layer {
  std::string name;
  ConvProblem shape;
  int64_t count = 1;              // how often the network has it
  bool first = false;             // reads the image: no backward-data by default
  std::optional<int64_t> batch;   // a layer's own batch, as in DeepBench's sets; overrides the suite's
  std::vector<ReadOutput> reads;  // of layers, behind one another along channels; none: of the one before
  std::vector<LayerOperation> before;  // pools of what it reads
  std::vector<LayerOperation> after;   // what follows in the network: for steps, not measured by itself
};

// A place of the network's graph, where layers with a count stand several times. graph.hpp makes nodes of
// them.
struct GraphEntry {
  std::string name;
  size_t layer = 0;               // of the suite's
  std::vector<ReadOutput> reads;  // of earlier entries; none: of the one before
  std::vector<LayerOperation> before, after;
};

// The workspace that an algorithm may use where the user says nothing, in bytes.
inline constexpr int64_t kDefaultWorkspaceCap = int64_t{256} << 20;

// Measuring settings; each has a documented default and a flag.
struct MeasuringSettings {
  SamplingRule sampling;
  std::vector<CacheState> cache{CacheState::cold};
  std::vector<std::optional<int64_t>> workspace_caps{kDefaultWorkspaceCap};  // bytes; null is no cap
  uint64_t seed = 1;
  bool is_width_given =
      false;  // sampling.confidence_width is the user's; else bench/runner/resolution may widen it
};

// One batch size for each kind of device.
std::map<DeviceKind, std::vector<int64_t>> default_batches();

// The initial values are the defaults of a config that leaves the field out.
struct Suite {
  std::string name;
  std::string about;   // what it is for, one sentence
  std::string source;  // where the layers come from
  std::string file;    // where it was read from, for messages
  // Fields that a flag has replaced, as in "algorithms" -> "--algorithm"; for messages.
  std::map<std::string, std::string, std::less<>> flag_of;
  std::vector<Layer> layers;
  std::vector<GraphEntry> graph;  // empty: the layers, one after the other
  std::map<DeviceKind, std::vector<int64_t>> batch = default_batches();
  std::vector<DeviceId> devices;  // empty: the first of each kind present that can be timed
  std::vector<Pass> passes{kPasses.begin(), kPasses.end()};
  std::vector<MathMode> math{MathMode::fp32};
  std::vector<Layout> layouts{Layout::nchw};
  std::vector<Epilogue> epilogues{Epilogue::none};  // of the forward pass; other passes have none
  std::vector<std::string> algorithms{"*"};         // globs
  std::vector<int> threads{0};                      // 0 is every core
  bool first_backward_data = false;
  MeasuringSettings measuring;

  // A layer that reads the image has nobody to pass the gradient of its input to.
  bool needs_backward_data(const Layer& layer) const { return !layer.first || first_backward_data; }
};

// The keys that a config's objects may have; configs/schema.json names the same (tested).
inline constexpr std::array<std::string_view, 16> kSuiteKeys{
    "$schema", "name", "about",   "source",    "layers",     "graph",   "batch",     "devices",
    "passes",  "math", "layouts", "epilogues", "algorithms", "threads", "measuring", "first_backward_data"};
inline constexpr std::array<std::string_view, 15> kLayerKeys{
    "name",   "in_channels", "input", "out_channels", "filter", "stride", "pad",  "dilation",
    "groups", "count",       "first", "batch",        "reads",  "before", "after"};
inline constexpr std::array<std::string_view, 5> kGraphKeys{"name", "layer", "reads", "before", "after"};
inline constexpr std::array<std::string_view, 2> kReadKeys{"reads", "before"};
inline constexpr std::array<std::string_view, 8> kMeasuringKeys{
    "cache",       "workspace_cap", "time_limit_s",     "stage_limit_s",
    "min_samples", "max_samples",   "confidence_width", "seed"};

// What a setting may be, here and in flags.
inline constexpr WholeRange kSizes{1, kLargestSize}, kThreadCounts{0, 4096}, kSampleCounts{1, 1'000'000},
    kSeeds{0, INT64_MAX};
inline constexpr NumberRange kTimeLimits{86'400, false}, kStageLimits{86'400, true},
    kConfidenceWidths{1, false};

// Whether the file is the schema that lies beside the configs: configs/*.json names it too.
bool is_schema(const std::string& file);

// Where configs are looked for by name, nearest first: configs here, and beside the program
// (build/../configs). Either may not be there.
std::array<std::filesystem::path, 2> config_folders();

// The files in those folders, by their name: of two that have one the first.
std::map<std::string, std::string> known_configs();

// Reads and checks a config by its path or, where there is no such file and the name has no folder, NAME.json
// in config_folders(). Throws UsageError that names the file, the place (line and column for syntax, JSON
// pointer otherwise), what was found and what is allowed.
Suite load_suite(const std::string& name);

// The same from JSON already read; `file` is for messages.
Suite suite_from_json(const nlohmann::json& json, const std::string& file);

// A config with every field written out, that suite_from_json reads back to the same suite; the confidence
// width only where it was given.
nlohmann::ordered_json to_json(const Suite& suite);

// The checks that look at several fields together, on a suite whose fields are each in range: every layer at
// every batch it can be run at, the graph, and min_samples against max_samples. Throws UsageError. For after
// a change (overrides).
void check_suite(const Suite& suite);

}  // namespace convscope

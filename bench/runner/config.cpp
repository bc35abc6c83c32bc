// JSON to Suite, field by field, and the checks across fields. Start at suite_from_json(). How a value is
// checked and how a message is put together is config_value.hpp's.
#include "bench/runner/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "bench/core/error.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/config_value.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/graph.hpp"

namespace convscope {
namespace {

constexpr WholeRange kPads{0, kLargestSize};

// Leaves `target`, which holds the default, alone where the key is missing.
template <typename T, typename Read>
void read_optional(const ConfigValue& object, std::string_view key, T& target, Read read) {
  if (const auto value = object.find(key)) target = std::invoke(read, *value);
}

// The same for a list that may be written as a single value.
template <typename T, typename Read>
void read_list(const ConfigValue& object, std::string_view key, std::vector<T>& target, Read read) {
  if (const auto value = object.find(key)) target = read_each(value->one_or_list(), read);
}

template <const auto& range>
auto read_number(const ConfigValue& value) {
  return value.number(range);
}
template <const auto& values>
auto read_name(const ConfigValue& value) {
  return value.one_of(values);
}

DeviceId read_device(const ConfigValue& value) {
  const std::string forms(kDeviceForms);
  if (!value.is_text()) value.refuse_value(forms);
  const auto device = device_from_name(value.text());
  if (!device) value.refuse_value(forms + did_you_mean_device(value.text()));
  return *device;
}

LayerOperation read_operation(const ConfigValue& value) {
  if (!value.is_text()) value.refuse_value(operation_forms());
  const auto operation = operation_from_text(value.text());
  if (!operation)
    value.refuse_value(operation_forms() + did_you_mean(value.text(), all_names(kOperationKinds)));
  return *operation;
}

// What follows a layer: the bias, if any, before all else, and every pool fits its image.
std::vector<LayerOperation> read_after(const ConfigValue& value, const ConvProblem& shape) {
  const std::vector<ConfigValue> entries = value.one_or_list();
  std::vector<LayerOperation> after = read_each(entries, read_operation);
  Extent2 image = validate(shape) ? Extent2{kLargestSize, kLargestSize} : shape.output();
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i].kind == OperationKind::bias && i > 0)
      entries[i].refuse_value("bias as the first operation only: it belongs to the convolution");
    const Extent2 from = image;
    image = after[i].output(image);
    if (image.h < 1 || image.w < 1)
      entries[i].refuse_value(fmt::format("a window that fits the image, which is {} there", to_text(from)));
  }
  return after;
}

// Whether the pools' windows fit depends on what is read: the graph's check.
LayerOperation read_pool(const ConfigValue& value) {
  const auto operation = value.is_text() ? operation_from_text(value.text()) : std::nullopt;
  if (!operation || !is_pool(operation->kind))
    value.refuse_value(std::string(kPoolForms) + "; all else follows a layer, in its \"after\"");
  return *operation;
}

// A name, or names that are read through the same pools.
std::vector<ReadOutput> read_outputs(const ConfigValue& value) {
  if (!value.is_object()) return {{value.short_name(), {}}};
  value.check_object(kReadKeys, kReadKeys);
  std::vector<std::string> names;
  std::vector<LayerOperation> through;
  read_list(value, "reads", names, &ConfigValue::short_name);
  read_list(value, "before", through, read_pool);
  std::vector<ReadOutput> outputs;
  for (const std::string& name : names) outputs.push_back({name, through});
  return outputs;
}

void read_reads(const ConfigValue& place, std::vector<ReadOutput>& reads) {
  std::vector<std::vector<ReadOutput>> entries;
  read_list(place, "reads", entries, read_outputs);
  for (const std::vector<ReadOutput>& outputs : entries)
    reads.insert(reads.end(), outputs.begin(), outputs.end());
}

Layer read_layer(const ConfigValue& value) {
  constexpr std::array<std::string_view, 5> required{"name", "in_channels", "input", "out_channels",
                                                     "filter"};
  value.check_object(kLayerKeys, required);
  const auto size = read_number<kSizes>;
  const auto extent = [](const ConfigValue& v) { return v.extent(kSizes); };
  Layer layer;
  layer.name = value.at("name").short_name();
  layer.shape.in_channels = size(value.at("in_channels"));
  layer.shape.input = extent(value.at("input"));
  layer.shape.out_channels = size(value.at("out_channels"));
  layer.shape.filter = extent(value.at("filter"));
  read_optional(value, "stride", layer.shape.stride, extent);
  read_optional(value, "pad", layer.shape.pad, [](const ConfigValue& v) { return v.extent(kPads); });
  read_optional(value, "dilation", layer.shape.dilation, extent);
  read_optional(value, "groups", layer.shape.groups, size);
  read_optional(value, "count", layer.count, size);
  read_optional(value, "first", layer.first, &ConfigValue::boolean);
  read_optional(value, "batch", layer.batch, size);
  read_reads(value, layer.reads);
  read_list(value, "before", layer.before, read_pool);
  read_optional(value, "after", layer.after,
                [&](const ConfigValue& v) { return read_after(v, layer.shape); });
  return layer;
}

// The list `key`, each of whose entries, `thing`s, has a name that no other has.
template <typename Read>
auto read_named(const ConfigValue& value, std::string_view key, std::string_view thing, Read read) {
  std::vector<decltype(read(value))> entries;
  std::map<std::string, size_t> index_of;
  for (const ConfigValue& one : value.list()) {
    auto entry = read(one);
    const auto [earlier, is_new] = index_of.try_emplace(entry.name, entries.size());
    if (!is_new)
      one.at("name").refuse_value(
          fmt::format("a name that no other {} has, and /{}/{} has it", thing, key, earlier->second));
    entries.push_back(std::move(entry));
  }
  return entries;
}

GraphEntry read_entry(const ConfigValue& value, const std::vector<Layer>& layers) {
  constexpr std::array<std::string_view, 1> required{"name"};
  value.check_object(kGraphKeys, required);
  const auto own_name = value.at("name");
  const auto named = value.find("layer").value_or(own_name);
  const std::string layer_name = named.short_name();
  const auto layer = std::ranges::find(layers, layer_name, &Layer::name);
  if (layer == layers.end()) {
    std::vector<std::string> known;
    for (const Layer& one : layers) known.push_back(one.name);
    named.refuse_value("the name of one of /layers, where there is no \"layer\" beside it, too" +
                       did_you_mean(layer_name, known));
  }
  GraphEntry entry{own_name.short_name(), static_cast<size_t>(layer - layers.begin()), {}, {}, layer->after};
  read_reads(value, entry.reads);
  read_list(value, "before", entry.before, read_pool);
  read_optional(value, "after", entry.after,
                [&](const ConfigValue& v) { return read_after(v, layer->shape); });
  return entry;
}

void read_batch(const ConfigValue& value, std::map<DeviceKind, std::vector<int64_t>>& batch) {
  const auto numbers = [](const ConfigValue& v) { return read_each(v.one_or_list(), read_number<kSizes>); };
  if (!value.is_object()) {
    for (DeviceKind kind : kDeviceKinds) batch[kind] = numbers(value);
    return;
  }
  std::vector<std::string_view> kinds;
  for (DeviceKind kind : kDeviceKinds) kinds.push_back(name(kind));
  value.check_object(kinds, {});
  for (DeviceKind kind : kDeviceKinds)
    if (const auto member = value.find(name(kind))) batch[kind] = numbers(*member);
}

void read_measuring(const ConfigValue& value, MeasuringSettings& settings) {
  value.check_object(kMeasuringKeys, {});
  read_list(value, "cache", settings.cache, read_name<kCacheStates>);
  read_list(value, "workspace_cap", settings.workspace_caps, &ConfigValue::byte_limit);
  read_optional(value, "time_limit_s", settings.sampling.time_limit_seconds, read_number<kTimeLimits>);
  read_optional(value, "stage_limit_s", settings.sampling.stage_limit_seconds, read_number<kStageLimits>);
  read_optional(value, "min_samples", settings.sampling.min_samples, read_number<kSampleCounts>);
  read_optional(value, "max_samples", settings.sampling.max_samples, read_number<kSampleCounts>);
  read_optional(value, "confidence_width", settings.sampling.confidence_width,
                read_number<kConfidenceWidths>);
  settings.is_width_given = value.find("confidence_width").has_value();
  read_optional(value, "seed", settings.seed, read_number<kSeeds>);
}

// Every batch that `layer` can be run at.
std::vector<int64_t> batches_of(const Layer& layer, const Suite& suite) {
  if (layer.batch) return {*layer.batch};
  std::vector<int64_t> all;
  for (const auto& [kind, batches] : suite.batch) all.insert(all.end(), batches.begin(), batches.end());
  return all;
}

nlohmann::ordered_json to_json(Extent2 extent) {
  return nlohmann::ordered_json::array({extent.h, extent.w});
}

// The place of a layer or an entry in the graph.
template <typename Place>
void place_to_json(const Place& place, nlohmann::ordered_json& json) {
  std::vector<nlohmann::ordered_json> reads;
  for (const ReadOutput& output : place.reads) {
    reads.emplace_back(output.name);
    if (output.through.empty()) continue;
    reads.back() = {{"reads", output.name}};
    for (const LayerOperation& pool : output.through) reads.back()["before"].push_back(to_text(pool));
  }
  if (reads.size() == 1)
    json["reads"] = reads.front();
  else if (!reads.empty())
    json["reads"] = reads;
  for (const LayerOperation& operation : place.before) json["before"].push_back(to_text(operation));
  for (const LayerOperation& operation : place.after) json["after"].push_back(to_text(operation));
}

nlohmann::ordered_json to_json(const Layer& layer) {
  const ConvProblem& shape = layer.shape;
  nlohmann::ordered_json json{{"name", layer.name},
                              {"in_channels", shape.in_channels},
                              {"input", to_json(shape.input)},
                              {"out_channels", shape.out_channels},
                              {"filter", to_json(shape.filter)},
                              {"stride", to_json(shape.stride)},
                              {"pad", to_json(shape.pad)},
                              {"dilation", to_json(shape.dilation)},
                              {"groups", shape.groups},
                              {"count", layer.count},
                              {"first", layer.first}};
  if (layer.batch) json["batch"] = *layer.batch;
  place_to_json(layer, json);
  return json;
}

nlohmann::ordered_json to_json(const GraphEntry& entry, const std::vector<Layer>& layers) {
  nlohmann::ordered_json json{{"name", entry.name}, {"layer", layers[entry.layer].name}};
  place_to_json(entry, json);
  return json;
}

nlohmann::ordered_json to_json(const MeasuringSettings& settings) {
  std::vector<std::string> caps;
  for (const auto& cap : settings.workspace_caps) caps.push_back(byte_limit_text(cap));
  nlohmann::ordered_json json{{"cache", all_names(settings.cache)},
                              {"workspace_cap", caps},
                              {"time_limit_s", settings.sampling.time_limit_seconds},
                              {"stage_limit_s", settings.sampling.stage_limit_seconds},
                              {"min_samples", settings.sampling.min_samples},
                              {"max_samples", settings.sampling.max_samples},
                              {"seed", settings.seed}};
  if (settings.is_width_given) json["confidence_width"] = settings.sampling.confidence_width;
  return json;
}

// The file that a config is named by; a folder of that name, as of results, is none. Throws UsageError where
// there is none, with the names that there are.
std::string config_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::file_status status = fs::status(name, unknown);
  const bool is_file = fs::exists(status) && !fs::is_directory(status);
  if (is_file || name.find('/') != std::string::npos) return name;
  const std::map<std::string, std::string> files = known_configs();
  const auto file = files.find(name.ends_with(".json") ? fs::path(name).stem().string() : name);
  if (file != files.end()) return file->second;
  std::vector<std::string> known;
  for (const auto& [known_name, path] : files) known.push_back(known_name);
  throw UsageError(fmt::format("{}: there is no such file, and no config of that name{}{}", name,
                               known.empty() ? "" : "; there are " + comma_list(known),
                               did_you_mean(name, known)));
}

}  // namespace

std::map<DeviceKind, std::vector<int64_t>> default_batches() {
  std::map<DeviceKind, std::vector<int64_t>> batches;
  for (DeviceKind kind : kDeviceKinds) batches[kind] = {traits(kind).default_batch};
  return batches;
}

Suite suite_from_json(const nlohmann::json& json, const std::string& file) {
  constexpr std::array<std::string_view, 2> required{"name", "layers"};
  const ConfigValue top(json, file);
  top.check_object(kSuiteKeys, required);
  Suite suite;
  suite.file = file;
  if (const auto schema = top.find("$schema")) schema->text();  // for editors
  suite.name = top.at("name").short_name();
  read_optional(top, "about", suite.about, &ConfigValue::text);
  read_optional(top, "source", suite.source, &ConfigValue::text);
  suite.layers = read_named(top.at("layers"), "layers", "layer", read_layer);
  if (const auto graph = top.find("graph"))
    suite.graph = read_named(*graph, "graph", "entry",
                             [&](const ConfigValue& entry) { return read_entry(entry, suite.layers); });
  if (const auto batch = top.find("batch")) read_batch(*batch, suite.batch);
  read_list(top, "devices", suite.devices, read_device);
  read_list(top, "passes", suite.passes, read_name<kPasses>);
  read_list(top, "math", suite.math, read_name<kMathModes>);
  read_list(top, "layouts", suite.layouts, read_name<kLayouts>);
  read_list(top, "epilogues", suite.epilogues, read_name<kEpilogues>);
  read_list(top, "algorithms", suite.algorithms, &ConfigValue::short_name);
  read_list(top, "threads", suite.threads,
            [](const ConfigValue& v) { return static_cast<int>(v.number(kThreadCounts)); });
  read_optional(top, "first_backward_data", suite.first_backward_data, &ConfigValue::boolean);
  if (const auto measuring = top.find("measuring")) read_measuring(*measuring, suite.measuring);
  check_suite(suite);
  return suite;
}

bool is_schema(const std::string& file) {
  return std::filesystem::path(file).filename() == "schema.json";
}

std::array<std::filesystem::path, 2> config_folders() {
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return {"configs", program.parent_path().parent_path() / "configs"};
}

std::map<std::string, std::string> known_configs() {
  namespace fs = std::filesystem;
  std::error_code unknown;
  std::map<std::string, std::string> files;
  for (const fs::path& folder : config_folders())
    for (const auto& entry : fs::directory_iterator(folder, unknown))
      if (entry.path().extension() == ".json" && entry.is_regular_file(unknown) &&
          !is_schema(entry.path().string()))
        files.try_emplace(entry.path().stem().string(), entry.path().string());
  return files;
}

Suite load_suite(const std::string& name) {
  const std::string file = config_file(name);
  return suite_from_json(read_json_file(file), file);
}

void check_suite(const Suite& suite) {
  for (size_t i = 0; i < suite.layers.size(); ++i)
    for (int64_t batch : batches_of(suite.layers[i], suite)) {
      ConvProblem problem = suite.layers[i].shape;
      problem.batch = batch;
      if (const auto fault = validate(problem))
        throw UsageError(fmt::format("{}: at /layers/{}: layer \"{}\" at batch {}: {}", suite.file, i,
                                     suite.layers[i].name, batch, *fault));
    }
  graph_of(suite, 2);
  const int64_t min = suite.measuring.sampling.min_samples, max = suite.measuring.sampling.max_samples;
  if (min <= max) return;
  if (suite.flag_of.contains("measuring.max_samples"))
    throw UsageError(fmt::format(
        "--max-samples: found the number {}; allowed is at least min_samples (--min-samples), which is {}",
        max, min));
  const bool is_flag = suite.flag_of.contains("measuring.min_samples");
  throw UsageError(fmt::format("{}: found the number {}; allowed is at most max_samples, which is {}",
                               is_flag ? "--min-samples" : suite.file + ": at /measuring/min_samples", min,
                               max));
}

nlohmann::ordered_json to_json(const Suite& suite) {
  nlohmann::ordered_json json{{"name", suite.name}, {"about", suite.about}, {"source", suite.source}};
  for (const auto& [kind, batches] : suite.batch) json["batch"][std::string(name(kind))] = batches;
  if (!suite.devices.empty()) json["devices"] = all_names(suite.devices);
  json["passes"] = all_names(suite.passes);
  json["math"] = all_names(suite.math);
  json["layouts"] = all_names(suite.layouts);
  json["epilogues"] = all_names(suite.epilogues);
  json["algorithms"] = suite.algorithms;
  json["threads"] = suite.threads;
  json["first_backward_data"] = suite.first_backward_data;
  json["measuring"] = to_json(suite.measuring);
  for (const Layer& layer : suite.layers) json["layers"].push_back(to_json(layer));
  for (const GraphEntry& entry : suite.graph) json["graph"].push_back(to_json(entry, suite.layers));
  return json;
}

}  // namespace convscope

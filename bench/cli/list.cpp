#include "bench/cli/list.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/core/error.hpp"
#include "bench/record/columns.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

struct Probe {
  const char* name;
  const char* problem;
};

constexpr Probe kProbes[] = {
    {"1x1", "n=2 c=16 hw=14 k=32 rs=1"},
    {"3x3", "n=2 c=16 hw=13 k=32 rs=3 pad=1"},
    {"5x5", "n=2 c=16 hw=27 k=32 rs=5 pad=2"},
    {"7x7", "n=2 c=16 hw=28 k=32 rs=7 pad=3"},
    {"3x3 stride 2", "n=2 c=16 hw=28 k=32 rs=3 stride=2 pad=1"},
    {"11x11 stride 4", "n=2 c=3 hw=59 k=32 rs=11 stride=4"},
    {"3x3 dilation 2", "n=2 c=16 hw=14 k=32 rs=3 pad=2 dilation=2"},
    {"3x3 groups 2", "n=2 c=16 hw=14 k=32 rs=3 pad=1 groups=2"},
    {"3x3 depthwise", "n=2 c=16 hw=14 k=16 rs=3 pad=1 groups=16"},
    {"1x7", "n=2 c=16 hw=17 k=32 rs=1x7 pad=0x3"},
};

template <typename T>
void add_once(std::vector<T>& list, const T& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

std::vector<std::string> probe_names() {
  std::vector<std::string> names;
  for (const Probe& probe : kProbes) names.emplace_back(probe.name);
  return names;
}

// What an algorithm supports, found out by asking its supports() about a fixed set of small problems, so that
// no algorithm states its limits twice. Limits that only large problems reach are not seen; `explain` asks
// about one problem.
struct Capability {
  std::vector<Pass> passes;         // those supported for at least one probe
  std::vector<Layout> layouts;      // likewise
  std::vector<MathMode> math;       // likewise
  std::vector<std::string> shapes;  // probes supported forward: "3x3", "11x11 stride 4", "depthwise"
  std::string refusal;              // the sentence about the first probe, where none is supported
};

Capability capability(const Algorithm& algorithm, const DeviceInfo& device) {
  Capability found;
  for (Pass pass : kPasses)
    for (Layout layout : kLayouts)
      for (MathMode math : kMathModes)
        for (const Probe& probe : kProbes) {
          ConvProblem problem = parse_problem(probe.problem);
          problem.pass = pass;
          problem.layout = layout;
          problem.math = math;
          const Support support = algorithm.supports(problem, device);
          if (!support) {
            if (found.refusal.empty()) found.refusal = support.why();
            continue;
          }
          add_once(found.passes, pass);
          add_once(found.layouts, layout);
          add_once(found.math, math);
          if (pass == Pass::forward) add_once(found.shapes, std::string(probe.name));
        }
  if (!found.passes.empty()) found.refusal.clear();
  return found;
}

// The first that runs the algorithm: the GPU comes before the emulator. Null when there is none.
const DeviceInfo* device_of(const Algorithm& algorithm, const DeviceList& devices) {
  for (const DeviceInfo& device : devices.present)
    if (runs_on(algorithm.info(), device.kind)) return &device;
  return nullptr;
}

Capability capability_here(const Algorithm& algorithm, const DeviceList& devices) {
  if (const DeviceInfo* device = device_of(algorithm, devices)) return capability(algorithm, *device);
  Capability none;
  for (const MissingDevice& missing : devices.missing)
    if (missing.kind == algorithm.info().device) none.refusal = missing.why;
  if (none.refusal.empty())
    none.refusal = fmt::format("this machine has no {} device", name(algorithm.info().device));
  return none;
}

Json algorithm_json(const Algorithm& algorithm, const Capability& can) {
  const AlgorithmInfo& info = algorithm.info();
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"id", info.id},
          {"family", info.family},
          {"provider", info.provider},
          {"version", text_or_null(info.version)},
          {"device", name(info.device)},
          {"summary", info.summary},
          {"candidate", info.candidate},
          {"emulated", info.device == DeviceKind::cuda && info.emulated},
          {"on_request", info.on_request},
          {"exact_on_integers", info.exact_on_integers},
          {"passes", all_names(can.passes)},
          {"layouts", all_names(can.layouts)},
          {"math", all_names(can.math)},
          {"shapes", can.shapes},
          {"refusal", text_or_null(can.refusal)}};
}

// "all", or those that can be done and, where fewer, those that cannot.
std::string shapes_text(const std::vector<std::string>& can, const std::vector<std::string>& all) {
  std::vector<std::string> cannot;
  for (const std::string& shape : all)
    if (std::find(can.begin(), can.end(), shape) == can.end()) cannot.push_back(shape);
  if (cannot.empty()) return "all probed";
  return cannot.size() < can.size() ? "all probed but " + comma_list(cannot) : comma_list(can);
}

// All that is printed of an algorithm behind its id.
std::string description(const AlgorithmInfo& info, const Capability& can) {
  std::string text = fmt::format("  ({}{}{}{})\n", info.provider, info.version.empty() ? "" : " ",
                                 info.version, info.candidate ? "" : ", never timed");
  if (!info.summary.empty()) text += fmt::format("  {}\n", info.summary);
  if (!can.refusal.empty()) return text + fmt::format("  not here: {}\n", can.refusal);
  text += fmt::format("  passes {}; layouts {}; math {}\n", comma_list(all_names(can.passes)),
                      comma_list(all_names(can.layouts)), comma_list(all_names(can.math)));
  return text + fmt::format("  filters {}\n", can.shapes.empty() ? "not in the forward pass"
                                                                 : shapes_text(can.shapes, probe_names()));
}

// Neighbours of which the same is to be said share one entry.
void print_algorithms(std::ostream& out, const Registry& registry, const DeviceList& devices) {
  std::vector<std::string> ids;
  std::string common;
  const auto print = [&] {
    if (!ids.empty()) fmt::print(out, "{}{}", comma_list(shortened(ids)), common);
    ids.clear();
  };
  for (const Algorithm* algorithm : registry.all()) {
    const std::string text = description(algorithm->info(), capability_here(*algorithm, devices));
    if (text != common) print();
    common = text;
    ids.push_back(algorithm->info().id);
  }
  print();
}

int act(const ListOptions& options, const Program& program) {
  list(program.out, options, program.registry);
  return 0;
}

}  // namespace

void list(std::ostream& out, const ListOptions& options, const Registry& registry) {
  if (options.what == "layers" && options.config.empty())
    throw UsageError("list layers: name a config, as in `convscope list layers configs/alexnet.json`");
  if (options.what != "layers" && !options.config.empty())
    throw UsageError(
        fmt::format("list {}: \"{}\" is one argument too many; only `list layers` reads a config",
                    options.what, options.config));
  if (options.what != "columns" && options.markdown)
    throw UsageError("--markdown is for `list columns` only");

  if (options.what == "algorithms")
    list_algorithms(out, registry, find_devices(), options.json);
  else if (options.what == "devices")
    list_devices(out, find_devices(), options.json);
  else if (options.what == "layers")
    list_layers(out, load_suite(options.config), options.json);
  else if (options.what == "columns")
    list_columns(out, options.json, options.markdown);
  else
    throw UsageError(
        fmt::format("list: found \"{}\"; allowed are algorithms, devices, layers and columns", options.what));
}

void list_algorithms(std::ostream& out, const Registry& registry, const DeviceList& devices, bool json) {
  if (!json) return print_algorithms(out, registry, devices);
  Json all = Json::array();
  for (const Algorithm* algorithm : registry.all())
    all.push_back(algorithm_json(*algorithm, capability_here(*algorithm, devices)));
  out << dump_json(all, 2) << '\n';
}

void list_devices(std::ostream& out, const DeviceList& devices, bool json) {
  if (json) {
    Json all = Json::array();
    for (const DeviceInfo& device : devices.present) all.push_back(to_json(device));
    out << dump_json(all, 2) << '\n';
    return;
  }
  const auto size = [](int64_t bytes) { return bytes_text(bytes); };
  TextTable table(
      {"<device", "<name", ">cores", "<vectors", ">L1", ">L2", ">last cache", ">memory", "<virtual"});
  for (const DeviceInfo& device : devices.present)
    table.add({device.kind == DeviceKind::cuda ? fmt::format("cuda:{}", device.index) : name(device.id()),
               device.name, std::to_string(device.cores), device.instructions, size(device.l1_bytes),
               size(device.l2_bytes), size(device.llc_bytes), size(device.memory_bytes),
               device.virtualised ? "yes" : "no"});
  table.print(out, false);
  for (const MissingDevice& missing : devices.missing) fmt::print(out, "{}\n", missing.why);
}

void list_layers(std::ostream& out, const Suite& suite, bool json) {
  if (json) {
    Json layers = Json::array();
    for (const Layer& layer : suite.layers)
      layers.push_back({{"name", layer.name},
                        {"count", layer.count},
                        {"first", layer.first},
                        {"batch", layer.batch ? Json(*layer.batch) : Json(nullptr)},
                        {"problem", to_line(layer.shape)},
                        {"benchdnn", to_benchdnn(layer.shape)},
                        {"output", {layer.shape.output().h, layer.shape.output().w}},
                        {"flops_nominal", layer.shape.nominal_flops()},
                        {"bytes_min", layer.shape.total_bytes()}});
    const Json document = {{"name", suite.name}, {"source", suite.source}, {"layers", layers}};
    out << dump_json(document, 2) << '\n';
    return;
  }
  TextTable table({"<layer", ">count", "<problem", ">output", ">work", ">tensors"});
  for (const Layer& layer : suite.layers) {
    const Extent2 output = layer.shape.output();
    table.add({layer.name, std::to_string(layer.count), problem_words(layer.shape),
               fmt::format("{}x{}", output.h, output.w), flops_text(layer.shape.nominal_flops()),
               bytes_text(layer.shape.total_bytes())});
  }
  fmt::print(out, "{}{}{}\n", suite.name, suite.source.empty() ? "" : ": ", suite.source);
  table.print(out, false);
}

void list_columns(std::ostream& out, bool json, bool markdown) {
  if (markdown) {
    out << results_format_markdown();
    return;
  }
  if (json) {
    Json all = Json::array();
    for (const Column& column : columns())
      all.push_back({{"name", column.name}, {"unit", column.unit}, {"meaning", column.meaning}});
    out << dump_json(all, 2) << '\n';
    return;
  }
  TextTable table({"<column", "<unit", "<meaning"});
  for (const Column& column : columns())
    table.add({std::string(column.name), std::string(column.unit), std::string(column.meaning)});
  table.print(out, false);
}

void add_flags(CLI::App& verb, ListOptions& options) {
  verb.add_option("WHAT", options.what, "algorithms, devices, layers or columns")
      ->type_name("WHAT")
      ->required();
  verb.add_option("CONFIG", options.config, "The config whose layers are listed")->type_name("FILE");
  add_json(verb, options.json);
  verb.add_flag("--markdown", options.markdown, "Of columns: print docs/results_format.md.");
  verb.footer("Examples:\n  convscope list algorithms\n  convscope list layers configs/alexnet.json --json");
}

Verb list_verb() {
  return make_verb<ListOptions>(
      "list", "List the algorithms, the devices, a config's layers or the result columns.", add_flags, act);
}

}  // namespace convscope

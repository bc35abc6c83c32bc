#include "bench/cli/inventory/list.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/core/error.hpp"
#include "bench/operation/measure_operations.hpp"
#include "bench/parallel/allreduce/reduction_row.hpp"
#include "bench/parallel/schedule/step_report.hpp"
#include "bench/record/columns.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/step/task_row.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

// "16", "1,16", and "own" where every layer has its own.
std::string batch_text(const Suite& suite, DeviceKind kind) {
  const bool have_their_own =
      std::ranges::all_of(suite.layers, [](const Layer& layer) { return layer.batch.has_value(); });
  return have_their_own ? "own" : fmt::format("{}", fmt::join(suite.batch.at(kind), ","));
}

// Nominal operations of a forward pass: of one image, and of layers with a batch of their own of that.
double forward_flops(const Suite& suite) {
  double flops = 0;
  for (const Layer& layer : suite.layers) {
    ConvProblem problem = layer.shape;
    problem.batch = layer.batch.value_or(1);
    flops += problem.nominal_flops() * static_cast<double>(layer.count);
  }
  return flops;
}

int64_t convolutions(const Suite& suite) {
  int64_t count = 0;
  for (const Layer& layer : suite.layers) count += layer.count;
  return count;
}

Json config_json(const Suite& suite) {
  return {{"name", suite.name},
          {"file", suite.file},
          {"about", suite.about},
          {"source", suite.source},
          {"layers", suite.layers.size()},
          {"convolutions", convolutions(suite)},
          {"batch", to_json(suite)["batch"]},
          {"forward_flops_nominal", forward_flops(suite)}};
}

// The columns of one kind of file; `markdown` is the page that has them.
template <typename Row>
void list_columns_of(std::ostream& out, std::span<const ColumnOf<Row>> all, std::string (*markdown)(),
                     const ListOptions& options, const Look& look) {
  if (options.markdown) {
    out << markdown();
    return;
  }
  Json json = Json::array();
  TextTable table({"<column", "<unit", "=meaning"});
  for (const ColumnOf<Row>& column : all) {
    json.push_back({{"name", column.name}, {"unit", column.unit}, {"meaning", column.meaning}});
    table.add({std::string(column.name), std::string(column.unit), std::string(column.meaning)});
  }
  if (options.json)
    out << dump_json(json, 2) << '\n';
  else
    table.print(out, look);
}

int act(const ListOptions& options, const Program& program) {
  list(program.out, options, program.registry, program.terminal.look());
  return 0;
}

}  // namespace

void list(std::ostream& out, const ListOptions& options, const Registry& registry, const Look& look) {
  const bool has_argument = !options.argument.empty();
  if (options.what == "layers" && !has_argument)
    throw UsageError(
        "list layers: name a config, as in `convscope list layers alexnet` (`convscope list configs`)");
  if ((options.what == "configs" || options.what == "devices") && has_argument)
    throw UsageError(fmt::format(
        "list {}: \"{}\" is one argument too many; only `list layers`, `list algorithms` and `list "
        "columns` take one",
        options.what, options.argument));
  if (options.what != "columns" && options.markdown)
    throw UsageError("--markdown is for `list columns` only");
  AlgorithmFilter filter = options.filter;
  const bool is_filtered = !filter.patterns.empty() || filter.device || !filter.passes.empty() ||
                           !filter.math.empty() || filter.here;
  if (options.what != "algorithms" && is_filtered)
    throw UsageError("--algorithm, --device, --pass, --math and --here are for `list algorithms` only");

  if (options.what == "algorithms") {
    if (has_argument) filter.patterns.push_back(options.argument);
    list_algorithms(out, registry, find_devices(), filter, options.json, look);
  } else if (options.what == "configs") {
    list_configs(out, known_configs(), options.json, look);
  } else if (options.what == "devices") {
    list_devices(out, find_devices(), options.json, look);
  } else if (options.what == "layers") {
    list_layers(out, load_suite(options.argument), options.json, look);
  } else if (options.what == "columns") {
    list_columns(out, options, look);
  } else {
    const std::vector<std::string> known(kListings.begin(), kListings.end());
    throw UsageError(fmt::format("list: found \"{}\"; allowed are {}{}", options.what, comma_list(known),
                                 did_you_mean(options.what, known)));
  }
}

void list_configs(std::ostream& out, const std::map<std::string, std::string>& files, bool json,
                  const Look& look) {
  Json all = Json::array();
  TextTable table(
      {"<config", ">layers", ">batch cpu|N cpu", ">batch cuda|N cuda", ">GFLOP", "=what it is for"}, {3});
  std::string faults;
  for (const auto& [name, file] : files) {
    try {
      const Suite suite = load_suite(file);
      all.push_back(config_json(suite));
      table.add({name, std::to_string(suite.layers.size()), batch_text(suite, DeviceKind::cpu),
                 batch_text(suite, DeviceKind::cuda), fmt::format("{:.3g}", forward_flops(suite) / 1e9),
                 suite.about});
    } catch (const UsageError& fault) {
      all.push_back({{"name", name}, {"file", file}, {"fault", fault.what()}});
      faults += fmt::format("not a config: {}\n", fault.what());
    }
  }
  if (json) {
    out << dump_json(all, 2) << '\n';
    return;
  }
  if (!table.empty()) out << left_out_text(table.print(out, look), look);
  out << faults
      << wrapped(files.empty() ? "there is no folder configs here or beside the program"
                               : "GFLOP: nominal, forward, of one image, or of a layer's own batch. "
                                 "`convscope list layers NAME` shows one, `convscope run NAME` "
                                 "measures it.",
                 look.columns, "")
      << '\n';
}

void list_devices(std::ostream& out, const DeviceList& devices, bool json, const Look& look) {
  if (json) {
    Json all = Json::array();
    for (const DeviceInfo& device : devices.present) all.push_back(to_json(device));
    out << dump_json(all, 2) << '\n';
    return;
  }
  const auto size = [](int64_t bytes) { return bytes_text(bytes); };
  TextTable table(
      {"<device", "=name", ">cores", "<vectors", ">L1", ">L2", ">last cache|LLC", ">memory", "<virtual"},
      {4, 8, 5});
  for (const DeviceInfo& device : devices.present)
    table.add({device.kind == DeviceKind::cuda ? fmt::format("cuda:{}", device.index) : name(device.id()),
               device.name, std::to_string(device.cores), device.instructions, size(device.l1_bytes),
               size(device.l2_bytes), size(device.llc_bytes), size(device.memory_bytes),
               device.virtualised ? "yes" : "no"});
  out << left_out_text(table.print(out, look), look);
  for (const MissingDevice& missing : devices.missing) fmt::print(out, "{}\n", missing.why);
}

void list_layers(std::ostream& out, const Suite& suite, bool json, const Look& look) {
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
    const Json document = {
        {"name", suite.name}, {"about", suite.about}, {"source", suite.source}, {"layers", layers}};
    out << dump_json(document, 2) << '\n';
    return;
  }
  TextTable table({"<layer", ">count", "<problem", ">output", ">work", ">tensors"}, {5, 3, 4});
  for (const Layer& layer : suite.layers) {
    const Extent2 output = layer.shape.output();
    table.add({layer.name, std::to_string(layer.count), problem_words(layer.shape),
               fmt::format("{}x{}", output.h, output.w), flops_text(layer.shape.nominal_flops()),
               bytes_text(layer.shape.total_bytes())});
  }
  out << wrapped(suite.name + (suite.about.empty() ? "" : ": " + suite.about), look.columns, "") << '\n';
  if (!suite.source.empty()) out << wrapped("source: " + suite.source, look.columns, "  ") << '\n';
  out << left_out_text(table.print(out, look), look);
}

void list_columns(std::ostream& out, const ListOptions& options, const Look& look) {
  if (options.argument.empty() || options.argument == "results")
    list_columns_of(out, columns(), results_format_markdown, options, look);
  else if (options.argument == "allreduce")
    list_columns_of(out, reduction_columns(), step_format_markdown, options, look);
  else if (options.argument == "steps")
    list_columns_of(out, step_columns(), step_format_markdown, options, look);
  else if (options.argument == "tasks")
    list_columns_of(out, task_columns(), task_format_markdown, options, look);
  else if (options.argument == "operations")
    list_columns_of(out, operation_columns(), operation_format_markdown, options, look);
  else
    throw UsageError(
        fmt::format("list columns: found \"{}\"; allowed is results, allreduce, steps, tasks, operations",
                    options.argument));
}

void add_flags(CLI::App& verb, ListOptions& options) {
  verb.add_option("WHAT", options.what, "algorithms, configs, devices, layers or columns")
      ->type_name("WHAT")
      ->required();
  verb.add_option(
          "NAME", options.argument,
          "Of layers: the config. Of algorithms: a pattern, as --algorithm. Of columns: results (when left "
          "out), allreduce, steps, tasks, operations.")
      ->type_name("NAME");
  const auto add_list = [&](const std::string& flag, std::vector<std::string>& target,
                            const std::string& meaning) {
    return verb.add_option(flag, target, meaning)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("NAME,...");
  };
  AlgorithmFilter& filter = options.filter;
  add_list("--algorithm", filter.patterns,
           "Of algorithms: these only: ids, families (winograd), patterns ('*.mixed.*'); !NAME leaves out.");
  add_device(verb, filter.device, "Of algorithms: those that run on it: cpu, cuda, cuda:1, emulator.");
  add_list("--pass", filter.passes, "Of algorithms: those that do one of these passes.")
      ->check(CLI::IsMember(all_names(kPasses)));
  add_list("--math", filter.math, "Of algorithms: those that do one of these math modes.")
      ->check(CLI::IsMember(all_names(kMathModes)));
  verb.add_flag("--here", filter.here,
                "Of algorithms: those that can be timed on this machine, or run on --device.");
  add_json(verb, options.json);
  verb.add_flag("--markdown", options.markdown, "Of columns: print the page of docs/ that has them.");
  verb.footer(
      "Tables are as wide as the terminal, or as COLUMNS in the environment says.\n\n"
      "Examples:\n"
      "  convscope list configs\n"
      "  convscope list layers alexnet --json\n"
      "  convscope list algorithms winograd --pass backward_data --here");
}

Verb list_verb() {
  return make_verb<ListOptions>(
      "list", "List the algorithms, the configs, a config's layers, the devices or the result columns.",
      add_flags, act);
}

}  // namespace convscope

// The verb `choose`: which algorithm our cost model (bench/select/cost_model) takes for each layer and pass,
// from the problem and measured ceilings alone; for results also what that choice cost. Runs no convolution.
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/device/device_error.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/cases.hpp"
#include "bench/runner/devices.hpp"
#include "bench/select/cost_model.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

struct ChooseOptions {
  std::string config;                // the argument; empty with --results
  std::vector<std::string> results;  // --results: files or folders
  Overrides overrides;               // of the config
  bool json = false;
};

using Json = nlohmann::ordered_json;

// The device of the group at hand, and the ceilings of each device and thread count, measured once. One
// device at a time: of several GPUs the one made last is current, and plans are made on that.
class ReadyDevice {
 public:
  void take(DeviceId id, int threads) {
    const Place place{id, threads};
    if (!device_ || place_ != place) device_ = make_device(id, {.threads = threads});
    place_ = place;
    if (!ceilings_.contains(place)) ceilings_[place] = measure_ceilings(*device_, threads);
  }
  Device& device() const { return *device_; }
  const Ceilings& ceilings() const { return ceilings_.at(place_); }

 private:
  using Place = std::pair<DeviceId, int>;
  Place place_;
  std::unique_ptr<Device> device_;
  std::map<Place, Ceilings> ceilings_;
};

// The counts of the plan within the cap; nothing where there is none or it does not say.
std::optional<OperationCount> planned_operations(const Algorithm& algorithm, const CaseKey& key,
                                                 Device& device) {
  const int64_t cap = key.workspace_cap.value_or(INT64_MAX);
  try {
    return plan_within_cap(algorithm, key.problem, device, {cap, key.threads})->operations();
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception&) {
    return {};
  }
}

std::vector<PlannedAlgorithm> planned(const Group& group, const Registry& registry, Device& device) {
  std::vector<PlannedAlgorithm> algorithms;
  for (const std::string& id : group.algorithms) {
    const Algorithm& algorithm = *registry.find(id);
    const ConvProblem& problem = group.common.problem;
    if (!counts_are_known(algorithm.info()) || !algorithm.supports(problem, device.info())) continue;
    const auto operations = planned_operations(algorithm, group.common, device);
    if (operations) algorithms.push_back({id, *operations});
  }
  return algorithms;
}

struct PlannedGroup {
  CaseKey key;
  DeviceInfo device;
  std::vector<Prediction> predictions;  // the fastest first
};

std::vector<PlannedGroup> predict_all(const ChooseOptions& options, const Registry& registry) {
  Suite suite = load_suite(options.config);
  apply(options.overrides, suite);
  std::vector<PlannedGroup> planned_groups;
  ReadyDevice here;
  for (const Group& group : expand(suite, registry, find_devices())) {
    const CaseKey& key = group.common;
    if (key.device == DeviceKind::emulator) continue;  // it has no ceilings
    here.take(key.device_id(), key.threads);
    planned_groups.push_back(
        {key, here.device().info(),
         predict(key.problem, planned(group, registry, here.device()), here.ceilings())});
  }
  if (planned_groups.empty())
    throw UsageError("choose: found only the emulator; allowed are devices that have times, as cpu and cuda");
  return planned_groups;
}

Json to_json(const PlannedGroup& group) {
  const CaseKey& key = group.key;
  Json json{{"network", key.network},
            {"layer", key.layer},
            {"count", key.count},
            {"problem", to_line(key.problem)},
            {"device", name(key.device_id())},
            {"threads", key.threads},
            {"workspace_cap_bytes", key.workspace_cap ? Json(*key.workspace_cap) : Json(nullptr)},
            {"chosen", group.predictions.empty() ? Json(nullptr) : Json(group.predictions.front().algorithm)},
            {"predictions", Json::array()}};
  for (const Prediction& one : group.predictions)
    json["predictions"].push_back({{"algorithm", one.algorithm},
                                   {"seconds", one.seconds()},
                                   {"compute_seconds", one.compute_seconds},
                                   {"memory_seconds", one.memory_seconds}});
  return json;
}

TextTable empty_table() {
  return TextTable({"<layer and pass", ">count", "<chosen", ">at best ms|ms", ">arithmetic", ">memory",
                    "<next", ">next ms"},
                   {1, 4, 5, 7, 6});
}

void add_group(TextTable& table, const PlannedGroup& group) {
  const std::string layer = fmt::format("{} {}", group.key.layer, name(group.key.problem.pass));
  const std::string count = fmt::format("{}", group.key.count);
  const std::vector<Prediction>& all = group.predictions;
  if (all.empty()) {
    table.add({layer, count, "nothing that says what it does", "-", "-", "-", "-", "-"});
    return;
  }
  const Prediction& best = all.front();
  table.add({layer, count, best.algorithm, milliseconds_text(best.seconds()),
             milliseconds_text(best.compute_seconds), milliseconds_text(best.memory_seconds),
             all.size() > 1 ? all[1].algorithm : "-",
             all.size() > 1 ? milliseconds_text(all[1].seconds()) : "-"});
}

// What a table stands under: the network with its batch, and the circumstances.
std::pair<std::string, std::string> scope_of(const PlannedGroup& group) {
  return {fmt::format("{}, batch {}", group.key.network, group.key.problem.batch),
          circumstances(group.key, group.device)};
}

// A table for each run of groups under the same circumstances.
void print_groups(std::ostream& out, const std::vector<PlannedGroup>& groups, const Look& look) {
  std::pair<std::string, std::string> scope;
  TextTable table = empty_table();
  const auto flush = [&] {
    if (!table.empty()) out << left_out_text(table.print(out, look), look);
    table = empty_table();
  };
  for (const PlannedGroup& group : groups) {
    if (scope_of(group) != scope) {
      flush();
      scope = scope_of(group);
      print_heading(out, scope.first, scope.second, look);
    }
    add_group(table, group);
  }
  flush();
}

void choose_for_config(const ChooseOptions& options, const Program& program) {
  const std::vector<PlannedGroup> groups = predict_all(options, program.registry);
  if (!options.json) return print_groups(program.out, groups, program.terminal.look());
  Json json = Json::array();
  for (const PlannedGroup& group : groups) json.push_back(to_json(group));
  program.out << dump_json(json, 1) << '\n';
}

void choose_for_results(const ChooseOptions& options, const Program& program) {
  const ResultFile file = read_all_results(options.results);
  const Selection selection = select(file.records, default_choosers());
  if (options.json)
    program.out << dump_json(predictions_json(selection), 1) << '\n';
  else
    print_predictions(program.out, selection, program.terminal.look());
}

int choose(const ChooseOptions& options, const Program& program) {
  if (options.results.empty())
    choose_for_config(options, program);
  else
    choose_for_results(options, program);
  return 0;
}

void check(const CLI::App& verb, const ChooseOptions& options) {
  if (options.config.empty() && options.results.empty())
    throw UsageError(
        "convscope choose needs a CONFIG or --results, as in: convscope choose configs/alexnet.json "
        "(convscope choose --help)");
  for (const std::string& flag : given_flags(verb))
    if (!options.results.empty() && flag != "--results" && flag != "--json")
      throw UsageError("--results says the whole problem; leave out " + flag);
}

void add_flags(CLI::App& verb, ChooseOptions& options) {
  verb.add_option("CONFIG", options.config, "A JSON config file (docs/configs.md)")->type_name("FILE");
  verb.add_option("--results", options.results,
                  "Result folders, their results.json, or kept runs, instead of a CONFIG: predict from "
                  "their ceilings, "
                  "and say what each choice cost.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PATH,...");
  add_overrides(verb, options.overrides,
                {"--cache", "--time-limit", "--stage-limit", "--min-samples", "--max-samples",
                 "--confidence-width", "--seed"});
  add_json(verb, options.json);
  verb.footer(
      "Runs no convolution; with a CONFIG it measures the ceilings first, for about a second a thread "
      "count.\nTimes are the least that the ceilings allow: they say who is faster, not how long it takes "
      "(docs/selection.md).\n\n"
      "Examples:\n"
      "  convscope choose configs/alexnet.json --batch 16\n"
      "  convscope choose --results out/alexnet");
}

}  // namespace

Verb choose_verb() {
  return make_verb<ChooseOptions>(
      "choose", "Predict the fastest algorithm of each layer and pass from the measured ceilings alone.",
      add_flags, choose, check);
}

}  // namespace convscope

#include "bench/cli/inventory/explain.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <vector>

#include "bench/core/counted.hpp"
#include "bench/core/error.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/record/bound.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

// What is known about one algorithm on the problem. `why` is set where it cannot do it.
struct Explanation {
  std::string algorithm;
  std::optional<DeviceKind> device;
  Reason reason = Reason::none;
  std::string why;
  std::string implementation;
  std::optional<OperationCount> operations;
  int64_t workspace_bytes = 0;
  std::optional<Bound> bound;
};

Explanation explain_one(const Algorithm& algorithm, const ConvProblem& problem, const ExplainOptions& options,
                        std::span<const ExplainedDevice> devices) {
  Explanation result;
  result.algorithm = algorithm.info().id;
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const ExplainedDevice& one) {
    return runs_on(algorithm.info(), one.device.info().kind);
  });
  if (found == devices.end()) {
    result.reason = Reason::device_missing;
    result.why = fmt::format("no {} device was asked about", name(algorithm.info().device));
    return result;
  }
  Device& device = found->device;
  const Ceilings& ceilings = found->ceilings;
  result.device = device.info().kind;
  const Support support = algorithm.supports(problem, device.info());
  result.reason = support.reason();
  result.why = support.why();
  if (!support) return result;
  const int64_t cap = options.workspace_cap.value_or(INT64_MAX);
  try {
    const auto plan = algorithm.plan(problem, device, {cap, ceilings.threads});
    result.operations = plan->operations();
    result.bound =
        bound(problem, result.operations.value_or(OperationCount{}), options.cache, device.info(), ceilings);
    result.implementation = plan->implementation();
    result.workspace_bytes = plan->workspace_bytes();
  } catch (const Refused& refusal) {
    result.reason = refusal.reason();
    result.why = refusal.what();
  } catch (const std::bad_alloc&) {
    result.reason = Reason::out_of_memory;
    result.why = "there is not enough memory for its plan";
  } catch (const std::exception& error) {
    result.reason = Reason::failed;
    result.why = error.what();
  }
  if (result.workspace_bytes > cap) {
    result.reason = Reason::workspace_over_cap;
    result.why = over_cap_text(result.workspace_bytes, cap);
  }
  return result;
}

double intensity(const OperationCount& count, const ConvProblem& problem) {
  return count.executed_flops() / static_cast<double>(problem.total_bytes());
}

Json to_json(const Explanation& one, const ConvProblem& problem) {
  Json json = {{"algorithm", one.algorithm}, {"supported", one.reason == Reason::none}};
  json["device"] = one.device ? Json(name(*one.device)) : Json(nullptr);
  json["reason"] = one.reason == Reason::none ? Json(nullptr) : Json(name(one.reason));
  json["why"] = one.why.empty() ? Json(nullptr) : Json(one.why);
  if (!one.operations && one.implementation.empty()) return json;
  const OperationCount count = one.operations.value_or(OperationCount{});
  const auto known = [&](double value) { return one.operations ? Json(value) : Json(nullptr); };
  json["implementation"] = one.implementation.empty() ? Json(nullptr) : Json(one.implementation);
  json["product_flops"] = known(count.product_flops);
  json["transform_flops"] = known(count.transform_flops);
  json["flops_executed"] = known(count.executed_flops());
  json["bytes_algo"] = known(count.bytes);
  json["bytes_cached"] = known(count.cached_bytes);
  json["workspace_bytes"] = one.workspace_bytes;
  json["arithmetic_intensity"] = known(intensity(count, problem));
  json["bound"] = one.bound ? Json(one.bound->kind()) : Json(nullptr);
  json["bound_seconds"] = one.bound ? Json(one.bound->seconds()) : Json(nullptr);
  return json;
}

void print_json(std::ostream& out, const ConvProblem& problem, const ExplainOptions& options,
                std::span<const ExplainedDevice> devices, const std::vector<Explanation>& all) {
  Json document = {
      {"problem", to_line(problem)},
      {"benchdnn", to_benchdnn(problem)},
      {"output", {problem.output().h, problem.output().w}},
      {"flops_nominal", problem.nominal_flops()},
      {"flops_effective", problem.effective_flops()},
      {"bytes_min", problem.total_bytes()},
      {"cache", name(options.cache)},
      {"workspace_cap_bytes", options.workspace_cap ? Json(*options.workspace_cap) : Json(nullptr)},
      {"ceilings", Json::array()},
      {"algorithms", Json::array()}};
  for (const ExplainedDevice& one : devices) document["ceilings"].push_back(to_json(one.ceilings));
  for (const Explanation& one : all) document["algorithms"].push_back(to_json(one, problem));
  out << dump_json(document, 2) << '\n';
}

std::string ceilings_text(const DeviceInfo& device, const Ceilings& c) {
  if (device.kind == DeviceKind::emulator)
    return "the CUDA algorithms as on the emulator, whose time means nothing: no best ms";
  if (device.kind == DeviceKind::cpu)
    return fmt::format(
        "measured with {}: {:.1f} GFLOP/s of multiply-adds, {:.1f} GB/s read, {:.1f} GB/s copied",
        counted(c.threads, "thread"), c.fma_flops / 1e9, c.read_bytes / 1e9, c.copy_bytes / 1e9);
  return fmt::format(
      "measured on {}: {:.1f} TFLOP/s of multiply-adds, {:.1f} in TF32, {:.0f} GB/s read, {:.0f} GB/s copied",
      device.name, c.fma_flops / 1e12, c.tf32_flops / 1e12, c.read_bytes / 1e9, c.copy_bytes / 1e9);
}

void print_problem(std::ostream& out, const ConvProblem& p, const ExplainOptions& options,
                   std::span<const ExplainedDevice> devices, const Look& look) {
  const auto print = [&](const std::string& text) { out << wrapped(text, look.columns, "", "  ") << '\n'; };
  fmt::print(out, "{}\n{}\n", to_line(p), to_benchdnn(p));  // to be copied
  print(fmt::format("output {}x{}; {} nominal, {} without the taps on padding; {} of tensors", p.output().h,
                    p.output().w, flops_text(p.nominal_flops()), flops_text(p.effective_flops()),
                    bytes_text(p.total_bytes())));
  for (const ExplainedDevice& one : devices) print(ceilings_text(one.device.info(), one.ceilings));
  print(
      fmt::format("best ms: the longer of the arithmetic at that rate and the tensors moved once ({} cache)",
                  name(options.cache)));
  out << '\n';
}

// A note for neighbours that are refused by the same sentence.
void print_refusals(std::ostream& out, const std::vector<Explanation>& all, const Look& look) {
  std::vector<std::string> ids;
  std::string common;
  const auto print = [&] {
    if (!ids.empty()) print_note(out, fmt::format("{}: {}", comma_list(shortened(ids)), common), look);
    ids.clear();
  };
  for (const Explanation& one : all) {
    if (one.reason == Reason::none) continue;
    const std::string words = fmt::format("{}: {}", name(one.reason), one.why);
    if (words != common) print();
    common = words;
    ids.push_back(one.algorithm);
  }
  print();
}

void print_table(std::ostream& out, const ConvProblem& problem, const std::vector<Explanation>& all,
                 const Look& look) {
  TextTable table({"<algorithm", ">products", ">transforms", ">of nominal|nominal", ">bytes", ">workspace",
                   ">FLOP/byte", "<bound", ">best ms", "=chosen"},
                  {2, 1, 9, 6, 4});
  for (const Explanation& one : all) {
    if (one.reason != Reason::none) continue;
    const OperationCount count = one.operations.value_or(OperationCount{});
    const auto known = [&](const std::string& text) { return one.operations ? text : std::string("-"); };
    table.add({one.algorithm, known(flops_text(count.product_flops)),
               known(flops_text(count.transform_flops)),
               known(fmt::format("{:.0f}%", 100 * count.executed_flops() / problem.nominal_flops())),
               known(bytes_text(count.bytes)), bytes_text(one.workspace_bytes),
               known(fmt::format("{:.1f}", intensity(count, problem))),
               std::string(one.bound ? one.bound->kind() : "-"),
               one.bound ? milliseconds_text(one.bound->seconds()) : "-", one.implementation});
  }
  if (!table.empty()) out << left_out_text(table.print(out, look), look);
  print_refusals(out, all, look);
}

// The one asked for, or the CPU and whatever runs CUDA's algorithms here.
std::vector<DeviceId> explained_devices(const ExplainOptions& options) {
  if (options.device) return {*options.device};
  const bool has_gpu = find_devices().missing.empty();
  return {DeviceKind::cpu, has_gpu ? DeviceKind::cuda : DeviceKind::emulator};
}

// The verb. Measures the ceilings first. Where there is no GPU, the CUDA algorithms are asked about the
// emulator.
int explain(const ExplainOptions& options, const Program& program) {
  const ConvProblem problem = parse_problem(options.problem);
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<ExplainedDevice> explained;
  for (DeviceId id : explained_devices(options)) {
    const int threads = threads_on(describe_device(id), options.threads);
    devices.push_back(make_device(id, {.threads = threads}));
    explained.push_back({*devices.back(), measure_ceilings(*devices.back(), threads)});
  }
  print_explanation(program.out, problem, options, program.registry, explained, program.terminal.look());
  return 0;
}

}  // namespace

void print_explanation(std::ostream& out, const ConvProblem& problem, const ExplainOptions& options,
                       const Registry& registry, std::span<const ExplainedDevice> devices, const Look& look) {
  std::vector<Explanation> all;
  for (const Algorithm* algorithm : registry.all())
    all.push_back(explain_one(*algorithm, problem, options, devices));
  if (options.json) {
    print_json(out, problem, options, devices, all);
    return;
  }
  print_problem(out, problem, options, devices, look);
  print_table(out, problem, all, look);
}

void add_flags(CLI::App& verb, ExplainOptions& options) {
  verb.add_option("PROBLEM", options.problem, "A problem line or a benchdnn descriptor")
      ->type_name("LINE")
      ->required();
  add_device(
      verb, options.device,
      "The device to ask about: cpu, cuda, cuda:1, emulator. When left out, the CPU, and the GPU or, without "
      "one, the emulator.");
  add_threads(verb, options.threads);
  const auto set_cache = [&options](const std::string& text) {
    const auto cache = from_name(kCacheStates, text);
    if (!cache)
      throw UsageError("--cache: found \"" + text + "\"; allowed is " + comma_list(all_names(kCacheStates)));
    options.cache = *cache;
  };
  verb.add_option_function<std::string>(
          "--cache", set_cache,
          "Where the tensors are taken to be: cold, hot, weights-cold. cold when left out.")
      ->type_name("NAME");
  add_workspace_cap(verb, options.workspace_cap);
  add_json(verb, options.json);
  verb.footer(
      "Runs no algorithm; measures the ceilings first, which takes about a second.\n\n"
      "Example:\n  convscope explain \"forward fp32 nchw n=16 c=96 hw=27x27 k=256 rs=5x5 pad=2x2\"");
}

Verb explain_verb() {
  return make_verb<ExplainOptions>(
      "explain",
      "For each algorithm: supported or why not, operations, bytes, workspace, and the bound that binds.",
      add_flags, explain);
}

}  // namespace convscope

#include "bench/cli/inventory/info.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "bench/measure/ceilings.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/environment.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

// A value as a person reads it; sizes by the name of their field.
std::string value_text(const std::string& key, const Json& value) {
  if (value.is_null()) return "not readable";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (key.ends_with("_bytes") && value.is_number()) return bytes_text(value.get<double>());
  return dump_json(value);
}

// "l2_bytes" -> "l2", "build_type" -> "build type"
std::string label(std::string key) {
  if (key.ends_with("_bytes")) key.resize(key.size() - 6);
  for (char& c : key)
    if (c == '_') c = ' ';
  return key;
}

void print_section(std::ostream& out, const std::string& title, const Json& section) {
  fmt::print(out, "{}\n", title);
  for (const auto& [key, value] : section.items())
    fmt::print(out, "  {:22} {}\n", label(key), value_text(key, value));
}

void print_ceilings(std::ostream& out, const std::vector<Ceilings>& ceilings, const Look& look) {
  const auto rate = [](double value) { return value == 0 ? "-" : fmt::format("{:.1f}", value / 1e9); };
  TextTable table({"<device", ">threads", ">FP32 GFLOP/s|GFLOP/s", ">TF32", ">BF16", ">FP16", ">copy GB/s",
                   ">read GB/s", ">cache read GB/s|cache"},
                  {3, 4, 5, 6});
  for (const Ceilings& c : ceilings)
    table.add({name(DeviceId(c.device, c.device_index)), std::to_string(c.threads), rate(c.fma_flops),
               rate(c.tf32_flops), rate(c.bf16_flops), rate(c.fp16_flops), rate(c.copy_bytes),
               rate(c.read_bytes), rate(c.cache_read_bytes)});
  out << "ceilings, measured now (copy counts bytes read and written)\n";
  out << left_out_text(table.print(out, look), look);
}

int info(const InfoOptions& options, const Program& program) {
  const std::vector<DeviceInfo> devices = find_devices().present;
  const auto environment = describe_environment(devices, program.registry);
  std::vector<Ceilings> ceilings;
  for (const DeviceInfo& found : devices) {
    if (found.kind == DeviceKind::emulator) continue;
    const auto device = make_device(found.id(), {});
    for (int threads : found.kind == DeviceKind::cpu ? ceiling_thread_counts(found.cores) : std::vector{1})
      ceilings.push_back(measure_ceilings(*device, threads));
  }
  print_info(program.out, environment, ceilings, options, program.terminal.look());
  return 0;
}

}  // namespace

std::vector<int> ceiling_thread_counts(int cores) {
  std::vector<int> counts;
  for (int threads = 1; threads < cores; threads *= 2) counts.push_back(threads);
  counts.push_back(cores);
  return counts;
}

void print_info(std::ostream& out, const Json& environment, const std::vector<Ceilings>& ceilings,
                const InfoOptions& options, const Look& look) {
  if (options.json) {
    Json document = environment;
    document["ceilings"] = Json::array();
    for (const Ceilings& measured : ceilings) document["ceilings"].push_back(to_json(measured));
    out << dump_json(document, 2) << '\n';
    return;
  }
  for (const auto& [title, section] : environment.items()) print_section(out, title, section);
  print_ceilings(out, ceilings, look);
}

void add_flags(CLI::App& verb, InfoOptions& options) {
  add_json(verb, options.json);
  verb.footer(
      "Measures the ceilings first, for about a second a thread count.\n\nExample:\n  convscope info "
      "--json");
}

Verb info_verb() {
  return make_verb<InfoOptions>("info", "Show hardware, caches, library versions and the measured ceilings.",
                                add_flags, info);
}

}  // namespace convscope

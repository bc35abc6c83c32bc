// list_algorithms(): what each algorithm can do, asked of the algorithm itself.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/cli/inventory/list.hpp"
#include "bench/core/error.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/algorithm_patterns.hpp"
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

template <typename T>
bool is_wanted(const std::vector<std::string>& names, T value) {
  return names.empty() || std::ranges::count(names, name(value)) > 0;
}

// What an algorithm supports, found out by asking its supports() about a fixed set of small problems, so that
// no algorithm states its limits twice. Limits that only large problems reach are not seen; `explain` asks
// about one problem.
struct Capability {
  std::vector<Pass> passes;         // those supported for at least one probe
  std::vector<Layout> layouts;      // likewise
  std::vector<MathMode> math;       // likewise
  std::vector<std::string> shapes;  // probes supported forward, or in the first pass asked for
  std::string refusal;              // the sentence about the first probe, where none is supported
};

// Only passes and math modes that the filter lets through are asked about.
Capability capability(const Algorithm& algorithm, const DeviceInfo& device, const AlgorithmFilter& filter) {
  Capability found;
  const Pass shown = filter.passes.empty() ? Pass::forward : *from_name(kPasses, filter.passes.front());
  for (Pass pass : kPasses)
    for (Layout layout : kLayouts)
      for (MathMode math : kMathModes)
        for (const Probe& probe : kProbes) {
          if (!is_wanted(filter.passes, pass) || !is_wanted(filter.math, math)) continue;
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
          if (pass == shown) add_once(found.shapes, std::string(probe.name));
        }
  if (!found.passes.empty()) found.refusal.clear();
  return found;
}

// Where an algorithm stands in the listing.
enum class Place { timed, emulated, reference, absent };

struct Listed {
  const Algorithm* algorithm;
  Capability can;
  Place place;
};

// The first that runs the algorithm, of those asked for: the GPU comes before the emulator. Null when there
// is none.
const DeviceInfo* device_of(const AlgorithmInfo& info, const DeviceList& devices,
                            const AlgorithmFilter& filter) {
  for (const DeviceInfo& device : devices.present)
    if (runs_on(info, device.kind) && (!filter.device || *filter.device == device.id())) return &device;
  return nullptr;
}

std::string why_absent(const AlgorithmInfo& info, const DeviceList& devices, const AlgorithmFilter& filter) {
  for (const MissingDevice& missing : devices.missing)
    if (missing.kind == info.device) return missing.why;
  if (filter.device) return devices.why_missing(*filter.device);  // as cuda:7 beside cuda:0
  return fmt::format("this machine has no {} device", name(info.device));
}

// Nothing where the filter leaves it out.
std::optional<Listed> listed(const Algorithm& algorithm, const DeviceList& devices,
                             const AlgorithmFilter& filter) {
  const AlgorithmInfo& info = algorithm.info();
  if (filter.device && !runs_on(info, filter.device->kind)) return std::nullopt;
  const DeviceInfo* device = device_of(info, devices, filter);
  if (device == nullptr) {
    if (filter.here) return std::nullopt;
    Listed absent{&algorithm, {}, Place::absent};
    absent.can.refusal = why_absent(info, devices, filter);
    return absent;
  }
  Listed one{&algorithm, capability(algorithm, *device, filter), Place::timed};
  const bool is_filtered = !filter.passes.empty() || !filter.math.empty();
  if (one.can.passes.empty() && (is_filtered || filter.here)) return std::nullopt;
  if (!info.candidate)
    one.place = Place::reference;
  else if (!one.can.refusal.empty())
    one.place = Place::absent;
  else if (device->kind == DeviceKind::emulator)
    one.place = Place::emulated;
  const bool is_asked_for = one.place == Place::emulated && filter.device;
  if (filter.here && one.place != Place::timed && !is_asked_for) return std::nullopt;
  return one;
}

std::vector<Listed> listed(const Registry& registry, const DeviceList& devices,
                           const AlgorithmFilter& filter) {
  std::vector<std::string> meant;
  for (const std::string& pattern : filter.patterns)
    if (const std::string defect = defect_of_pattern(pattern, registry); !defect.empty())
      throw UsageError("list algorithms: " + defect);
  for (DeviceKind kind : kDeviceKinds)
    for (const std::string& id : meant_by(filter.patterns, registry, kind)) meant.push_back(id);
  std::vector<Listed> all;
  for (const Algorithm* algorithm : registry.all()) {
    if (!filter.patterns.empty() && std::ranges::count(meant, algorithm->info().id) == 0) continue;
    if (auto one = listed(*algorithm, devices, filter)) all.push_back(std::move(*one));
  }
  return all;
}

Json algorithm_json(const Listed& one) {
  const AlgorithmInfo& info = one.algorithm->info();
  const Capability& can = one.can;
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
std::string shapes_text(const std::vector<std::string>& can) {
  std::vector<std::string> cannot;
  for (const Probe& probe : kProbes)
    if (std::ranges::count(can, probe.name) == 0) cannot.emplace_back(probe.name);
  if (cannot.empty()) return "all probed";
  return cannot.size() < can.size() ? "all probed but " + comma_list(cannot) : comma_list(can);
}

template <typename Values>
std::string all_or_names(const Values& can, size_t count) {
  return can.size() == count ? "all" : comma_list(all_names(can));
}

// All that is printed of an algorithm behind its id.
std::string description(const Listed& one, const Look& look) {
  const AlgorithmInfo& info = one.algorithm->info();
  std::string text =
      fmt::format("  ({}{}{})\n", info.provider, info.version.empty() ? "" : " ", info.version);
  if (!info.summary.empty()) text += wrapped(info.summary, look.columns, "  ") + "\n";
  const Capability& can = one.can;
  const std::string what =
      fmt::format("passes {}; layouts {}; math {}; filters {}", all_or_names(can.passes, kPasses.size()),
                  all_or_names(can.layouts, kLayouts.size()), all_or_names(can.math, kMathModes.size()),
                  can.shapes.empty() ? "not in the forward pass" : shapes_text(can.shapes));
  return text + wrapped(what, look.columns, "  ") + "\n";
}

// Neighbours of which the same is to be said share one entry.
void print_entries(std::ostream& out, const std::vector<const Listed*>& entries, const Look& look) {
  std::vector<std::string> ids;
  std::string common;
  const auto print = [&] {
    if (!ids.empty()) fmt::print(out, "{}{}", wrapped(comma_list(shortened(ids)), look.columns, ""), common);
    ids.clear();
  };
  for (const Listed* one : entries) {
    const std::string text = description(*one, look);
    if (text != common) print();
    common = text;
    ids.push_back(one->algorithm->info().id);
  }
  print();
}

// The ids, under each reason.
void print_absent(std::ostream& out, const std::vector<const Listed*>& entries, const Look& look) {
  std::vector<std::string> reasons;
  for (const Listed* one : entries) add_once(reasons, one->can.refusal);
  for (const std::string& reason : reasons) {
    std::vector<std::string> ids;
    for (const Listed* one : entries)
      if (one->can.refusal == reason) ids.push_back(one->algorithm->info().id);
    fmt::print(out, "{}\n{}\n", wrapped("not here: " + reason, look.columns, ""),
               wrapped(comma_list(shortened(ids)), look.columns, "  "));
  }
}

void print_algorithms(std::ostream& out, const std::vector<Listed>& all, const Look& look) {
  struct Section {
    Place place;
    const char* heading;
  };
  constexpr Section kSections[] = {
      {Place::timed, ""},
      {Place::emulated, "on the emulator, which checks results and whose time means nothing:"},
      {Place::reference, "what results are compared with, never timed:"},
      {Place::absent, ""}};
  bool is_first = true;
  for (const auto& [place, heading] : kSections) {
    std::vector<const Listed*> entries;
    for (const Listed& one : all)
      if (one.place == place) entries.push_back(&one);
    if (entries.empty()) continue;
    if (!is_first) out << '\n';
    is_first = false;
    if (*heading != '\0') fmt::print(out, "{}\n", heading);
    if (place == Place::absent)
      print_absent(out, entries, look);
    else
      print_entries(out, entries, look);
  }
  if (all.empty()) out << "no algorithm is left by these filters\n";
}

}  // namespace

void list_algorithms(std::ostream& out, const Registry& registry, const DeviceList& devices,
                     const AlgorithmFilter& filter, bool json, const Look& look) {
  const std::vector<Listed> all = listed(registry, devices, filter);
  if (!json) return print_algorithms(out, all, look);
  Json document = Json::array();
  for (const Listed& one : all) document.push_back(algorithm_json(one));
  out << dump_json(document, 2) << '\n';
}

}  // namespace convscope

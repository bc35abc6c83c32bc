// `convscope list algorithms|configs|devices|layers|columns`: what this build and this machine have, and what
// configs ask for. Nothing is measured here (that is `info`).
#pragma once

#include <array>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {

// Which algorithms are listed; by default all.
struct AlgorithmFilter {
  std::vector<std::string> patterns =
      {};                                // as run's --algorithm (bench/runner/algorithm_patterns); empty: all
  std::optional<DeviceId> device = {};   // those that run on it
  std::vector<std::string> passes = {};  // those that do one of them, by name; empty: any
  std::vector<std::string> math = {};    // likewise
  bool here = false;                     // those that can be timed here, or on `device`
};

// What can be listed, as `list` and a shell that completes its words name it.
inline constexpr std::array<std::string_view, 5> kListings{"algorithms", "configs", "devices", "layers",
                                                           "columns"};

struct ListOptions {
  std::string what = {};      // the first argument: one of kListings
  std::string argument = {};  // the second one: a config for layers, a pattern for algorithms
  AlgorithmFilter filter = {};
  bool json = false;      // --json: one JSON document and nothing else
  bool markdown = false;  // --markdown, of columns: the tables of docs/*_format.md
};

void add_flags(CLI::App& verb, ListOptions& options);

// What the verb prints. Throws UsageError for an unknown `what`, a missing or unused argument or flag and
// what load_suite throws.
void list(std::ostream& out, const ListOptions& options, const Registry& registry, const Look& look = {});

// The five listings, for devices and a config that are known. In text, algorithms that can be timed here come
// first, absent ones last and together; in JSON they are in the registry's order.
void list_algorithms(std::ostream& out, const Registry& registry, const DeviceList& devices,
                     const AlgorithmFilter& filter, bool json, const Look& look = {});
void list_configs(std::ostream& out, const std::map<std::string, std::string>& files, bool json,
                  const Look& look = {});
void list_devices(std::ostream& out, const DeviceList& devices, bool json, const Look& look = {});
void list_layers(std::ostream& out, const Suite& suite, bool json, const Look& look = {});
void list_columns(std::ostream& out, const ListOptions& options, const Look& look = {});

}  // namespace convscope

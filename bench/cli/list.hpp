// `convscope list algorithms|devices|layers|columns`: what this build and this machine have, and what a
// config asks for. Nothing is measured here (that is `info`).
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/record/result.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {

struct ListOptions {
  std::string what;       // the first argument: algorithms, devices, layers or columns
  std::string config;     // the second one, for layers
  bool json = false;      // --json: one JSON document and nothing else
  bool markdown = false;  // --markdown, of columns: docs/results_format.md
};

void add_flags(CLI::App& verb, ListOptions& options);

// What the verb prints. Throws UsageError for an unknown `what`, a missing or unused config and what
// load_suite throws.
void list(std::ostream& out, const ListOptions& options, const Registry& registry);

// The four listings, for devices and a config that are known.
void list_algorithms(std::ostream& out, const Registry& registry, const DeviceList& devices, bool json);
void list_devices(std::ostream& out, const DeviceList& devices, bool json);
void list_layers(std::ostream& out, const Suite& suite, bool json);
void list_columns(std::ostream& out, bool json, bool markdown);

}  // namespace convscope

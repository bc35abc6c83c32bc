// `convscope explain "<problem line>"`: for each algorithm, whether it supports the problem or why not, what
// its plan would do (operations, bytes, workspace), and the min time that the measured ceilings allow it.
// Runs no algorithm.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#include "bench/algorithm/registry.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/device/device.hpp"
#include "bench/record/result.hpp"
#include "bench/runner/config.hpp"

namespace convscope {

struct ExplainOptions {
  std::string problem;                  // the argument: a problem line or benchdnn descriptor
  std::optional<DeviceId> device;       // --device; null is every device that can be timed
  int threads = 0;                      // --threads; 0 is every core
  CacheState cache = CacheState::cold;  // --cache
  std::optional<int64_t> workspace_cap = kDefaultWorkspaceCap;  // --workspace-cap: bytes, null for inf
  bool json = false;                                            // --json: one JSON document and nothing else
};

void add_flags(CLI::App& verb, ExplainOptions& options);

struct ExplainedDevice {
  Device& device;
  Ceilings ceilings;  // all 0 for an emulator, which is never timed
};

// What the verb prints once the ceilings are known. Plans are made on the first device that runs the
// algorithm, for their operations and workspace.
void print_explanation(std::ostream& out, const ConvProblem& problem, const ExplainOptions& options,
                       const Registry& registry, std::span<const ExplainedDevice> devices,
                       const Look& look = {});

}  // namespace convscope

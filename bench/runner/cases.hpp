// expand(): a suite and a registry become the list of groups to run. A group is one problem under one
// protocol; its candidates are measured side by side.
#pragma once

#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/core/result.hpp"
#include "bench/runner/config.hpp"

namespace convscope {

// `common.algorithm` is empty. Every algorithm that matches the globs on the group's device is listed, those
// that will refuse too: a refusal is a row.
struct Group {
  CaseKey common;
  std::vector<std::string> algorithms;
};

// One line that is the same for the same candidate in every run: resume and compare match on it.
std::string candidate_key(const CaseKey& key);

// In config order: layer, pass, then batch, math, layout, threads, cache, cap. Throws UsageError when a glob
// matches no algorithm or nothing is left to run. `devices` are the kinds present on this machine.
std::vector<Group> expand(const Suite& suite, const Registry& registry,
                          const std::vector<DeviceInfo>& devices);

}  // namespace convscope

// What an algorithm can do, found out by asking its supports() about a fixed set of small problems: no
// algorithm states its limits twice. Sizes that only large problems reach are not seen this way; `explain`
// asks about one problem.
#pragma once

#include <string>
#include <vector>

#include "bench/algorithm/algorithm.hpp"

namespace convscope {

struct Capability {
  std::vector<Pass> passes;         // those it supports for at least one probe
  std::vector<Layout> layouts;      // likewise
  std::vector<MathMode> math;       // likewise
  std::vector<std::string> shapes;  // probes it supports forward: "3x3", "11x11 stride 4", "depthwise"
  std::string refusal;              // its sentence about the first probe, when it supports none
};

// The names of all probes, in order.
std::vector<std::string> probe_names();

Capability capability(const Algorithm& algorithm, const DeviceInfo& device);

}  // namespace convscope

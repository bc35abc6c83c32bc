#include "bench/cli/capability.hpp"

#include <algorithm>
#include <span>

namespace convscope {
namespace {

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

}  // namespace

std::vector<std::string> probe_names() {
  std::vector<std::string> names;
  for (const Probe& probe : kProbes) names.emplace_back(probe.name);
  return names;
}

Capability capability(const Algorithm& algorithm, const DeviceInfo& device) {
  Capability found;
  for (Pass pass : kPasses)
    for (Layout layout : kLayouts)
      for (MathMode math : kMathModes)
        for (const Probe& probe : kProbes) {
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
          if (pass == Pass::forward) add_once(found.shapes, std::string(probe.name));
        }
  if (!found.passes.empty()) found.refusal.clear();
  return found;
}

}  // namespace convscope

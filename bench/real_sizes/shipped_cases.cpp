#include "bench/real_sizes/shipped_cases.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "bench/core/sanitized_test.hpp"
#include "bench/runner/config.hpp"

namespace convscope::real_sizes {

std::vector<ShippedProblem> shipped_problems(DeviceKind device) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(CONVSCOPE_CONFIG_FOLDER))
    if (entry.path().extension() == ".json" && entry.path().stem() != "schema")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());

  std::vector<ShippedProblem> all;
  std::set<std::string> seen;
  for (const std::string& file : files) {
    const Suite suite = load_suite(file);
    for (const Layer& layer : suite.layers) {
      std::set<int64_t> batches{256};
      if (layer.batch)
        batches.insert(*layer.batch);
      else
        batches.insert(suite.batch.at(device).begin(), suite.batch.at(device).end());
      for (const int64_t batch : batches)
        for (const Layout layout : kLayouts)
          for (const Pass pass : kPasses) {
            ConvProblem problem = layer.shape;
            problem.batch = batch;
            problem.layout = layout;
            problem.pass = pass;
            if (!validate(problem) && seen.insert(to_line(problem)).second)
              all.push_back({suite.name + " " + layer.name, problem});
          }
    }
  }
  return all;
}

std::string Case::text() const {
  return algorithm->info().id + " on " + shipped->layer + " (" + to_line(problem) + "), " +
         (cap == INT64_MAX ? std::string("no cap") : "cap " + std::to_string(cap >> 20) + " MiB");
}

void for_each_plan(const ShippedProblem& shipped, const ConvProblem& problem, const Algorithm& algorithm,
                   Device& device, int threads, const std::function<void(const Case&, Plan&)>& look) {
  if (!algorithm.supports(problem, device.info())) return;
  std::set<std::string> seen;
  for (const int64_t cap : kCaps) {
    std::unique_ptr<Plan> plan;
    try {
      plan = algorithm.plan(problem, device, {.workspace_cap = cap, .threads = threads});
    } catch (const Refused&) {
      continue;
    }
    const std::string what = std::to_string(plan->workspace_bytes()) + " " + plan->implementation();
    if (plan->workspace_bytes() <= cap && seen.insert(what).second)
      look({&shipped, problem, &algorithm, cap}, *plan);
  }
}

void for_each_plan(const Registry& registry, Device& device, int threads,
                   const std::function<void(const Case&, Plan&)>& look) {
  const DeviceKind kind = device.info().kind == DeviceKind::cpu ? DeviceKind::cpu : DeviceKind::cuda;
  // Prime to three: three passes of one layer follow each other, and three layouts.
  const size_t every = stride(kSanitized ? 32 : 1);
  std::map<std::pair<const Algorithm*, MathMode>, size_t> seen;
  for (const ShippedProblem& shipped : shipped_problems(kind))
    for (const Algorithm* algorithm : own_algorithms(registry, kind))
      for (const MathMode math : kMathModes) {
        ConvProblem problem = shipped.problem;
        problem.math = math;
        if (algorithm->supports(problem, device.info()) && seen[{algorithm, math}]++ % every == 0)
          for_each_plan(shipped, problem, *algorithm, device, threads, look);
      }
}

std::vector<const Algorithm*> own_algorithms(const Registry& registry, DeviceKind device) {
  std::vector<const Algorithm*> all;
  for (const Algorithm* algorithm : registry.all()) {
    const AlgorithmInfo& info = algorithm->info();
    if (info.device == device && info.family != "library" && (device == DeviceKind::cpu || info.emulated))
      all.push_back(algorithm);
  }
  return all;
}

size_t stride(size_t usual) {
  const char* const every = std::getenv("CONVSCOPE_REAL_SIZES_EVERY");
  return every == nullptr ? usual : std::max<size_t>(1, std::strtoul(every, nullptr, 10));
}

}  // namespace convscope::real_sizes

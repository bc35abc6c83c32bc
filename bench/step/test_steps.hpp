// What the tests of steps share: candidates made of the definition, and a small network.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_queue.hpp"
#include "bench/runner/config.hpp"
#include "bench/step/measure_step.hpp"
#include "bench/step/training_step.hpp"
#include "bench/verify/reference_algorithm.hpp"

namespace convscope::testing {

// The definition, its results times a factor; with a workspace, and optionally of one pass only.
class ScaledReference final : public Algorithm {
 public:
  explicit ScaledReference(const std::string& id, float factor = 1, std::optional<Pass> only = {})
      : factor_(factor), only_(only) {
    info_.id = id;
    info_.family = "direct";
    info_.provider = "convscope";
    info_.takes_epilogues = true;
    add_reference(reference_);
  }
  const AlgorithmInfo& info() const override { return info_; }
  Support takes(const ConvProblem& problem, const DeviceInfo&) const override {
    return require(!only_ || problem.pass == *only_, Reason::unsupported_pass, "it has one pass");
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    return std::make_unique<ScaledPlan>(problem, factor_,
                                        reference_.find("reference.cpu")->plan(problem, device, options));
  }

 private:
  struct ScaledPlan final : Plan {
    ScaledPlan(const ConvProblem& problem, float factor, std::unique_ptr<Plan> plan)
        : problem_(problem), factor_(factor), plan_(std::move(plan)) {}
    int64_t workspace_bytes() const override { return 4096; }
    std::string implementation() const override { return "loops"; }
    void run(const ConvArgs& args, Queue& queue) override {
      // It runs on the host, which the emulator's memory has to be opened to.
      std::optional<emulated::DeviceMemory::Access> access;
      if (auto* emulator = dynamic_cast<emulated::EmulatorQueue*>(&queue)) access.emplace(emulator->memory());
      static_cast<char*>(args.workspace)[4095] = 1;
      plan_->run(args, queue);
      const Role role = written_role(problem_.pass);
      for (int64_t i = 0; factor_ != 1 && i < problem_.elements(role); ++i)
        static_cast<float*>(args.tensor(role))[i] *= factor_;
    }
    ConvProblem problem_;
    float factor_;
    std::unique_ptr<Plan> plan_;
  };
  AlgorithmInfo info_;
  Registry reference_;
  float factor_;
  std::optional<Pass> only_;
};

inline Registry step_registry() {
  Registry registry;
  registry.add(std::make_unique<ScaledReference>("exact.cpu"));
  registry.add(std::make_unique<ScaledReference>("same.cpu"));
  registry.add(std::make_unique<ScaledReference>("wrong.cpu", 1.01F));
  registry.add(std::make_unique<ScaledReference>("forward.cpu", 1.0F, Pass::forward));
  return registry;
}

// The plans of a step's convolutions, all by one algorithm, with room for their workspace.
struct Plans {
  Plans(const TrainingStep& step, const Algorithm& algorithm, Device& device)
      : workspace(device, 4096), queue(device.make_queue()) {
    for (const StepTask& task : step.tasks()) {
      owned.push_back(task.problem ? algorithm.plan(*task.problem, device, {}) : nullptr);
      all.push_back(owned.back().get());
    }
  }
  void run(TrainingStep& step) {
    for (size_t task = 0; task < all.size(); ++task) step.run(task, all[task], workspace.data(), *queue);
  }
  std::vector<std::unique_ptr<Plan>> owned;
  std::vector<Plan*> all;
  Buffer workspace;
  std::unique_ptr<Queue> queue;
};

// Two layers of which the second reads what the first gives, with every operation.
inline Suite small_suite() {
  return suite_from_json(nlohmann::json::parse(R"({"name": "small", "batch": 2, "layers": [
    {"name": "one", "in_channels": 2, "input": [7, 6], "out_channels": 3, "filter": 3, "pad": 1, "first": true,
     "after": ["bias", "relu", "lrn", "pool 3x2/2"]},
    {"name": "two", "in_channels": 3, "input": [3, 3], "out_channels": 4, "filter": 2, "after": "bias"}]})"),
                         "small.json");
}

// With batch normalisation; an output that two convolutions read, one of them a projection that is added, and
// one that a convolution reads and an addition adds; and an addition behind a ReLU.
inline Suite residual_suite() {
  return suite_from_json(nlohmann::json::parse(R"({"name": "residual", "batch": 2, "layers": [
    {"name": "one", "in_channels": 2, "input": [5, 5], "out_channels": 3, "filter": 3, "pad": 1, "first": true,
     "after": ["batch_norm", "relu", "pool 2x2/2"]},
    {"name": "projection", "in_channels": 3, "input": [2, 2], "out_channels": 4, "filter": 1, "after": "batch_norm"},
    {"name": "a", "in_channels": 3, "input": [2, 2], "out_channels": 4, "filter": 1, "reads": "one",
     "after": ["batch_norm", "relu"]},
    {"name": "b", "in_channels": 4, "input": [2, 2], "out_channels": 4, "filter": 3, "pad": 1,
     "after": ["batch_norm", "add projection", "relu"]},
    {"name": "c", "in_channels": 4, "input": [2, 2], "out_channels": 4, "filter": 1, "after": ["bias", "relu", "add b"]}]})"),
                         "residual.json");
}

// With two concatenations. Of the first, of a and b, one layer reads all, and two share a pool of it. Of the
// second, of d and e, another layer reads a part, and an addition the other. b reads a pool of an output that
// layers before and behind it read, too.
inline Suite inception_suite() {
  return suite_from_json(nlohmann::json::parse(R"({"name": "inception", "batch": 2, "layers": [
    {"name": "one", "in_channels": 2, "input": [6, 5], "out_channels": 3, "filter": 3, "pad": 1, "first": true,
     "after": ["bias", "relu"]},
    {"name": "a0", "in_channels": 3, "input": [6, 5], "out_channels": 2, "filter": 1, "after": "relu"},
    {"name": "b", "in_channels": 3, "input": [6, 5], "out_channels": 3, "filter": 1, "reads": "one",
     "before": "pool 3x3/1 pad 1", "after": "bias"},
    {"name": "a", "in_channels": 3, "input": [6, 5], "out_channels": 2, "filter": 1, "reads": "one",
     "after": ["add a0", "relu"]},
    {"name": "c", "in_channels": 5, "input": [6, 5], "out_channels": 4, "filter": 1, "stride": [4, 3],
     "reads": ["a", "b"]},
    {"name": "d", "in_channels": 5, "input": [3, 3], "out_channels": 4, "filter": 2, "reads": ["a", "b"],
     "before": "pool 3x3/2 pad 1", "after": ["bias", "add c"]},
    {"name": "e", "in_channels": 5, "input": [3, 3], "out_channels": 4, "filter": 2, "reads": ["a", "b"],
     "before": ["pool 3x3/2 pad 1", "pool 3x3/1 pad 1"], "after": "bias"},
    {"name": "f", "in_channels": 8, "input": [2, 2], "out_channels": 4, "filter": 1, "reads": ["d", "e"],
     "after": ["bias", "relu"]},
    {"name": "g", "in_channels": 4, "input": [2, 2], "out_channels": 4, "filter": 1, "reads": "d",
     "after": ["add f", "add e"]}]})"),
                         "inception.json");
}

// With means behind a layer, before one that reads what another reads, too, and of a concatenation; with
// padding that counts and that does not.
inline Suite mean_suite() {
  return suite_from_json(nlohmann::json::parse(R"({"name": "means", "batch": 2, "layers": [
    {"name": "one", "in_channels": 2, "input": [7, 6], "out_channels": 3, "filter": 3, "pad": 1, "first": true,
     "after": ["bias", "relu", "mean 3x2/2 pad 1x0 uncounted"]},
    {"name": "a", "in_channels": 3, "input": [4, 3], "out_channels": 4, "filter": 1, "after": "bias"},
    {"name": "b", "in_channels": 3, "input": [4, 3], "out_channels": 4, "filter": 1, "reads": "one",
     "before": "mean 3x3/1 pad 1", "after": ["bias", "relu"]},
    {"name": "c", "in_channels": 8, "input": [2, 2], "out_channels": 4, "filter": 1, "reads": ["a", "b"],
     "before": "mean 3x2/1", "after": "bias"}]})"),
                         "means.json");
}

// As Inception v3 halves its images: a concatenation of a layer's output and of what that layer reads,
// pooled. Two layers read it, one of them pooled again, and another reads one of the pooled parts.
inline Suite reduction_suite() {
  return suite_from_json(nlohmann::json::parse(R"({"name": "reduction", "batch": 2, "layers": [
    {"name": "one", "in_channels": 2, "input": [7, 5], "out_channels": 3, "filter": 3, "pad": 1, "first": true,
     "after": ["bias", "relu"]},
    {"name": "a", "in_channels": 3, "input": [7, 5], "out_channels": 2, "filter": 1, "after": ["bias", "relu"]},
    {"name": "b", "in_channels": 5, "input": [7, 5], "out_channels": 4, "filter": 3, "stride": 2,
     "reads": ["one", "a"], "after": "bias"},
    {"name": "c", "in_channels": 9, "input": [3, 2], "out_channels": 4, "filter": [2, 1],
     "reads": ["b", {"reads": ["one", "a"], "before": "pool 3x3/2"}], "after": ["bias", "relu"]},
    {"name": "d", "in_channels": 9, "input": [3, 2], "out_channels": 4, "filter": [2, 1],
     "reads": ["b", {"reads": ["one", "a"], "before": "pool 3x3/2"}], "before": "mean 3x3/1 pad 1", "after": "bias"},
    {"name": "e", "in_channels": 3, "input": [3, 2], "out_channels": 4, "filter": [2, 1], "reads": "one",
     "before": "pool 3x3/2", "after": ["bias", "add c", "add d"]}]})"),
                         "reduction.json");
}

}  // namespace convscope::testing

// One problem in cuDNN's graph API, whose unit is the engine: an operation graph of one convolution and its
// epilogue, its engines with their notes and knobs, what the heuristics rank, and execution plans.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/cudnn/backend/backend_descriptor.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::cudnn {

// An engine with the values of its knobs, and what cuDNN says of it: name and notes.
struct EngineConfig {
  BackendDescriptor config;
  Offer offer;
};

// The parts of the graph that need no device. UIDs are 'x', 'w' and 'y', whatever the pass, and 'b' of a
// bias.
BackendDescriptor tensor(const ConvProblem& problem, Role role);
BackendDescriptor convolution(const ConvProblem& problem);
// The convolution, then each part of the epilogue.
std::vector<BackendDescriptor> operations(const ConvProblem& problem);

// Where a graph is to run: on the device of a handle, or on one of which only the properties are known. For
// both cuDNN tells, ranks and builds engines; to run them takes a handle.
class Target {
 public:
  Target(cudnnHandle_t handle) : handle_(handle) {}  // NOLINT(google-explicit-constructor): what is meant
  // As cuDNN's JSON, from version 9.8 on. Throws Refused or DeviceError where it does not take them.
  static Target with_properties(const std::string& json);

  // Sets whichever of the two attributes is for this target.
  void tell(BackendDescriptor& descriptor, std::optional<cudnnBackendAttributeName_t> handle_name,
            std::optional<cudnnBackendAttributeName_t> properties_name) const;

 private:
  cudnnHandle_t handle_ = nullptr;
  std::shared_ptr<const BackendDescriptor> properties_;
};

class ConvolutionGraph {
 public:
  ConvolutionGraph(const ConvProblem& problem, const Target& target);

  int64_t engine_count() const;
  // In the heuristic's order.
  std::vector<EngineConfig> ranked(cudnnBackendHeurMode_t mode) const;
  // Throws Refused where this graph has no such engine, or it does not run here.
  EngineConfig engine(int64_t index) const;
  // The same engine with values of its knobs, counted up from the smallest: `limit` at most.
  std::vector<EngineConfig> knob_variants(int64_t index, size_t limit) const;

 private:
  BackendDescriptor engine_descriptor(int64_t index) const;

  Target target_;
  BackendDescriptor graph_;
};

// An engine config made ready to run; throws Refused where cuDNN cannot.
class ExecutionPlan {
 public:
  ExecutionPlan(const EngineConfig& config, const Target& target);
  int64_t workspace_bytes() const { return plan_.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE); }
  void run(cudnnHandle_t handle, const ConvArgs& args) const;

 private:
  const BackendDescriptor& variant_pack(const ConvArgs& args) const;

  BackendDescriptor plan_;
  // By the operands' addresses. To make one takes the host longer than a short convolution takes the device.
  mutable std::map<std::array<const void*, 5>, BackendDescriptor> packs_;
};

}  // namespace convscope::cudnn

#include "bench/algorithm/separate_epilogue.hpp"

#include <algorithm>

#include "bench/algorithm/device_epilogue.hpp"
#include "bench/algorithm/epilogue.hpp"

namespace convscope {
namespace {

ConvProblem without_epilogue(ConvProblem problem) {
  problem.epilogue = Epilogue::none;
  return problem;
}

// In the memory of a device of this kind; on a GPU or the emulator it is enqueued.
void finish(const ConvProblem& problem, const ConvArgs& args, DeviceKind kind, int threads, Queue& queue) {
  auto* output = static_cast<float*>(args.output);
  if (kind == DeviceKind::cpu)
    finish_output(problem, args.bias, output, threads);
  else
    enqueue_epilogue(problem, args.bias, output, kind, queue);
}

class SeparatePlan final : public Plan {
 public:
  SeparatePlan(std::unique_ptr<Plan> plan, const ConvProblem& problem, DeviceKind kind, int threads)
      : plan_(std::move(plan)), problem_(problem), kind_(kind), threads_(threads) {}

  int64_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  std::string implementation() const override {
    return plan_->implementation() + ", then " + std::string(name(problem_.epilogue));
  }
  const LibraryAnswer* answer() const override { return plan_->answer(); }
  bool has_prepare() const override { return plan_->has_prepare(); }
  void prepare(const ConvArgs& args, Queue& queue) override { plan_->prepare(args, queue); }
  void run(const ConvArgs& args, Queue& queue) override {
    plan_->run(args, queue);
    finish(problem_, args, kind_, threads_, queue);
  }
  std::optional<OperationCount> operations() const override {
    auto count = plan_->operations();
    if (count) count->bytes += 2 * static_cast<double>(problem_.bytes(Role::output));
    return count;
  }
  double longest_sum() const override { return plan_->longest_sum(); }
  double truncation_error() const override { return plan_->truncation_error(); }

 private:
  std::unique_ptr<Plan> plan_;
  ConvProblem problem_;
  DeviceKind kind_;
  int threads_;
};

class SeparateEpilogue final : public Algorithm {
 public:
  explicit SeparateEpilogue(const Algorithm& algorithm) : algorithm_(algorithm), info_(algorithm.info()) {
    info_.id = separate_id(info_.id);
    info_.summary += ", then the epilogue in a pass of its own";
    info_.takes_epilogues = info_.takes_only_epilogues = true;
  }

  const AlgorithmInfo& info() const override { return info_; }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    return std::make_unique<SeparatePlan>(algorithm_.plan(without_epilogue(problem), device, options),
                                          problem, device.info().kind, options.threads);
  }
  double error_growth(const ConvProblem& problem) const override { return algorithm_.error_growth(problem); }
  double sum_growth(const ConvProblem& problem) const override { return algorithm_.sum_growth(problem); }

 protected:
  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    if (storage_type(problem.math) != DataType::f32)
      return Support::no(Reason::unsupported_math, "math " + std::string(name(problem.math)) +
                                                       ": the pass after it reads and writes FP32");
    return algorithm_.supports(without_epilogue(problem), device);
  }

 private:
  const Algorithm& algorithm_;
  AlgorithmInfo info_;
};

}  // namespace

std::string separate_id(const std::string& id) {
  const size_t device = std::min(id.rfind('.'), id.size());
  return id.substr(0, device) + ".separate" + id.substr(device);
}

std::unique_ptr<Algorithm> with_separate_epilogue(const Algorithm& algorithm) {
  return std::make_unique<SeparateEpilogue>(algorithm);
}

}  // namespace convscope

#include "bench/cli/faulty/faulty_algorithms.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/verify/reference.hpp"

namespace convscope {
namespace {

struct Fault {
  std::string name;
  std::function<void()> act;
};

// Right until its fault comes: in run number `from_run`, counted from 0, and every later one; -1 is in
// plan().
class FaultyPlan final : public Plan {
 public:
  FaultyPlan(const ConvProblem& problem, std::function<void()> act, int from_run)
      : problem_(problem), act_(std::move(act)), from_run_(from_run) {}

  void run(const ConvArgs& args, Queue&) override {
    if (runs_++ >= from_run_) act_();
    const TensorShape shape = problem_.shape(written_role(problem_.pass));
    auto* written = static_cast<float*>(written_tensor(args));
    for (int64_t a = 0; a < shape.size[0]; ++a)
      for (int64_t b = 0; b < shape.size[1]; ++b)
        for (int64_t c = 0; c < shape.size[2]; ++c)
          for (int64_t d = 0; d < shape.size[3]; ++d)
            written[shape.offset(a, b, c, d)] = static_cast<float>(reference_element(
                problem_, static_cast<const float*>(args.input), static_cast<const float*>(args.filter),
                static_cast<const float*>(args.output), {a, b, c, d}));
  }

 private:
  void* written_tensor(const ConvArgs& args) const {
    switch (written_role(problem_.pass)) {
      case Role::input:
        return args.input;
      case Role::filter:
        return args.filter;
      default:
        return args.output;
    }
  }

  ConvProblem problem_;
  std::function<void()> act_;
  int from_run_;
  int runs_ = 0;
};

class Faulty final : public Algorithm {
 public:
  Faulty(const Fault& fault, const std::string& when, int from_run) : act_(fault.act), from_run_(from_run) {
    info_.id = "faulty." + fault.name + "." + when + ".cpu";
    info_.family = "direct";
    info_.provider = "convscope";
    info_.summary = "a test's: " + fault.name + " in " + when;
  }

  const AlgorithmInfo& info() const override { return info_; }
  Support supports(const ConvProblem&, const DeviceInfo&) const override { return Support::yes(); }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions&) const override {
    if (from_run_ < 0) act_();
    return std::make_unique<FaultyPlan>(problem, act_, from_run_ < 0 ? INT32_MAX : from_run_);
  }
  std::optional<OperationCount> operations(const ConvProblem& problem) const override {
    return OperationCount{problem.nominal_flops(), 0, static_cast<double>(problem.total_bytes())};
  }

 private:
  AlgorithmInfo info_;
  std::function<void()> act_;
  int from_run_;
};

[[noreturn]] void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void touch_a_tebibyte() {
  std::vector<char> memory(size_t{1} << 40, 1);
  if (memory.back() != 1) std::abort();
}

}  // namespace

void add_faulty(Registry& registry) {
  const std::vector<Fault> faults = {
      {"segfault", [] { std::raise(SIGSEGV); }},
      {"loop", [] { hang(); }},
      {"memory", [] { touch_a_tebibyte(); }},
      {"throw", [] { throw std::runtime_error("this algorithm always throws"); }},
      {"abort", [] { std::abort(); }},
      {"exit", [] { std::exit(0); }},
  };
  constexpr int kRunWhileMeasured = 12;  // verification has fewer runs
  for (const Fault& fault : faults) {
    registry.add(std::make_unique<Faulty>(fault, "plan", -1));
    registry.add(std::make_unique<Faulty>(fault, "verify", 0));
    registry.add(std::make_unique<Faulty>(fault, "measure", kRunWhileMeasured));
  }
}

}  // namespace convscope

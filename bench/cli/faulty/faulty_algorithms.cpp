#include "bench/cli/faulty/faulty_algorithms.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/device/device_error.hpp"
#include "bench/verify/fast_reference.hpp"

namespace convscope {
namespace {

struct Fault {
  std::string name;
  std::function<void()> act;
  float error = 0;  // added to each result
  // Instead of `act`, in the plan: what a planner does that may show life.
  std::function<void(const PlanOptions&)> in_plan = nullptr;
  double counted = 1;  // operations that it says it does, over those that it does
};

// Right until its fault comes: in run number `from_run`, counted from 0, and every later one; -1 is in
// plan().
class FaultyPlan final : public Plan {
 public:
  FaultyPlan(const ConvProblem& problem, Fault fault, int from_run)
      : problem_(problem), fault_(std::move(fault)), from_run_(from_run) {}

  std::optional<OperationCount> operations() const override {
    return OperationCount{fault_.counted * problem_.nominal_flops(), 0,
                          static_cast<double>(problem_.total_bytes())};
  }
  void run(const ConvArgs& args, Queue&) override {
    const bool strikes = runs_++ >= from_run_;
    if (strikes) fault_.act();
    const float error = strikes ? fault_.error : 0;
    const Role role = written_role(problem_.pass);
    const TensorShape shape = problem_.shape(role);
    auto* written = static_cast<float*>(args.tensor(role));
    for (int64_t a = 0; a < shape.size[0]; ++a)
      for (int64_t b = 0; b < shape.size[1]; ++b)
        for (int64_t c = 0; c < shape.size[2]; ++c)
          for (int64_t d = 0; d < shape.size[3]; ++d)
            written[shape.offset(a, b, c, d)] =
                static_cast<float>(reference_element(problem_, static_cast<const float*>(args.input),
                                                     static_cast<const float*>(args.filter),
                                                     static_cast<const float*>(args.output), {a, b, c, d})) +
                error;
  }

 private:
  ConvProblem problem_;
  Fault fault_;
  int from_run_;
  int runs_ = 0;
};

class Faulty final : public Algorithm {
 public:
  Faulty(const Fault& fault, const std::string& when, int from_run) : fault_(fault), from_run_(from_run) {
    info_.id = "faulty." + fault.name + "." + when + ".cpu";
    info_.family = "direct";
    info_.provider = "convscope";
    info_.summary = "a test's: " + fault.name + " in " + when;
  }

  const AlgorithmInfo& info() const override { return info_; }
  Support takes(const ConvProblem&, const DeviceInfo&) const override { return Support::yes(); }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions& options) const override {
    if (from_run_ < 0) fault_.in_plan ? fault_.in_plan(options) : fault_.act();
    return std::make_unique<FaultyPlan>(problem, fault_, from_run_ < 0 ? INT32_MAX : from_run_);
  }

 private:
  AlgorithmInfo info_;
  Fault fault_;
  int from_run_;
};

[[noreturn]] void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

[[noreturn]] void close_pipes_and_hang() {
  close_range(3, ~0u, 0);
  hang();
}

// Works for `steps` tenths of a second, and says so after each.
void plan_for_long(const PlanOptions& options, int64_t steps) {
  for (int64_t step = 0; step < steps; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    options.show_life();
  }
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
      {"lost", [] { throw DeviceLost("an illegal memory access was encountered"); }},
      {"abort", [] { std::abort(); }},
      {"exit", [] { std::exit(0); }},
      {"kill", [] { std::raise(SIGKILL); }},
      {"linger", [] { close_pipes_and_hang(); }},
      {"infinity", [] {}, std::numeric_limits<float>::infinity()},
  };
  constexpr int kRunWhileMeasured = 12;  // verification has fewer runs
  for (const Fault& fault : faults) {
    registry.add(std::make_unique<Faulty>(fault, "plan", -1));
    registry.add(std::make_unique<Faulty>(fault, "verify", 0));
    registry.add(std::make_unique<Faulty>(fault, "measure", kRunWhileMeasured));
  }
  const auto add_planner = [&](const std::string& name, int64_t steps) {
    const Fault slow{name, [] {}, 0, [steps](const PlanOptions& options) { plan_for_long(options, steps); }};
    registry.add(std::make_unique<Faulty>(slow, "plan", -1));
  };
  add_planner("patient", 40);
  add_planner("restless", INT64_MAX);
  registry.add(std::make_unique<Faulty>(Fault{"boast", [] {}, 0, nullptr, 1e6}, "plan", -1));
}

}  // namespace convscope

// What the tests of the verbs share: the program run within the test, and an algorithm and a machine made up.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/algorithm/registry.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/record/result.hpp"
#include "bench/verify/reference_algorithm.hpp"

namespace convscope::testing {

// AlexNet on a CPU without backward-data of the first layer, as `convscope-report keep` keeps a run.
inline const std::string kKeptRun = CONVSCOPE_SOURCE_FOLDER "/results/amd-zen4-2-cores/alexnet.json.xz";

// The options that a verb's flags are read into.
template <typename Options>
Options read_flags(const std::vector<std::string>& words) {
  Options options;
  CLI::App verb;
  add_flags(verb, options);
  verb.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  return options;
}

template <typename Function>
std::string output_of(const Function& function) {
  std::ostringstream out;
  function(out);
  return out.str();
}

// What `convscope WORDS...` prints on standard output; throws what the verb throws.
inline std::string run_program(std::vector<std::string> words, const Registry& registry = {}) {
  words.insert(words.begin(), "convscope");
  return output_of([&](std::ostream& out) {
    std::ostringstream errors;
    parse_command(words)({.argv = words, .registry = registry, .out = out, .errors = errors});
  });
}

// What is wrong with `convscope WORDS...`, which is read and not run; empty where nothing is.
inline std::string refusal_of(std::vector<std::string> words) {
  words.insert(words.begin(), "convscope");
  return error_of([&] { parse_command(words); });
}

// Forward 3x3 at stride 1 only; 1 MiB of workspace; its run() does what `work_` says.
class Picky final : public Algorithm {
 public:
  explicit Picky(void (*work)(const ConvArgs&), const std::string& id = "picky.cpu") : work_(work) {
    info_.id = id;
  }
  const AlgorithmInfo& info() const override { return info_; }
  Support takes(const ConvProblem& p, const DeviceInfo&) const override {
    if (p.pass != Pass::forward) return Support::no(Reason::unsupported_pass, "it only goes forward");
    if (p.math != MathMode::fp32) return Support::no(Reason::unsupported_math, "it needs fp32");
    if (p.filter != Extent2{3, 3}) return Support::no(Reason::unsupported_filter, "it needs a 3x3 filter");
    if (p.stride != Extent2{1, 1}) return Support::no(Reason::unsupported_stride, "it needs stride 1");
    return Support::yes();
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions&) const override {
    return std::make_unique<PickyPlan>(problem, work_);
  }

 private:
  struct PickyPlan final : Plan {
    PickyPlan(const ConvProblem& problem, void (*work)(const ConvArgs&)) : problem_(problem), work_(work) {}
    int64_t workspace_bytes() const override { return 1 << 20; }
    std::string implementation() const override { return "5+4+4"; }
    std::optional<OperationCount> operations() const override {
      if (problem_.layout == Layout::nhwc)
        return std::nullopt;  // as a library that does not say what it does
      return OperationCount{problem_.nominal_flops() / 4, 1e6, 5e6};
    }
    void run(const ConvArgs& args, Queue&) override { work_(args); }
    ConvProblem problem_;
    void (*work_)(const ConvArgs&);
  };
  AlgorithmInfo info_{"picky.cpu",     "winograd",       "somelib", "1.2",
                      DeviceKind::cpu, "For this test.", false,     true};
  void (*work_)(const ConvArgs&);
};

inline Registry registry_with_picky(void (*work)(const ConvArgs&) = [](const ConvArgs&) {}) {
  Registry all;
  add_reference(all);
  all.add(std::make_unique<Picky>(work));
  return all;
}

inline DeviceInfo test_processor() {
  return {DeviceKind::cpu, "Test processor",  "AVX3", 2, 32 << 10, 1 << 20,
          32 << 20,        int64_t{24} << 30, true,   0, "",       ""};
}
inline const Ceilings kCeilings{2, 2e11, 2e10, 2.5e10, 2e11};

}  // namespace convscope::testing

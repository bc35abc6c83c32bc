// The contract of bench/algorithm/algorithm.hpp, checked on every algorithm of the catalog and on the small
// one below, which shows how little an algorithm needs. Each refuses a problem with a reason or is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "algorithms/allocation_count.hpp"
#include "algorithms/catalog.hpp"
#include "algorithms/common/test_name_test.hpp"
#include "bench/algorithm/limits.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/reference_algorithm.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

// A complete algorithm: forward, NCHW, no groups; scales its filters once to show prepare() and workspace.
class SampleAlgorithm final : public Algorithm {
 public:
  class SamplePlan final : public Plan {
   public:
    explicit SamplePlan(const ConvProblem& problem) : p_(problem) {}
    int64_t workspace_bytes() const override { return p_.bytes(Role::filter); }
    std::optional<OperationCount> operations() const override {
      return OperationCount{p_.effective_flops(), 0,
                            static_cast<double>(p_.total_bytes() + 2 * p_.bytes(Role::filter))};
    }
    bool has_prepare() const override { return true; }
    void prepare(const ConvArgs& args, Queue&) override {
      std::copy_n(static_cast<const float*>(args.filter), p_.elements(Role::filter),
                  static_cast<float*>(args.workspace));
    }
    void run(const ConvArgs& args, Queue& queue) override {
      const auto* x = static_cast<const float*>(args.input);
      const auto* f = static_cast<const float*>(args.workspace);
      auto* y = static_cast<float*>(args.output);
      const TensorShape xs = p_.shape(Role::input), fs = p_.shape(Role::filter), ys = p_.shape(Role::output);
      queue.phase(Phase::product);
#pragma omp parallel for collapse(2)
      for (int64_t n = 0; n < ys.size[0]; ++n)
        for (int64_t k = 0; k < ys.size[1]; ++k)
          for (int64_t p = 0; p < ys.size[2]; ++p)
            for (int64_t q = 0; q < ys.size[3]; ++q) {
              float sum = 0;
              for (int64_t c = 0; c < fs.size[1]; ++c)
                for (int64_t r = 0; r < fs.size[2]; ++r)
                  for (int64_t s = 0; s < fs.size[3]; ++s) {
                    const int64_t h = p * p_.stride.h - p_.pad.h + r * p_.dilation.h;
                    const int64_t w = q * p_.stride.w - p_.pad.w + s * p_.dilation.w;
                    if (h >= 0 && h < xs.size[2] && w >= 0 && w < xs.size[3])
                      sum += x[xs.offset(n, c, h, w)] * f[fs.offset(k, c, r, s)];
                  }
              y[ys.offset(n, k, p, q)] = sum;
            }
      queue.end_phase();
    }

   private:
    ConvProblem p_;
  };

  SampleAlgorithm() {
    info_.id = "sample.cpu";
    info_.family = "direct";
    info_.provider = "convscope";
    info_.summary = "the contract's own example";
    info_.exact_on_integers = true;
  }
  const AlgorithmInfo& info() const override {
    return info_;
  }
  Support takes(const ConvProblem& p, const DeviceInfo&) const override {
    return first_refusal(
        {require(p.pass == Pass::forward, Reason::unsupported_pass,
                 "pass " + std::string(name(p.pass)) + ": the sample only goes forward"),
         fp32_only(p),
         require(p.layout == Layout::nchw, Reason::unsupported_layout,
                 "layout " + std::string(name(p.layout)) + ": the sample only reads NCHW"),
         require(p.groups == 1, Reason::unsupported_groups, "the sample only has one group")});
  }
  std::unique_ptr<Plan> plan(const ConvProblem& p, Device&, const PlanOptions&) const override {
    return std::make_unique<SamplePlan>(p);
  }

 private:
  AlgorithmInfo info_;
};

Registry every_algorithm() {
  Registry registry;
  register_all(registry);
  add_reference(registry);
  registry.add(std::make_unique<SampleAlgorithm>());
  return registry;
}

// Small, each odd in its own way.
constexpr const char* kShapes[] = {
    "n=1 c=1 hw=1x1 k=1 rs=1x1",
    "n=1 c=3 hw=7x7 k=5 rs=1x1",
    "n=3 c=8 hw=5x9 k=16 rs=1x1",
    "n=3 c=7 hw=6x5 k=9 rs=1x1 stride=2x2",
    "n=1 c=3 hw=13x13 k=8 rs=3x3 pad=1x1",
    "n=3 c=5 hw=13x11 k=17 rs=3x3 pad=1x1",
    "n=2 c=16 hw=13x13 k=32 rs=3x3 pad=1x1",
    "n=3 c=4 hw=9x10 k=6 rs=3x3",
    "n=1 c=4 hw=27x27 k=7 rs=5x5 pad=2x2",
    "n=3 c=3 hw=11x14 k=4 rs=5x5",
    "n=1 c=3 hw=39x39 k=9 rs=11x11 stride=4x4",
    "n=3 c=3 hw=23x31 k=8 rs=7x7 stride=2x2 pad=3x3",
    "n=2 c=6 hw=12x15 k=10 rs=3x3 stride=2x1 pad=1x0",
    "n=1 c=6 hw=17x16 k=8 rs=5x5 stride=2x2 pad=2x2",
    "n=1 c=3 hw=16x16 k=4 rs=3x3 stride=3x3",
    "n=1 c=3 hw=10x9 k=4 rs=2x2 stride=3x3",
    "n=2 c=5 hw=15x14 k=6 rs=3x3 pad=2x2 dilation=2x2",
    "n=1 c=4 hw=14x19 k=5 rs=3x3 dilation=2x3",
    "n=2 c=4 hw=17x13 k=3 rs=3x3 stride=2x2 pad=2x2 dilation=2x2",
    "n=3 c=8 hw=9x9 k=12 rs=3x3 pad=1x1 groups=4",
    "n=1 c=32 hw=8x8 k=32 rs=3x3 pad=1x1 groups=2",
    "n=3 c=9 hw=10x11 k=9 rs=3x3 pad=1x1 groups=9",
    "n=1 c=6 hw=12x12 k=12 rs=5x5 stride=2x2 pad=2x2 groups=6",
    "n=2 c=4 hw=5x6 k=3 rs=5x6",
    "n=1 c=3 hw=4x4 k=2 rs=6x6 pad=1x1",
    "n=1 c=2 hw=3x3 k=3 rs=2x2 pad=4x4",
    "n=1 c=3 hw=9x12 k=4 rs=1x5 pad=0x2",
    "n=1 c=3 hw=12x9 k=4 rs=4x1",
    "n=2 c=3 hw=8x30 k=4 rs=2x7 pad=1x3",
    "n=1 c=17 hw=1x40 k=19 rs=1x3 pad=0x1",
};

std::vector<ConvProblem> problems() {
  std::vector<ConvProblem> all;
  for (const char* shape : kShapes)
    for (Pass pass : kPasses)
      for (Layout layout : {Layout::nchw, Layout::nhwc}) {
        ConvProblem problem = parse_problem(shape);
        problem.pass = pass;
        problem.layout = layout;
        all.push_back(problem);
        if (pass != Pass::forward) continue;
        problem.epilogue = kEpilogues[1 + all.size() % (kEpilogues.size() - 1)];
        all.push_back(problem);
      }
  return all;
}

// Expected values are computed once for all algorithms of the process.
Verification& verification(const ConvProblem& problem) {
  static std::map<std::string, std::unique_ptr<Verification>> all;
  auto& one = all[to_line(problem)];
  if (!one) one = std::make_unique<Verification>(problem, VerifyOptions{});
  return *one;
}

class Contract : public ::testing::TestWithParam<std::string> {
 protected:
  const Algorithm& algorithm() { return *registry_.find(GetParam()); }
  void use_threads(int threads) {
    threads_ = std::min(threads, device_.info().cores);
    device_.set_threads(threads_);
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, int64_t cap = INT64_MAX) {
    return algorithm().plan(problem, device_, {.workspace_cap = cap, .threads = threads_});
  }
  void expect_right(const ConvProblem& problem, Plan& plan, int64_t cap) {
    const Verdict verdict = verification(problem).check(algorithm(), plan, device_, *queue_);
    EXPECT_TRUE(verdict.passed()) << to_line(problem) << " cap " << cap << " threads " << threads_ << ": "
                                  << verdict.note;
  }

  CpuDevice device_;
  std::unique_ptr<Queue> queue_ = device_.make_queue();
  Registry registry_ = every_algorithm();
  int threads_ = 1;
};

TEST_P(Contract, DescribesItself) {
  const AlgorithmInfo& info = algorithm().info();
  EXPECT_TRUE(info.id.ends_with("." + std::string(name(info.device)))) << info.id;
  const std::set<std::string> families{"reference", "direct",   "gemm",   "implicit_gemm",
                                       "fft",       "winograd", "library"};
  EXPECT_TRUE(families.contains(info.family)) << info.family;
  EXPECT_FALSE(info.provider.empty());
  EXPECT_FALSE(info.summary.empty());
  EXPECT_EQ(info.summary.find('\n'), std::string::npos);
  EXPECT_TRUE(info.provider != "convscope" || info.version.empty()) << info.version;
}

TEST_P(Contract, RefusesWithAReasonAndASentenceAndCountsItsWork) {
  for (MathMode math : kMathModes)
    for (ConvProblem problem : problems()) {
      problem.math = math;
      const Support support = algorithm().supports(problem, device_.info());
      const Support again = algorithm().supports(problem, device_.info());
      EXPECT_EQ(support.reason(), again.reason()) << to_line(problem);
      if (!support) {
        EXPECT_GE(support.why().size(), 12) << to_line(problem) << ": " << support.why();
        EXPECT_NE(support.why().find(' '), std::string::npos) << support.why();
        continue;
      }
      EXPECT_EQ(support.why(), "");
      EXPECT_GE(algorithm().error_growth(problem), 1) << to_line(problem);
      const auto made = plan(problem);
      const std::optional<OperationCount> count = made->operations();
      EXPECT_TRUE(count || algorithm().info().family == "library") << to_line(problem);
      if (!count) continue;
      EXPECT_GT(count->product_flops, 0) << to_line(problem);
      EXPECT_GE(count->transform_flops, 0) << to_line(problem);
      EXPECT_GE(count->bytes, static_cast<double>(problem.total_bytes())) << to_line(problem);
    }
}

TEST_P(Contract, IsRightWhereItDoesNotRefuse) {
  use_threads(2);
  for (const ConvProblem& problem : problems()) {
    if (!algorithm().supports(problem, device_.info())) continue;
    const auto made = plan(problem);
    expect_right(problem, *made, INT64_MAX);
  }
}

TEST_P(Contract, IsRightUnderEveryWorkspaceCapThatItCanMeet) {
  use_threads(1);
  for (const ConvProblem& problem : problems()) {
    if (!algorithm().supports(problem, device_.info())) continue;
    const int64_t free_bytes = plan(problem)->workspace_bytes();
    const auto least = plan(problem, 0);
    const int64_t least_bytes = least->workspace_bytes(), range = free_bytes - least_bytes;
    EXPECT_GE(least_bytes, 0);
    EXPECT_GE(range, 0) << to_line(problem);
    // A plan that takes the same anyway has no reason to be another one.
    if (range <= 0) continue;
    expect_right(problem, *least, 0);
    for (int64_t part = 0; part <= 8; ++part) {
      const int64_t cap = least_bytes + part * (range - 1) / 8;
      EXPECT_LE(plan(problem, cap)->workspace_bytes(), cap) << to_line(problem) << " least " << least_bytes;
    }
    const int64_t cap = least_bytes + range / 3;
    expect_right(problem, *plan(problem, cap), cap);
  }
}

TEST_P(Contract, AllocatesNothingInRun) {
  if (algorithm().info().family == "library") GTEST_SKIP() << "a library's own allocations are its own";
  use_threads(2);
  for (const ConvProblem& problem : problems()) {
    if (!algorithm().supports(problem, device_.info())) continue;
    const auto made = plan(problem);
    const Operands operands = make_operands(problem, device_, DataKind::uniform, 1);
    const Buffer workspace(device_, static_cast<size_t>(made->workspace_bytes()));
    const ConvArgs args = operands.args(workspace.data());
    if (made->has_prepare()) made->prepare(args, *queue_);
    const int64_t before = allocation_count();
    made->run(args, *queue_);
    EXPECT_EQ(allocation_count(), before) << to_line(problem);
  }
}

std::vector<std::string> ids() {
  const Registry registry = every_algorithm();
  std::vector<std::string> all;
  // Those of the CUDA device have their tests on the emulator, with shapes that it has time for.
  for (const Algorithm* algorithm : registry.all())
    if (algorithm->info().device == DeviceKind::cpu) all.push_back(algorithm->info().id);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, Contract, ::testing::ValuesIn(ids()), id_as_test_name);

TEST(Catalog, IdsAreUnique) {
  const std::vector<std::string> all = ids();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

}  // namespace
}  // namespace convscope

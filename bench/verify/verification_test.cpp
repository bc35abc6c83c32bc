#include "bench/verify/verification.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "bench/algorithm/described_test.hpp"
#include "bench/core/random.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/reference_algorithm.hpp"
#include "bench/verify/tensor_data.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Tampers with a run of the reference. `before` is a copy of what the written tensor held.
struct Tampering {
  const ConvProblem& problem;
  const ConvArgs& args;
  float* written;
  int64_t elements;
  const std::vector<float>& before;
  int run;  // 1 is the first
};
using Tamper = std::function<void(const Tampering&)>;

class TamperedPlan final : public Plan {
 public:
  TamperedPlan(const ConvProblem& problem, std::unique_ptr<Plan> right, Tamper tamper)
      : problem_(problem), right_(std::move(right)), tamper_(std::move(tamper)) {}
  int64_t workspace_bytes() const override { return 64; }
  void run(const ConvArgs& args, Queue& queue) override {
    const Role role = written_role(problem_.pass);
    auto* written = static_cast<float*>(role == Role::input    ? args.input
                                        : role == Role::filter ? args.filter
                                                               : args.output);
    const int64_t elements = problem_.bytes(role) / static_cast<int64_t>(sizeof(float));
    const std::vector<float> before(written, written + elements);
    right_->run(args, queue);
    tamper_({problem_, args, written, elements, before, ++run_});
  }

 private:
  ConvProblem problem_;
  std::unique_ptr<Plan> right_;
  Tamper tamper_;
  int run_ = 0;
};

struct Fixture {
  CpuDevice device;
  std::unique_ptr<Queue> queue = device.make_queue();
  Registry registry;
  const Algorithm& reference;

  Fixture() : reference((add_reference(registry), *registry.find("reference.cpu"))) {}

  TamperedPlan plan(const ConvProblem& problem, Tamper tamper) {
    return {problem, reference.plan(problem, device, {}), std::move(tamper)};
  }
  Verdict check(const ConvProblem& problem, const VerifyOptions& options, Tamper tamper) {
    TamperedPlan tampered = plan(problem, std::move(tamper));
    return Verification(problem, options).check(reference, tampered, device, *queue);
  }
  std::string fault(const ConvProblem& problem, Tamper tamper) {
    const Verdict verdict = check(problem, {}, std::move(tamper));
    EXPECT_EQ(verdict.passed(), verdict.note.empty());
    EXPECT_EQ(verdict.reason, verdict.passed() ? Reason::none : Reason::accuracy);
    return verdict.note;
  }
};

ConvProblem small_problem() {
  return parse_problem("n=2 c=3 hw=9x11 k=4 rs=3x3 pad=1x1");
}

// Sampled although small: no problem is small enough for a full check.
constexpr VerifyOptions kSampled{.seed = 7, .full_check_flops = 0, .sampled_outputs = 64};

const Tamper kNothing = [](const Tampering&) {};

TEST(Verification, PassesTheReferenceOnEveryPassAndLayout) {
  Fixture fixture;
  for (Pass pass : kPasses)
    for (Layout layout : kLayouts) {
      ConvProblem problem =
          parse_problem("n=3 c=4 hw=8x7 k=6 rs=3x2 stride=2x1 pad=1x2 dilation=1x2 groups=2");
      problem.pass = pass;
      problem.layout = layout;
      for (const VerifyOptions& options : {VerifyOptions{}, kSampled}) {
        const Verdict verdict = fixture.check(problem, options, kNothing);
        EXPECT_TRUE(verdict.passed()) << to_line(problem) << ": " << verdict.note;
        EXPECT_EQ(verdict.accuracy.integers_exact, true);
        // The reference rounds once, from f64.
        EXPECT_LT(verdict.accuracy.relative_l2.value(), 6e-8);
        EXPECT_LE(verdict.accuracy.checked_outputs, verdict.accuracy.total_outputs);
      }
    }
}

TEST(Verification, ReadsAndWritesTensorsInTheStorageTypeOfTheMathMode) {
  Fixture fixture;
  for (MathMode math : kMathModes)
    for (Pass pass : kPasses)
      for (const VerifyOptions& options : {VerifyOptions{}, kSampled}) {
        ConvProblem problem = parse_problem("n=2 c=4 hw=9x8 k=6 rs=3x2 pad=1x1 groups=2");
        problem.math = math;
        problem.pass = pass;
        const Verdict verdict = fixture.check(problem, options, kNothing);
        EXPECT_TRUE(verdict.passed()) << to_line(problem) << ": " << verdict.note;
        EXPECT_EQ(verdict.accuracy.integers_exact, true);
        // One rounding of the result.
        const bool narrow = storage_type(math) != DataType::f32;
        EXPECT_EQ(verdict.accuracy.relative_l2.value() > 1e-5, narrow) << to_line(problem);
      }
}

TEST(Verification, CatchesOneWrongBitIn16BitTensors) {
  Fixture fixture;
  for (const char* math : {"bf16", "fp16"}) {
    ConvProblem problem = small_problem();
    problem.math = *from_name(kMathModes, math);
    const std::string note =
        fixture.fault(problem, [](const Tampering& t) { reinterpret_cast<uint16_t*>(t.written)[17] ^= 1; });
    EXPECT_THAT(note, HasSubstr("whole-number data must come out exactly")) << math;
  }
}

TEST(Verification, CatchesOneWrongTileEdge) {
  Fixture fixture;
  const std::string note = fixture.fault(small_problem(), [](const Tampering& t) {
    const TensorShape y = t.problem.shape(Role::output);
    for (int64_t q = 0; q < y.size[3]; ++q)
      t.written[y.offset(1, 2, 8, q)] = 0;  // the ninth row, 9 = 2 * 4 + 1
  });
  EXPECT_THAT(note, HasSubstr("whole-number data must come out exactly"));
  EXPECT_THAT(note, HasSubstr("output[n=1 k=2 p=8 q="));
}

TEST(Verification, CatchesAWritePastTheOutput) {
  Fixture fixture;
  EXPECT_THAT(fixture.fault(small_problem(), [](const Tampering& t) { t.written[t.elements] = 1; }),
              HasSubstr("writes outside the output buffer"));
  EXPECT_THAT(fixture.fault(small_problem(),
                            [](const Tampering& t) { static_cast<float*>(t.args.workspace)[16] = 1; }),
              HasSubstr("writes outside the workspace of 64 bytes"));
  EXPECT_THAT(
      fixture.fault(small_problem(), [](const Tampering& t) { static_cast<float*>(t.args.filter)[-1] = 1; }),
      HasSubstr("writes outside the filter buffer"));
}

TEST(Verification, CatchesAWriteIntoAReadTensor) {
  Fixture fixture;
  const std::string note =
      fixture.fault(small_problem(), [](const Tampering& t) { static_cast<float*>(t.args.input)[12] = 99; });
  EXPECT_THAT(note, HasSubstr("writes into its input, which it may only read: input[n=0 c=0 h=1 w=1]"));
}

TEST(Verification, CatchesReadsOfTheOutput) {
  Fixture fixture;
  EXPECT_THAT(fixture.fault(small_problem(), [](const Tampering& t) { t.written[5] += t.before[5]; }),
              HasSubstr("reads its output: output[n=0 k=0 p=0 q=5]"));
  // Adds only what is not NaN: shows when the output holds a result.
  EXPECT_THAT(fixture.fault(small_problem(),
                            [](const Tampering& t) {
                              if (!std::isnan(t.before[6])) t.written[6] += t.before[6] + 1;
                            }),
              HasSubstr("reads its output: on a second run"));
}

TEST(Verification, CatchesRightOnceAndWrongTheSecondTime) {
  Fixture fixture;
  for (int period : {2, 100}) {
    const std::string note = fixture.fault(small_problem(), [&](const Tampering& t) {
      // The first run is on whole numbers, the second and third are on uniform data.
      if (t.run >= 3 && (period == 100 || t.run % period == 1)) t.written[50] += 1;
    });
    EXPECT_THAT(note, HasSubstr("the second run differs from the first: output[n=0 k=0 p=4 q=6]"));
  }
}

TEST(Verification, CatchesOneUnwrittenElement) {
  Fixture fixture;
  const Tamper unwritten = [](const Tampering& t) { t.written[70] = t.before[70]; };
  EXPECT_THAT(fixture.fault(small_problem(), unwritten),
              HasSubstr("leaves output[n=0 k=0 p=6 q=4] unwritten"));
  // Only from the second run on, where the first result is there already on whole-number data.
  EXPECT_THAT(fixture.fault(small_problem(),
                            [&](const Tampering& t) {
                              if (t.run >= 2) unwritten(t);
                            }),
              HasSubstr("unwritten"));
}

TEST(Verification, CatchesReadsOfAnUnwrittenWorkspace) {
  Fixture fixture;
  EXPECT_THAT(
      fixture.fault(small_problem(),
                    [](const Tampering& t) { t.written[0] += static_cast<float*>(t.args.workspace)[3]; }),
      HasSubstr("reads its workspace before writing it"));
}

TEST(Verification, CatchesInexactWholeNumbersOfAnExactAlgorithm) {
  Fixture fixture;
  const Verdict verdict = fixture.check(small_problem(), {}, [](const Tampering& t) {
    for (int64_t i = 0; i < t.elements; ++i) t.written[i] *= 1 + 0x1p-22f;
  });
  EXPECT_THAT(verdict.note, HasSubstr("whole-number data must come out exactly"));
  EXPECT_EQ(verdict.accuracy.integers_exact, false);
}

TEST(Verification, CatchesErrorsAboveTheGate) {
  Fixture fixture;
  const Verdict verdict = fixture.check(small_problem(), {}, [](const Tampering& t) {
    const auto* x = static_cast<const float*>(t.args.input);
    const bool whole_numbers = x[0] == std::round(x[0]) && x[1] == std::round(x[1]);
    for (int64_t i = 0; i < t.elements && !whole_numbers; ++i) t.written[i] *= 1.0001f;
  });
  EXPECT_THAT(verdict.note, HasSubstr("the bound"));
  EXPECT_NEAR(verdict.accuracy.relative_l2.value(), 1e-4, 1e-6);
}

// The last element is the farthest off, and still within its bound.
TEST(Verification, NamesTheElementThatIsFarthestOffAboveTheGate) {
  Fixture fixture;
  const ConvProblem problem = parse_problem("n=1 c=512 hw=9x9 k=4 rs=3x3 pad=1x1");
  TamperedPlan plan = fixture.plan(problem, [](const Tampering& t) {
    for (int64_t i = 0; i < t.elements; ++i) t.written[i] += i + 1 < t.elements ? 1e-3f : 2e-3f;
  });
  const Verdict verdict =
      Verification(problem, {}).check(testing::Described({}, 10), plan, fixture.device, *fixture.queue);
  EXPECT_THAT(verdict.note, HasSubstr("the gate for fp32 is 2e-05 (worst at output[n=0 k=3 p=8 q=8]"));
}

// The planted element is rarely in the sample of 64.
TEST(Verification, CatchesOneWrongElementAnywhereInASampledProblem) {
  Fixture fixture;
  ConvProblem problem = parse_problem("n=3 c=6 hw=11x13 k=10 rs=3x3 pad=1x1 groups=2");
  uint64_t draw = 0;
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc}) {
      problem.pass = pass;
      problem.layout = layout;
      for (int plant = 0; plant < 12; ++plant) {
        const int64_t where = random_below(3, draw++, problem.elements(written_role(pass)));
        const Verdict verdict = fixture.check(problem, kSampled, [&](const Tampering& t) {
          t.written[where] = t.written[(where + 1) % t.elements] + 0.25f;
        });
        EXPECT_FALSE(verdict.passed()) << to_line(problem) << " element " << where;
      }
    }
}

TEST(Verification, CatchesOneSlightlyWrongElementAmongInexactOnes) {
  // Large enough that blocks of several channels are summed; the algorithm does not promise exactness.
  const testing::Described inexact({}, 10);
  Fixture fixture;
  const ConvProblem problem = parse_problem("n=2 c=64 hw=26x26 k=64 rs=5x5 pad=2x2");
  Verification verification(problem, {.full_check_flops = 0, .sampled_outputs = 256});
  // Errors like those of a large Winograd tile, everywhere.
  const Tamper noise = [](const Tampering& t) {
    for (int64_t i = 0; i < t.elements; ++i)
      t.written[i] += 1e-4f * random_uniform(11, static_cast<uint64_t>(i));
  };
  TamperedPlan good = fixture.plan(problem, noise);
  const Verdict verdict = verification.check(inexact, good, fixture.device, *fixture.queue);
  EXPECT_TRUE(verdict.passed()) << verdict.note;
  EXPECT_EQ(verdict.accuracy.integers_exact, std::nullopt);
  EXPECT_GT(verdict.accuracy.relative_l2.value(), 1e-6);

  // One product of 1600 too much at one place: a typical value is 13.
  TamperedPlan bad = fixture.plan(problem, [&](const Tampering& t) {
    noise(t);
    t.written[12345] += 0.3f;
  });
  const Verdict caught = verification.check(inexact, bad, fixture.device, *fixture.queue);
  EXPECT_THAT(caught.note, HasSubstr("an element outside the sample is wrong"));
}

TEST(Verification, PassesTheReferenceWithEveryEpilogue) {
  Fixture fixture;
  for (Epilogue epilogue : kEpilogues)
    for (Layout layout : kLayouts)
      for (const VerifyOptions& options : {VerifyOptions{}, kSampled}) {
        ConvProblem problem = parse_problem("n=3 c=6 hw=11x13 k=10 rs=3x3 pad=1x1 groups=2");
        problem.epilogue = epilogue;
        problem.layout = layout;
        const Verdict verdict = fixture.check(problem, options, kNothing);
        EXPECT_TRUE(verdict.passed()) << to_line(problem) << ": " << verdict.note;
        EXPECT_EQ(verdict.accuracy.integers_exact, true);
      }
}

// Everywhere is outside the sample too.
TEST(Verification, CatchesOneWrongElementAnywhereUnderAnEpilogue) {
  Fixture fixture;
  uint64_t draw = 0;
  for (Epilogue epilogue : {Epilogue::relu, Epilogue::bias, Epilogue::bias_relu}) {
    ConvProblem problem = parse_problem("n=3 c=6 hw=11x13 k=10 rs=3x3 pad=1x1 groups=2");
    problem.epilogue = epilogue;
    for (int plant = 0; plant < 12; ++plant) {
      const int64_t where = random_below(5, draw++, problem.elements(Role::output));
      const Verdict verdict = fixture.check(problem, kSampled, [&](const Tampering& t) {
        t.written[where] = t.written[(where + 1) % t.elements] + 0.25f;
      });
      EXPECT_FALSE(verdict.passed()) << to_line(problem) << " element " << where;
    }
  }
}

TEST(Verification, CatchesAnOutputThatReluWasNotAppliedTo) {
  Fixture fixture;
  ConvProblem problem = parse_problem("n=3 c=6 hw=11x13 k=10 rs=3x3 pad=1x1 epilogue=relu");
  const Verdict verdict = fixture.check(problem, kSampled, [](const Tampering& t) {
    if (t.written[1234] == 0) t.written[1234] = -0.001f;
    if (t.written[1235] == 0) t.written[1235] = -0.001f;
    if (t.written[1236] == 0) t.written[1236] = -0.001f;
  });
  EXPECT_THAT(verdict.note, HasSubstr("ReLU leaves nothing below zero"));
}

TEST(Verification, CatchesABiasOfAnotherChannelAndOneThatIsWritten) {
  Fixture fixture;
  ConvProblem problem = parse_problem("n=2 c=3 hw=9x11 k=4 rs=3x3 pad=1x1 epilogue=bias");
  EXPECT_THAT(fixture.fault(problem,
                            [](const Tampering& t) {
                              const TensorShape y = t.problem.shape(Role::output);
                              t.written[y.offset(1, 2, 3, 4)] += t.args.bias[3] - t.args.bias[2];
                            }),
              HasSubstr("output[n=1 k=2 p=3 q=4]"));
  EXPECT_THAT(fixture.fault(problem, [](const Tampering& t) { const_cast<float*>(t.args.bias)[1] = 99; }),
              HasSubstr("writes into its bias, which it may only read: that of channel 1"));
  EXPECT_THAT(fixture.fault(problem, [](const Tampering& t) { const_cast<float*>(t.args.bias)[4] = 99; }),
              HasSubstr("writes outside the bias"));
}

TEST(Verification, ChecksAgainOnUniformDataOnly) {
  Fixture fixture;
  const ConvProblem problem = small_problem();
  Verification verification(problem, {});
  TamperedPlan good = fixture.plan(problem, kNothing);
  EXPECT_TRUE(verification.check_again(fixture.reference, good, fixture.device, *fixture.queue).passed());
  TamperedPlan bad = fixture.plan(problem, [](const Tampering& t) { t.written[0] += 1; });
  const Verdict verdict = verification.check_again(fixture.reference, bad, fixture.device, *fixture.queue);
  EXPECT_THAT(verdict.note, HasSubstr("checked again after timing"));
  EXPECT_EQ(verdict.reason, Reason::accuracy);
}

TEST(Operands, HoldReproducibleDataAndNaNWhereThePassWrites) {
  CpuDevice device;
  const ConvProblem problem = parse_problem("backward_data n=2 c=3 hw=9x11 k=4 rs=3x3");
  const Operands a = make_operands(problem, device, DataKind::uniform, 5);
  const Operands b = make_operands(problem, device, DataKind::uniform, 5);
  const Operands other = make_operands(problem, device, DataKind::uniform, 6);
  const auto elements = static_cast<size_t>(problem.elements(Role::filter));
  const std::vector<float> fa(a.filter.as<float>(), a.filter.as<float>() + elements);
  const std::vector<float> fb(b.filter.as<float>(), b.filter.as<float>() + elements);
  const std::vector<float> fo(other.filter.as<float>(), other.filter.as<float>() + elements);
  EXPECT_EQ(fa, fb);
  EXPECT_THAT(fa, Not(::testing::ElementsAreArray(fo)));
  EXPECT_THAT(fa, ::testing::Each(::testing::AllOf(::testing::Ge(-1), ::testing::Lt(1))));
  for (int64_t i = 0; i < problem.elements(Role::input); ++i) EXPECT_TRUE(std::isnan(a.input.as<float>()[i]));
}

TEST(TensorData, KeepsWholeNumberSumsExact) {
  for (const char* line : {"n=1 c=3 hw=9 k=4 rs=3x3", "n=1 c=2000000 hw=3 k=1 rs=3x3",
                           "backward_filter n=4096 c=1 hw=128x128 k=1 rs=1x1"}) {
    const ConvProblem problem = parse_problem(line);
    const auto [a, b] = read_roles(problem.pass);
    const TensorData left(problem, a, DataKind::integers, 3), right(problem, b, DataKind::integers, 3);
    // The mean magnitude of a product, over a stretch of both tensors, times the number of products.
    double sum = 0;
    constexpr int64_t stretch = 1 << 16;
    for (int64_t i = 0; i < stretch; ++i)
      sum += std::abs(left.at(i % left.elements()) * right.at(i % right.elements()));
    EXPECT_GT(sum, 0);
    EXPECT_LT(sum / stretch * static_cast<double>(reduction_length(problem)), 1 << 24) << line;
  }
}

}  // namespace
}  // namespace convscope

// Every variant against the f64 definition: random small problems in every pass and layout, the layers of
// AlexNet at the accuracy gate, all instruction sets, workspace caps, thread counts, and every refusal.
#include "algorithms/winograd/winograd.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cstring>
#include <random>
#include <vector>

#include "algorithms/common/each_target.hpp"
#include "algorithms/winograd/cpu/plans.hpp"
#include "algorithms/winograd/odd_problems_test.hpp"
#include "bench/core/sanitized_test.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/verifications_test.hpp"

namespace convscope {
namespace {

class Winograd : public testing::Test {
 protected:
  Winograd() : queue_(device_.make_queue()) { add_winograd(registry_); }

  const Algorithm& variant(const std::string& name) const {
    const Algorithm* const found = registry_.find("winograd." + name + ".cpu");
    if (found == nullptr) throw std::logic_error("no variant " + name);
    return *found;
  }

  Verdict verify(const Algorithm& algorithm, const ConvProblem& problem, const PlanOptions& options = {}) {
    const auto plan = algorithm.plan(problem, device_, options);
    return verifications_.of(problem).check(algorithm, *plan, device_, *queue_);
  }
  void expect_right(const Algorithm& algorithm, const ConvProblem& problem, const PlanOptions& options = {}) {
    const Verdict verdict = verify(algorithm, problem, options);
    EXPECT_TRUE(verdict.passed()) << algorithm.info().id << " on " << to_line(problem) << ": "
                                  << verdict.note;
  }

  void expect_refusal(const std::string& name, const std::string& line, Reason reason,
                      const std::string& why) {
    const Support support = variant(name).supports(parse_problem(line), device_.info());
    EXPECT_FALSE(support) << name << " on " << line;
    EXPECT_EQ(support.reason(), reason);
    EXPECT_THAT(support.why(), testing::HasSubstr(why));
  }

  // The tensor that the plan writes, from data that depends on the problem alone.
  std::vector<float> result(const Algorithm& algorithm, const ConvProblem& problem,
                            const PlanOptions& options) {
    const auto plan = algorithm.plan(problem, device_, options);
    Operands operands = make_operands(problem, device_, DataKind::uniform, 5);
    Buffer workspace(device_, static_cast<size_t>(plan->workspace_bytes()));
    workspace.fill_with_nan();
    const ConvArgs args = operands.args(workspace.data());
    if (plan->has_prepare()) plan->prepare(args, *queue_);
    plan->run(args, *queue_);
    const Role role = written_role(problem.pass);
    Buffer& written = role == Role::input    ? operands.input
                      : role == Role::filter ? operands.filter
                                             : operands.output;
    std::vector<float> values(static_cast<size_t>(problem.elements(role)));
    written.download(values.data(), values.size() * sizeof(float));
    return values;
  }

  CpuDevice device_;
  std::unique_ptr<Queue> queue_;
  Registry registry_;
  Verifications verifications_{{.seed = 11, .sampled_outputs = 512}};
};

TEST_F(Winograd, EveryFixedTileIsRightOnRandomProblems) {
  OddProblems problems(1);
  for (const char* name : {"f2x2_3x3", "f4x4_3x3", "f6x6_3x3"})
    for (int i = 0; i < problems_to_try(20); ++i) expect_right(variant(name), problems.next({3, 3}, {1, 1}));
  for (const char* name : {"f2x2_5x5", "f3x3_5x5", "f4x4_5x5"})
    for (int i = 0; i < problems_to_try(20); ++i) expect_right(variant(name), problems.next({5, 5}, {1, 1}));
}

TEST_F(Winograd, MixedTilesAreRightForEveryFilterUpToSevenTaps) {
  OddProblems problems(2);
  for (int64_t h = 1; h <= 7; ++h)
    for (int64_t w = 1; w <= 7; ++w) {
      if (h == 1 && w == 1) continue;
      for (int i = 0; i < problems_to_try(3); ++i)
        expect_right(variant("mixed"), problems.next({h, w}, {1, 1}));
    }
}

TEST_F(Winograd, PolyphaseIsRightForEveryStride) {
  OddProblems problems(3);
  for (int i = 0; i < problems_to_try(80); ++i) {
    const Extent2 stride{problems.between(1, 4), problems.between(2, 4)};
    const Extent2 filter{problems.between(stride.h, 8 - stride.h % 2), problems.between(stride.w + 1, 11)};
    if (ceil_div(filter.h, stride.h) > 7) continue;
    expect_right(variant("polyphase"), problems.next(filter, stride));
  }
}

TEST_F(Winograd, MeetsTheAccuracyGateOnTheLayersOfAlexNet) {
  const auto expect_all_passes = [&](const std::vector<const char*>& names, const std::string& shape) {
    for (const Pass pass : kPasses)
      for (const char* variant_name : names) {
        const ConvProblem problem = parse_problem(std::string(name(pass)) + " fp32 nchw " + shape);
        expect_right(variant(variant_name), problem);
      }
  };
  // Rounding is what depth is for; the sanitizers look for other faults.
  const std::string conv2 = kSanitized ? "n=1 c=12" : "n=1 c=96",
                    conv3 = kSanitized ? "n=1 c=24" : "n=1 c=384";
  expect_all_passes({"polyphase"}, "n=1 c=3 hw=227x227 k=16 rs=11x11 stride=4x4");
  expect_all_passes({"f2x2_5x5", "f3x3_5x5", "f4x4_5x5", "mixed"}, conv2 + " hw=27x27 k=16 rs=5x5 pad=2x2");
  expect_all_passes({"f2x2_3x3", "f4x4_3x3", "f6x6_3x3", "mixed"}, conv3 + " hw=13x13 k=32 rs=3x3 pad=1x1");
}

TEST_F(Winograd, TwelvePointsMeetTheAccuracyGateOnFiltersOfOneRowOrColumn) {
  for (const Pass pass : kPasses)
    for (const char* shape : {"hw=17x17 k=32 rs=7x1 pad=3x0", "hw=17x17 k=32 rs=1x7 pad=0x3",
                              "hw=24x16 k=16 rs=1x5 pad=0x2", "hw=12x12 k=16 rs=6x1"}) {
      const ConvProblem problem =
          parse_problem(std::string(name(pass)) + " fp32 nchw n=1 c=192 " + std::string(shape));
      expect_right(variant("mixed"), problem);
    }
}

TEST_F(Winograd, EveryInstructionSetIsRight) {
  for_each_target([&] {
    OddProblems problems(4);
    for (int i = 0; i < problems_to_try(15); ++i) {
      expect_right(variant("mixed"), problems.next({3, 5}, {1, 1}));
      expect_right(variant("polyphase"), problems.next({5, 3}, {2, 2}));
    }
  });
}

TEST_F(Winograd, EveryInstructionSetIsRightWithFiltersOfOneRowOrColumn) {
  for_each_target([&] {
    OddProblems problems(5);
    for (const Extent2 filter : {Extent2{1, 3}, Extent2{3, 1}, Extent2{1, 7}, Extent2{7, 1}, Extent2{2, 1}})
      for (int i = 0; i < problems_to_try(6); ++i)
        expect_right(variant("mixed"), problems.next(filter, {1, 1}));
  });
}

TEST_F(Winograd, StaysUnderAWorkspaceCapWithSmallerBlocks) {
  for (const Pass pass : kPasses) {
    ConvProblem problem = parse_problem("forward fp32 nchw n=3 c=16 hw=30x30 k=32 rs=3x3 pad=1x1");
    problem.pass = pass;
    const Algorithm& mixed = variant("mixed");
    const int64_t free = mixed.plan(problem, device_, {})->workspace_bytes();
    const PlanOptions capped{.workspace_cap = free / 2};
    EXPECT_LE(mixed.plan(problem, device_, capped)->workspace_bytes(), capped.workspace_cap);
    expect_right(mixed, problem, capped);
    expect_right(mixed, problem, {.workspace_cap = 1});  // one strip at a time, the minimum
  }
}

TEST_F(Winograd, GivesTheSameBitsWithAnyNumberOfThreads) {
  for (const Pass pass : kPasses) {
    ConvProblem problem = parse_problem("forward fp32 nchw n=2 c=20 hw=14x11 k=40 rs=3x3 pad=1x1");
    problem.pass = pass;
    const std::vector<float> one = result(variant("mixed"), problem, {.threads = 1});
    const std::vector<float> two = result(variant("mixed"), problem, {.threads = 2});
    EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)), 0) << name(pass);
    expect_right(variant("mixed"), problem, {.threads = 2});
  }
}

TEST_F(Winograd, GivesTheSameBitsAgainWhereThreadsSumAGradientApart) {
  // Many tiles for few filters: each thread has products of its own.
  const ConvProblem problem = parse_problem("backward_filter fp32 nchw n=4 c=3 hw=31x40 k=3 rs=3x3 pad=1x1");
  const std::vector<float> once = result(variant("mixed"), problem, {.threads = 2});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(result(variant("mixed"), problem, {.threads = 2}), once);
}

// Under a small cap a block is a row of tiles, and there are 1400 of them.
TEST_F(Winograd, AddsTheSumsOfManyBlocksInTwoLevels) {
  const ConvProblem problem =
      parse_problem("backward_filter fp32 nchw n=700 c=4 hw=12x12 k=5 rs=3x3 pad=1x1");
  const Algorithm& mixed = variant("mixed");
  for (const int threads : {1, 2}) {
    const int64_t minimum =
        mixed.plan(problem, device_, {.workspace_cap = 0, .threads = threads})->workspace_bytes();
    for (const int64_t cap : {minimum * 3 / 2, int64_t{0}, minimum, minimum * 2, minimum * 3}) {
      if (kSanitized && cap != minimum * 3 / 2) continue;
      const PlanOptions options{.workspace_cap = cap, .threads = threads};
      const auto plan = mixed.plan(problem, device_, options);
      EXPECT_LT(plan->longest_sum(), 1100) << cap;
      EXPECT_LE(plan->workspace_bytes(), std::max(cap, minimum));
      expect_right(mixed, problem, options);
    }
  }
}

// A piece of the depth at a time is added to the products.
TEST_F(Winograd, IsRightWhereChannelsAreMoreThanAProductSumsAtOnce) {
  for (const char* line : {"forward fp32 nhwc n=1 c=1700 hw=6x6 k=5 rs=3x3 pad=1x1",
                           "backward_data fp32 nchw n=40 c=33 hw=6x6 k=1700 rs=3x3 pad=1x1",
                           "forward fp32 nchw n=9 c=70 hw=19x19 k=40 rs=11x11 stride=4x4"})
    for (const char* name : {"mixed", "polyphase"}) {
      const ConvProblem problem = parse_problem(line);
      if (!variant(name).supports(problem, device_.info())) continue;
      EXPECT_LT(variant(name).plan(problem, device_, {})->longest_sum(), 800);
      expect_right(variant(name), problem);
    }
}

TEST_F(Winograd, IsRightWhereEachThreadHasBlocksOfItsOwn) {
  // 31 rows are 6 and five times 5: the second thread has no tile with all points.
  for (const char* shape :
       {"n=1 c=3 hw=31x40 k=3 pad=1x1", "n=4 c=17 hw=30x37 k=3", "n=2 c=6 hw=62x50 k=4 groups=2"})
    for (const Pass pass : kPasses)
      for (const int threads : {2, 3}) {
        const ConvProblem problem = parse_problem(std::string(name(pass)) + " fp32 nchw rs=3x3 " + shape);
        expect_right(variant("mixed"), problem, {.threads = threads});
        expect_right(variant("f4x4_3x3"), problem, {.threads = threads});
      }
}

// Under the address sanitizer large layers take minutes: there only the uneven share.
#ifdef __SANITIZE_ADDRESS__
constexpr int kThreadCounts[] = {3};
#else
constexpr int kThreadCounts[] = {1, 2, 3};
#endif

// Transformed filters that fit in no L2, few tiles.
constexpr const char* kManyFilters[] = {
    "nchw n=1 c=144 hw=7x8 k=175 rs=3x3 pad=1x1",
    "nhwc n=2 c=131 hw=5x7 k=192 rs=3x3 pad=1x1",
    "nchw n=1 c=320 hw=6x5 k=264 rs=3x3 pad=1x0 groups=2",
};

TEST_F(Winograd, IsRightWhereTransformedFiltersNeverLeaveTheCaches) {
  for (const char* shape : kManyFilters)
    for (const Pass pass : kPasses)
      for (const int threads : kThreadCounts) {
        const ConvProblem problem = parse_problem(std::string(name(pass)) + " fp32 " + shape);
        expect_right(variant("mixed"), problem, {.threads = threads});
        expect_right(variant("f4x4_3x3"), problem, {.threads = threads});
      }
}

TEST_F(Winograd, IsRightWhereTransformedFiltersOfOneColumnNeverLeaveTheCaches) {
  const std::string shape = "nchw n=1 c=520 hw=7x5 k=400 rs=3x1 pad=1x0";
  EXPECT_FALSE(variant("mixed").plan(parse_problem("forward fp32 " + shape), device_, {})->has_prepare());
  for (const Pass pass : kPasses)
    for (const int threads : {1, 2})
      expect_right(variant("mixed"), parse_problem(std::string(name(pass)) + " fp32 " + shape),
                   {.threads = threads});
}

TEST_F(Winograd, EveryInstructionSetIsRightWhereTransformedFiltersNeverLeaveTheCaches) {
  for_each_target([&] {
    for (const Pass pass : kPasses)
      expect_right(variant("mixed"), parse_problem(std::string(name(pass)) + " fp32 " + kManyFilters[0]),
                   {.threads = 2});
  });
}

TEST_F(Winograd, TransformsFiltersWithTheirProductsOnlyWhereThatSavesMemoryTraffic) {
  const auto prepares = [&](const std::string& shape, const PlanOptions& options) {
    return variant("mixed").plan(parse_problem("forward fp32 " + shape), device_, options)->has_prepare();
  };
  EXPECT_FALSE(prepares(kManyFilters[0], {.threads = 2}));
  EXPECT_TRUE(prepares("nchw n=64 c=144 hw=7x8 k=175 rs=3x3 pad=1x1", {.threads = 2})) << "many tiles";
  EXPECT_TRUE(prepares(kManyFilters[0], {.threads = 64})) << "more threads than panels of filters";
  EXPECT_TRUE(prepares(kManyFilters[0], {.workspace_cap = 1})) << "no room for all tiles";
}

TEST_F(Winograd, NeedsLessWorkspaceWhereFiltersAreTransformedWithTheirProducts) {
  for (const Pass pass : kPasses) {
    const ConvProblem problem = parse_problem(std::string(name(pass)) + " fp32 " + kManyFilters[0]);
    const int64_t bytes = variant("mixed").plan(problem, device_, {})->workspace_bytes();
    EXPECT_LT(bytes, 49 * 144 * 175 * 4) << name(pass) << ": of 7x7 points";
    const PlanOptions capped{.workspace_cap = bytes - 1};
    EXPECT_LE(variant("mixed").plan(problem, device_, {.workspace_cap = bytes})->workspace_bytes(), bytes);
    expect_right(variant("mixed"), problem, capped);
  }
}

TEST_F(Winograd, PreparesTheFilterOnlyWhereThereIsOne) {
  ConvProblem problem = parse_problem("forward fp32 nchw n=1 c=4 hw=8x8 k=4 rs=3x3 pad=1x1");
  EXPECT_TRUE(variant("mixed").plan(problem, device_, {})->has_prepare());
  problem.pass = Pass::backward_data;
  EXPECT_TRUE(variant("mixed").plan(problem, device_, {})->has_prepare());
  problem.pass = Pass::backward_filter;
  EXPECT_FALSE(variant("mixed").plan(problem, device_, {})->has_prepare());
}

TEST_F(Winograd, SaysHowItSplitsTheOutput) {
  const ConvProblem conv3 = parse_problem("forward fp32 nchw n=1 c=4 hw=13x13 k=4 rs=3x3 pad=1x1");
  EXPECT_EQ(variant("mixed").plan(conv3, device_, {})->implementation(), "13=5+4+4 x 13=5+4+4");
  EXPECT_EQ(variant("f6x6_3x3").plan(conv3, device_, {})->implementation(), "13=6+6+6-5 x 13=6+6+6-5");
}

// Transformed filters larger than the caches, and many tiles.
constexpr const char* kManyFiltersAndTiles[] = {
    "nchw n=9 c=165 hw=13x13 k=150 rs=3x3 pad=1x1",
    "nhwc n=2 c=131 hw=29x31 k=192 rs=3x3 pad=1x1",
    "nchw n=1 c=284 hw=20x47 k=264 rs=3x2 pad=1x0 groups=2",
    "nchw n=3 c=96 hw=27x27 k=200 rs=5x5 pad=2x2",
};

TEST_F(Winograd, IsRightWhereRowsOfFiltersAreTransformedWithTheirProducts) {
  for (const char* shape : kManyFiltersAndTiles)
    for (const Pass pass : {Pass::forward, Pass::backward_data})
      for (const int threads : kThreadCounts)
        expect_right(variant("mixed"), parse_problem(std::string(name(pass)) + " fp32 " + shape),
                     {.threads = threads});
}

TEST_F(Winograd, EveryInstructionSetIsRightWhereRowsOfFiltersAreTransformedWithTheirProducts) {
  for_each_target([&] {
    for (const Pass pass : {Pass::forward, Pass::backward_data})
      expect_right(variant("mixed"),
                   parse_problem(std::string(name(pass)) + " fp32 " + kManyFiltersAndTiles[0]),
                   {.threads = 2});
  });
}

TEST_F(Winograd, TransformsRowsOfFiltersWithTheirProductsOnlyWhereThatSavesMemoryTraffic) {
  DeviceInfo device;
  device.l2_bytes = 1 << 20;
  const auto takes = [&](const std::string& shape, const PlanOptions& options = {}) {
    const ConvProblem problem = parse_problem("forward fp32 " + shape);
    return winograd::make_half_transformed_plan(winograd::make_geometry(problem, {}), device, options) !=
           nullptr;
  };
  for (const char* shape : kManyFiltersAndTiles) EXPECT_TRUE(takes(shape)) << shape;
  EXPECT_FALSE(takes("nchw n=9 c=128 hw=13x13 k=128 rs=3x3 pad=1x1")) << "small filters";
  EXPECT_FALSE(takes("nchw n=1 c=165 hw=13x13 k=150 rs=3x3 pad=1x1")) << "few tiles";
  EXPECT_FALSE(takes("nchw n=9 c=600 hw=40x40 k=600 rs=7x1")) << "no rows of taps";
  EXPECT_FALSE(takes(kManyFiltersAndTiles[0], {.threads = 8})) << "fewer tiles for each thread";
  EXPECT_FALSE(takes(kManyFiltersAndTiles[0], {.workspace_cap = 1})) << "no room";
  device.l2_bytes = 1 << 17;
  EXPECT_FALSE(takes(kManyFiltersAndTiles[0])) << "a small cache";
}

TEST_F(Winograd, ExpectsLargerErrorsOfLargerTiles) {
  const ConvProblem conv3 = parse_problem("forward fp32 nchw n=1 c=4 hw=13x13 k=4 rs=3x3 pad=1x1");
  EXPECT_GT(variant("f2x2_3x3").error_growth(conv3), 1.0);
  EXPECT_GT(variant("f4x4_3x3").error_growth(conv3), variant("f2x2_3x3").error_growth(conv3));
  EXPECT_GT(variant("f6x6_3x3").error_growth(conv3), variant("f4x4_3x3").error_growth(conv3));
}

TEST_F(Winograd, RefusesStrideTwoWithItsReason) {
  expect_refusal("f4x4_3x3", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3 stride=2x2",
                 Reason::unsupported_stride, "stride 2x2");
  expect_refusal("mixed", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3 stride=1x2",
                 Reason::unsupported_stride, "stride 1x2");
  expect_refusal("polyphase", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3", Reason::unsupported_stride,
                 "stride 1x1");
}

TEST_F(Winograd, RefusesFiltersThatItHasNoTilesFor) {
  expect_refusal("f4x4_3x3", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=5x5", Reason::unsupported_filter,
                 "filter 5x5");
  expect_refusal("mixed", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=1x1", Reason::unsupported_filter,
                 "filter 1x1");
  expect_refusal("mixed", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x8", Reason::unsupported_filter,
                 "2 to 7 taps in one dimension and at most 7 in the other");
  expect_refusal("polyphase", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=1x1 stride=2x2",
                 Reason::unsupported_filter, "no tap");
  expect_refusal("polyphase", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=2x2 stride=2x2",
                 Reason::unsupported_filter, "residues of 1x1 taps");
  expect_refusal("polyphase", "forward fp32 nchw n=1 c=2 hw=300x300 k=2 rs=300x300 stride=257x257",
                 Reason::unsupported_stride, "66049 residues");
}

TEST_F(Winograd, RefusesWhatNoVariantCanDo) {
  for (const Algorithm* algorithm : registry_.all()) {
    if (algorithm->info().device != DeviceKind::cpu) continue;  // those are in cuda/variants_test.cpp
    const std::string id = algorithm->info().id;
    const std::string name = id.substr(9, id.size() - 13);
    expect_refusal(name, "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3 dilation=2x2",
                   Reason::unsupported_dilation, "dilation 2x2");
    expect_refusal(name, "forward tf32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3", Reason::unsupported_math, "tf32");
    expect_refusal(name, "forward fp32 chwn n=1 c=4 hw=9x9 k=4 rs=3x3", Reason::unsupported_layout, "chwn");
    expect_refusal(name, "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3 groups=4", Reason::unsupported_groups,
                   "4 groups");
  }
}

}  // namespace
}  // namespace convscope

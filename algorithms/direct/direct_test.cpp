// direct.cpu and the plain version against the reference on random problems, and what it promises besides:
// exact integers, nothing read from or written to where it should not, the same bits every time, refusals
// with a reason.
#include "algorithms/direct/direct.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "algorithms/common/each_target.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/direct/cpu/kernels.hpp"
#include "algorithms/direct/plain.hpp"
#include "bench/core/sanitized_test.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/fast_reference.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

const Algorithm& direct_algorithm() {
  static const std::unique_ptr<Registry> registry = [] {
    auto filled = std::make_unique<Registry>();
    add_direct(*filled);
    return filled;
  }();
  return *registry->find("direct.cpu");
}

enum class Data { integers, uniform };

// The three tensors on the CPU; the written one and the workspace hold NaN until the plan runs.
class Case {
 public:
  Case(const ConvProblem& problem, Data data, PlanOptions options = {})
      : problem_(problem), queue_(device_.make_queue()) {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> integer(-3, 3);
    std::uniform_real_distribution<float> real(-1, 1);
    for (const Role role : kRoles) {
      Buffer& buffer = tensors_[static_cast<size_t>(role)];
      buffer = Buffer(device_, static_cast<size_t>(problem.bytes(role)));
      auto& host = host_[static_cast<size_t>(role)];
      host.resize(static_cast<size_t>(problem.elements(role)));
      for (float& value : host)
        value = data == Data::integers ? static_cast<float>(integer(random)) : real(random);
      buffer.upload(host.data(), host.size() * sizeof(float));
    }
    plan_ = direct_algorithm().plan(problem, device_, options);
    workspace_ = Buffer(device_, static_cast<size_t>(plan_->workspace_bytes()));
    workspace_.fill_with_nan();
  }

  std::vector<float> run(bool with_prepare = true) {
    Buffer& written = tensor(written_role(problem_.pass));
    written.fill_with_nan();
    const ConvArgs args{tensor(Role::input).data(), tensor(Role::filter).data(), tensor(Role::output).data(),
                        workspace_.data()};
    if (with_prepare && plan_->has_prepare()) plan_->prepare(args, *queue_);
    plan_->run(args, *queue_);
    std::vector<float> result(written.bytes() / sizeof(float));
    written.download(result.data(), written.bytes());
    return result;
  }

  // The largest difference to the reference, which is the plain version's definition but faster, over its
  // largest element; infinite for a NaN.
  double error(const std::vector<float>& result) const {
    const std::vector<double> expected =
        reference_elements(problem_, host(Role::input), host(Role::filter), host(Role::output));
    double largest = 1e-30, worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(result[i])) return INFINITY;
      largest = std::max(largest, std::abs(expected[i]));
      worst = std::max(worst, std::abs(result[i] - expected[i]));
    }
    return worst / largest;
  }

  bool touched_nothing_else() {
    bool good = workspace_.guards_intact();
    for (const Role role : kRoles) {
      good = good && tensor(role).guards_intact();
      if (role == written_role(problem_.pass)) continue;
      std::vector<float> now(host_[static_cast<size_t>(role)].size());
      tensor(role).download(now.data(), now.size() * sizeof(float));
      good = good && now == host_[static_cast<size_t>(role)];
    }
    return good;
  }

  const Plan& plan() const { return *plan_; }

 private:
  Buffer& tensor(Role role) { return tensors_[static_cast<size_t>(role)]; }
  const float* host(Role role) const { return host_[static_cast<size_t>(role)].data(); }

  ConvProblem problem_;
  CpuDevice device_;
  std::unique_ptr<Queue> queue_;
  std::array<Buffer, 3> tensors_;
  std::array<std::vector<float>, 3> host_;
  std::unique_ptr<Plan> plan_;
  Buffer workspace_;
};

// Three passes of two layouts of the same shape.
std::vector<ConvProblem> every_pass_and_layout(ConvProblem problem) {
  std::vector<ConvProblem> all;
  for (const Pass pass : kPasses)
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      problem.pass = pass;
      problem.layout = layout;
      all.push_back(problem);
    }
  return all;
}

void expect_exact(const ConvProblem& problem, PlanOptions options = {}) {
  SCOPED_TRACE(to_line(problem) + " threads=" + std::to_string(options.threads));
  Case one(problem, Data::integers, options);
  EXPECT_EQ(one.error(one.run()), 0);
  EXPECT_TRUE(one.touched_nothing_else());
}

// With one thread and with two, alternating.
void expect_exact_everywhere(std::string_view shape) {
  int threads = 0;
  for (const ConvProblem& problem : every_pass_and_layout(parse_problem(shape)))
    expect_exact(problem, {.threads = 1 + threads++ % 2});
}

ConvProblem random_problem(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<int64_t> values) {
    return *(values.begin() + std::uniform_int_distribution<size_t>(0, values.size() - 1)(random));
  };
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  ConvProblem p;
  do {
    p.batch = between(1, 3);
    p.groups = pick({1, 1, 1, 2, 4});
    p.in_channels = p.groups * pick({1, 3, 5, 8, 16, 17, 33});
    p.out_channels = p.groups * pick({1, 3, 5, 8, 16, 17, 33, 40});
    if (between(0, 3) == 0) {  // depthwise, half of them with a multiplier
      p.groups = p.in_channels = pick({2, 5, 16, 24});
      p.out_channels = p.groups * pick({1, 1, 2, 3});
    }
    p.input = {between(1, 20), between(1, 20)};
    p.filter = {pick({1, 2, 3, 3, 5, 7}), pick({1, 2, 3, 3, 5, 7})};
    p.stride = {pick({1, 1, 2, 3, 4}), pick({1, 1, 2, 3, 4})};
    p.pad = {between(0, 3), between(0, 3)};
    p.dilation = {pick({1, 1, 2, 3}), pick({1, 1, 2, 3})};
  } while (validate(p).has_value() || p.nominal_flops() > 6e5);
  return p;
}

TEST(DirectPlain, IsTheReferencesDefinition) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> integer(-3, 3);
  for (int i = 0; i < problems_to_try(20); ++i)
    for (const ConvProblem& problem : every_pass_and_layout(random_problem(random))) {
      SCOPED_TRACE(to_line(problem));
      std::array<std::vector<float>, 3> tensors;
      for (const Role role : kRoles) {
        tensors[static_cast<size_t>(role)].resize(static_cast<size_t>(problem.elements(role)));
        for (float& value : tensors[static_cast<size_t>(role)]) value = static_cast<float>(integer(random));
      }
      const auto& [input, filter, output] = tensors;
      const std::vector<double> written = direct::plain(problem, input.data(), filter.data(), output.data());
      const TensorShape shape = problem.shape(written_role(problem.pass));
      for (int64_t a = 0; a < shape.size[0]; ++a)
        for (int64_t b = 0; b < shape.size[1]; ++b)
          for (int64_t c = 0; c < shape.size[2]; ++c)
            for (int64_t e = 0; e < shape.size[3]; ++e)
              ASSERT_EQ(written[static_cast<size_t>(shape.offset(a, b, c, e))],
                        reference_element(problem, input.data(), filter.data(), output.data(), {a, b, c, e}));
    }
}

TEST(Direct, AgreesExactlyWithTheDefinitionOnRandomIntegerProblems) {
  std::mt19937 random(1);
  for (int i = 0; i < problems_to_try(120); ++i) {
    const ConvProblem shape = random_problem(random);
    for (const ConvProblem& problem : every_pass_and_layout(shape))
      expect_exact(problem, {.threads = 1 + i % 2});
  }
}

TEST(Direct, IsNearTheDefinitionOnRealNumbers) {
  std::mt19937 random(2);
  for (int i = 0; i < problems_to_try(20); ++i)
    for (const ConvProblem& problem : every_pass_and_layout(random_problem(random))) {
      SCOPED_TRACE(to_line(problem));
      Case one(problem, Data::uniform);
      EXPECT_LT(one.error(one.run()), 1e-5);
    }
}

TEST(Direct, IsExactOnTheShapesOfRealNetworksMadeSmall) {
  expect_exact_everywhere("n=2 c=3 hw=35x35 k=17 rs=11x11 stride=4x4");        // AlexNet conv1
  expect_exact_everywhere("n=1 c=6 hw=27x27 k=18 rs=5x5 pad=2x2");             // conv2
  expect_exact_everywhere("n=1 c=70 hw=13x13 k=34 rs=3x3 pad=1x1");            // conv3, two channel blocks
  expect_exact_everywhere("n=2 c=12 hw=13x13 k=40 rs=3x3 pad=1x1 groups=2");   // grouped
  expect_exact_everywhere("n=1 c=3 hw=28x28 k=16 rs=7x7 stride=2x2 pad=3x3");  // ResNet conv1
  expect_exact_everywhere("n=2 c=20 hw=14x14 k=33 rs=1x1 stride=2x2");         // its shortcut
  expect_exact_everywhere("n=4 c=18 hw=7x7 k=34 rs=3x3 pad=1x1");              // images side by side
  expect_exact_everywhere("n=6 c=5 hw=6x6 k=48 rs=6x6");                       // fully connected
  expect_exact_everywhere("n=1 c=32 hw=30x30 k=32 rs=3x3 pad=1x1 groups=32");  // MobileNet
  expect_exact_everywhere("n=1 c=32 hw=31x30 k=32 rs=3x3 stride=2x2 pad=1x1 groups=32");
  expect_exact_everywhere("n=1 c=32 hw=20x20 k=32 rs=3x3 pad=1x1 groups=8");  // ResNeXt
}

TEST(Direct, IsExactOnDepthwiseLayersInManyPieces) {
  for (int threads : {1, 2})
    for (const char* shape : {
             "n=3 c=40 hw=9x9 k=40 rs=5x5 pad=2x2 groups=40",               // a last block of 8; 25 taps
             "n=1 c=16 hw=70x33 k=16 rs=3x3 pad=1x1 groups=16",             // bands and slices of one image
             "n=2 c=17 hw=64x40 k=17 rs=3x2 stride=2x3 pad=2x1 groups=17",  // no channel blocks
             "n=2 c=24 hw=20x50 k=24 rs=3x3 pad=4x4 dilation=4x4 groups=24",
             "n=5 c=32 hw=1x1 k=32 rs=3x3 pad=1x1 groups=32",  // one tap of nine falls inside
             "n=2 c=32 hw=6x7 k=32 rs=1x1 stride=2x2 groups=32",
         })
      for (const ConvProblem& problem : every_pass_and_layout(parse_problem(shape))) {
        expect_exact(problem, {.threads = threads});
        expect_exact(problem, {.workspace_cap = 0, .threads = threads});
      }
}

TEST(Direct, IsExactOnDepthwisePlanes) {
  for (int threads : {1, 2, 5})
    for (const char* shape : {
             "n=2 c=9 hw=13x31 k=9 rs=3x3 pad=1x1 groups=9",  // ragged rows; a row of one vector less one
             "n=1 c=8 hw=15x33 k=8 rs=3x3 stride=2x2 pad=1x1 groups=8",  // both residues ragged
             "n=1 c=8 hw=90x70 k=8 rs=5x4 stride=1x2 pad=2x1 groups=8",  // bands; strides differ
             "n=1 c=8 hw=70x90 k=8 rs=4x5 stride=2x1 pad=1x2 groups=8",  // groups of two taps
             "n=2 c=11 hw=17x19 k=11 rs=3x3 pad=2x2 dilation=2x2 groups=11",
             "n=1 c=8 hw=21x37 k=8 rs=3x3 stride=2x2 pad=2x4 dilation=2x3 groups=8",
             "n=1 c=8 hw=20x18 k=8 rs=7x7 pad=3x3 groups=8",             // runs of three and of one
             "n=1 c=8 hw=25x20 k=8 rs=3x2 stride=3x1 pad=1x1 groups=8",  // a stride that only rows have
             "n=1 c=8 hw=19x16 k=8 rs=1x1 stride=2x2 groups=8",          // residues without a tap
             "n=9 c=8 hw=8x8 k=8 rs=3x3 pad=1x1 groups=8",
         })
      for (const Pass pass : kPasses) {
        ConvProblem problem = parse_problem(shape);
        problem.pass = pass;
        EXPECT_THAT(Case(problem, Data::integers, {.threads = threads}).plan().implementation(),
                    HasSubstr("depthwise, columns in lanes"));
        expect_exact(problem, {.threads = threads});
        expect_exact(problem, {.workspace_cap = 0, .threads = threads});
      }
}

TEST(Direct, TakesChannelsAsLanesForDepthwiseLayersWithoutPlanes) {
  for (const char* shape :
       {"nhwc n=1 c=16 hw=9x9 k=16 rs=3x3 pad=1x1 groups=16",
        "nchw n=1 c=16 hw=9x30 k=16 rs=3x3 stride=1x3 pad=1x1 groups=16",  // no kernel for three
        "nchw n=1 c=16 hw=9x3 k=16 rs=3x3 pad=1x1 groups=16"})             // narrow
    for (const char* pass : {"forward", "backward_data", "backward_filter"})
      EXPECT_THAT(
          Case(parse_problem(std::string(pass) + " fp32 " + shape), Data::integers).plan().implementation(),
          HasSubstr("channels in lanes"));
}

TEST(Direct, SlicesTheRowsOfADepthwiseGradientWithFewPlanes) {
  const ConvProblem problem =
      parse_problem("backward_filter n=2 c=8 hw=41x23 k=8 rs=3x3 stride=2x2 pad=1x1 groups=8");
  const PlanOptions many{.threads = 5};
  EXPECT_THAT(Case(problem, Data::integers, many).plan().implementation(), HasSubstr("slices of rows"));
  expect_exact(problem, many);
}

TEST(Direct, IsExactWhenSomeTapsNeverMeetTheInput) {
  expect_exact_everywhere("n=1 c=8 hw=1x9 k=8 rs=3x3 pad=3x3 groups=8");
  expect_exact_everywhere("n=1 c=8 hw=2x1 k=8 rs=3x1 stride=4x2 pad=3x3 groups=8");
  expect_exact_everywhere("n=1 c=3 hw=1x1 k=17 rs=3x3 pad=3x3");
  // Few channels; the first tap meets nothing for the first columns, and all the others are inside.
  expect_exact_everywhere("n=1 c=3 hw=3x30 k=32 rs=1x3 pad=0x16 dilation=1x16");
  expect_exact_everywhere("n=1 c=4 hw=2x1 k=4 rs=1x1 stride=4x4 pad=3x3 groups=4");
  expect_exact_everywhere("n=2 c=17 hw=3x2 k=3 rs=3x2 stride=3x4 pad=3x3 dilation=3x3");
  expect_exact_everywhere("n=1 c=2 hw=5x5 k=2 rs=1x1 stride=3x3 groups=2");
  // Of five taps the second, third and last meet the input.
  expect_exact_everywhere("n=3 c=2 hw=2x2 k=1 rs=5x5 stride=3x3 pad=4x4");
}

TEST(Direct, GivesTheSameBitsEveryTimeAndWithoutPreparingAgain) {
  for (const ConvProblem& problem :
       every_pass_and_layout(parse_problem("n=3 c=18 hw=12x15 k=20 rs=3x3 pad=1x1"))) {
    SCOPED_TRACE(to_line(problem));
    Case one(problem, Data::uniform, {.threads = 2});
    const std::vector<float> first = one.run();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(one.run(/*with_prepare=*/false), first);
  }
}

TEST(Direct, TakesLessWorkspaceUnderACapAndStaysExact) {
  for (const ConvProblem& problem :
       every_pass_and_layout(parse_problem("n=8 c=6 hw=24x24 k=20 rs=3x3 pad=1x1")))
    for (int threads : {1, 2}) {
      const int64_t free_bytes = Case(problem, Data::integers, {.threads = threads}).plan().workspace_bytes();
      const PlanOptions capped{.workspace_cap = free_bytes * 2 / 3, .threads = threads};
      EXPECT_LE(Case(problem, Data::integers, capped).plan().workspace_bytes(), capped.workspace_cap);
      expect_exact(problem, capped);
      expect_exact(problem, {.workspace_cap = 0, .threads = threads});  // cannot be met: the minimum is taken
    }
}

TEST(Direct, StagesOneImageAtATimeUnderTheSmallestCap) {
  const PlanOptions smallest{.workspace_cap = 0};
  for (const char* shape : {"c=20 hw=4x4 k=20 rs=3x3 pad=1x1", "c=18 hw=7x7 k=20 rs=1x1"})
    for (const ConvProblem& problem : every_pass_and_layout(parse_problem(std::string("n=8 ") + shape))) {
      SCOPED_TRACE(to_line(problem));
      ConvProblem one = problem;
      one.batch = 1;
      EXPECT_EQ(Case(problem, Data::integers, smallest).plan().workspace_bytes(),
                Case(one, Data::integers, smallest).plan().workspace_bytes());
      expect_exact(problem, smallest);
    }
}

TEST(Direct, StagesThinnerBandsOfRowsUnderACap) {
  for (const char* pass : {"forward", "backward_data"}) {
    const ConvProblem problem = parse_problem(std::string(pass) + " n=1 c=40 hw=40x30 k=20 rs=3x3 pad=1x1");
    const int64_t image = problem.bytes(pass == std::string("forward") ? Role::input : Role::output);
    const PlanOptions smallest{.workspace_cap = 0};
    const int64_t min_bytes = Case(problem, Data::integers, smallest).plan().workspace_bytes();
    EXPECT_LT(min_bytes, Case(problem, Data::integers).plan().workspace_bytes() - image / 2) << pass;
    expect_exact(problem, smallest);
  }
}

TEST(Direct, SlicesTheRowsOfSmallGradientsForTheThreads) {
  for (const char* layout : {"nchw", "nhwc"}) {
    const ConvProblem problem =
        parse_problem("backward_filter fp32 " + std::string(layout) + " n=5 c=16 hw=7x7 k=16 rs=1x1");
    for (const int threads : {2, 3}) {
      const PlanOptions options{.threads = threads};
      EXPECT_THAT(Case(problem, Data::integers, options).plan().implementation(),
                  HasSubstr(std::to_string(threads) + " slices of rows"));
      expect_exact(problem, options);
    }
    EXPECT_EQ(Case(problem, Data::integers, {.workspace_cap = 0, .threads = 2}).plan().workspace_bytes(),
              Case(problem, Data::integers, {.workspace_cap = 0, .threads = 1}).plan().workspace_bytes());
  }
}

TEST(Direct, StagesTheRowsOfLargeImagesInChunksThatFitACache) {
  for (const char* shape : {"c=16 hw=70x66 k=32 rs=3x3 pad=1x1",
                            "c=12 hw=101x90 k=3 rs=3x2 stride=2x1 pad=1x1", "c=40 hw=64x64 k=16 rs=1x1"})
    for (const char* layout : {"nchw", "nhwc"})
      for (const int threads : {1, 3}) {
        const ConvProblem problem =
            parse_problem("backward_filter fp32 " + std::string(layout) + " n=2 " + shape);
        const PlanOptions options{.threads = threads};
        EXPECT_LT(Case(problem, Data::integers, options).plan().workspace_bytes(),
                  problem.bytes(Role::input) + problem.bytes(Role::output));
        expect_exact(problem, options);
      }
}

TEST(Direct, IsExactWithEveryInstructionSetOfThisMachine) {
  for_each_target([] {
    expect_exact_everywhere("n=2 c=18 hw=9x15 k=21 rs=3x3 pad=1x1");
    expect_exact_everywhere("n=2 c=5 hw=13x11 k=37 rs=3x2 stride=2x3 pad=1x1");
    expect_exact_everywhere("n=2 c=18 hw=9x15 k=18 rs=3x3 stride=2x1 pad=1x1 groups=18");
    expect_exact_everywhere("n=1 c=9 hw=9x35 k=9 rs=3x3 stride=1x2 pad=1x1 groups=9");
    expect_exact_everywhere("n=1 c=6 hw=9x19 k=6 rs=3x3 pad=1x1 groups=2");
  });
}

TEST(Direct, RefusesBatchInnermostOtherArithmeticAndStridesOfManyResiduesWithTheReason) {
  const DeviceInfo cpu;
  const Support layout = direct_algorithm().supports(parse_problem("chwn n=1 c=4 hw=8x8 k=4 rs=3x3"), cpu);
  EXPECT_EQ(layout.reason(), Reason::unsupported_layout);
  EXPECT_THAT(layout.why(), HasSubstr("chwn"));
  const Support math = direct_algorithm().supports(parse_problem("bf16 n=1 c=4 hw=8x8 k=4 rs=3x3"), cpu);
  EXPECT_EQ(math.reason(), Reason::unsupported_math);
  EXPECT_THAT(math.why(), HasSubstr("bf16"));
  const auto strided = [](const char* line) { return direct_algorithm().supports(parse_problem(line), {}); };
  EXPECT_THAT(strided("backward_data n=1 c=1 hw=257x256 k=1 rs=1x1 stride=9999x9999").why(),
              HasSubstr("257x256 residues"));
  EXPECT_TRUE(strided("backward_data n=1 c=1 hw=256x256 k=1 rs=1x1 stride=9999x9999"));
}

OperationCount counted(const ConvProblem& problem, int threads = 1) {
  CpuDevice device;
  return direct_algorithm().plan(problem, device, {.threads = threads})->operations().value();
}

TEST(Direct, CountsAtLeastTheMultiplyAddsThatMeetTheInput) {
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i)
    for (const ConvProblem& problem : every_pass_and_layout(random_problem(random))) {
      SCOPED_TRACE(to_line(problem));
      const OperationCount count = counted(problem);
      EXPECT_GE(count.product_flops, problem.effective_flops());
      EXPECT_EQ(count.transform_flops, 0);
      EXPECT_GE(count.bytes, static_cast<double>(problem.total_bytes()));
    }
}

TEST(Direct, CountsNoMoreThanTheMultiplyAddsOfWholeVectors) {
  // 48 channels are whole vectors everywhere, and tiles leave out rows that fall on padding.
  for (const ConvProblem& problem :
       every_pass_and_layout(parse_problem("n=2 c=48 hw=9x9 k=48 rs=3x3 pad=1x1")))
    EXPECT_LE(counted(problem).product_flops, problem.nominal_flops());
}

TEST(Direct, MultipliesNoPaddingInWideTiles) {
  if (direct::best_kernels().max_pixels < 13) GTEST_SKIP() << "tiles have few pixels, and these skip none";
  for (const char* pass : {"forward", "backward_data"})
    for (const char* shape : {"hw=13x13 k=48 rs=3x3 pad=1x1", "hw=17x17 k=48 rs=1x7 pad=0x3",
                              "hw=14x14 k=48 rs=5x5 pad=2x2", "hw=27x27 k=48 rs=3x3 pad=1x1 stride=2x2"}) {
      const ConvProblem problem = parse_problem(std::string(pass) + " n=1 c=48 " + shape);
      EXPECT_EQ(counted(problem).product_flops, problem.effective_flops()) << shape;
    }
}

TEST(DirectPlanes, CountWholeVectorsOfColumnsAndNoStagedRows) {
  ConvProblem problem = parse_problem("n=2 c=16 hw=15x15 k=16 rs=3x3 pad=1x1 groups=16");
  const int64_t columns = round_up(15, direct::best_kernels().lanes);
  for (const Pass pass : kPasses) {
    problem.pass = pass;
    const OperationCount count = counted(problem);
    EXPECT_EQ(count.product_flops, 2 * 2 * 16 * 15 * columns * 9) << name(pass);
    EXPECT_EQ(count.bytes, problem.total_bytes()) << name(pass);
  }
}

TEST(DirectPlanes, CountWholeVectorsOfBothColumnResidues) {
  const ConvProblem problem = parse_problem("backward_data n=1 c=8 hw=9x33 k=8 rs=1x2 stride=1x2 groups=8");
  const int64_t columns = round_up(33, 2 * direct::best_kernels().lanes) / 2;  // of each residue, of one tap
  EXPECT_EQ(counted(problem).product_flops, 2 * 8 * 9 * columns * 2);
}

TEST(DirectPlanes, CountTheSumsOfSlicesOfAGradient) {
  const ConvProblem problem =
      parse_problem("backward_filter n=2 c=8 hw=41x23 k=8 rs=3x3 stride=2x2 pad=1x1 groups=8");
  EXPECT_GT(counted(problem, 5).bytes, problem.total_bytes());
}

}  // namespace
}  // namespace convscope

#include "bench/core/problem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/core/error_of_test.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

ConvProblem alexnet_conv2(Pass pass = Pass::forward) {
  ConvProblem p;
  p.pass = pass;
  p.batch = 256;
  p.in_channels = 96;
  p.out_channels = 256;
  p.input = {27, 27};
  p.filter = {5, 5};
  p.pad = {2, 2};
  return p;
}

std::string error_of(const std::string& line) {
  return testing::error_of([&] { parse_problem(line); });
}

TEST(ConvProblem, CountsAlexNetConv2AsThePaperDoes) {
  EXPECT_NEAR(alexnet_conv2().nominal_flops(), 229.3e9, 0.1e9);
  for (Pass pass : kPasses) EXPECT_EQ(alexnet_conv2(pass).nominal_flops(), alexnet_conv2().nominal_flops());
}

TEST(ConvProblem, EffectiveFlopsLeaveOutTapsOnPadding) {
  ConvProblem p;
  p.input = {3, 3};
  p.filter = {3, 3};
  p.pad = {1, 1};
  // Per dimension 2 + 3 + 2 of the 9 (output, tap) pairs fall inside.
  EXPECT_EQ(p.effective_flops(), 2.0 * 7 * 7);
  EXPECT_EQ(p.nominal_flops(), 2.0 * 9 * 9);
}

TEST(ConvProblem, EffectiveFlopsAreThoseOfCountingEveryTap) {
  int64_t problems = 0;
  for (int64_t input : {1, 4, 9})
    for (int64_t filter : {1, 2, 5, 11})
      for (int64_t stride : {1, 2, 5})
        for (int64_t pad : {0, 1, 4, 12})
          for (int64_t dilation : {1, 3}) {
            ConvProblem p;
            p.input = {input, 1};
            p.filter = {filter, 1};
            p.stride = {stride, 1};
            p.pad = {pad, 0};
            p.dilation = {dilation, 1};
            if (validate(p)) continue;
            ++problems;
            int64_t inside = 0;
            for (int64_t out = 0; out < p.output().h; ++out)
              for (int64_t tap = 0; tap < filter; ++tap) {
                const int64_t at = out * stride - pad + tap * dilation;
                inside += at >= 0 && at < input;
              }
            EXPECT_EQ(p.effective_flops(), 2.0 * static_cast<double>(inside)) << to_line(p);
          }
  EXPECT_GT(problems, 100);
}

TEST(ConvProblem, EffectiveFlopsOfAHugeFilterAreCountedInNoTime) {
  // 2.5e15 (output, tap) pairs: counted one by one, this test would not end.
  const ConvProblem p = parse_problem("n=1 c=1 hw=100000000x1 k=1 rs=50000000x1");
  EXPECT_EQ(p.effective_flops(), p.nominal_flops());
  const ConvProblem padded = parse_problem("n=1 c=1 hw=100000000x1 k=1 rs=99999999x1 pad=1x0");
  // Four outputs: the first and the last have one tap on padding.
  EXPECT_EQ(padded.effective_flops(), padded.nominal_flops() - 2 * 2);
}

TEST(ConvProblem, OutputFollowsStridePadAndDilation) {
  ConvProblem p;
  p.input = {227, 30};
  p.filter = {11, 3};
  p.stride = {4, 2};
  p.pad = {0, 1};
  p.dilation = {1, 2};
  EXPECT_EQ(p.output(), (Extent2{55, 14}));
}

TEST(ConvProblem, EveryLayoutAddressesEachElementOnce) {
  for (Layout layout : kLayouts) {
    ConvProblem p = alexnet_conv2();
    p.batch = 2;
    p.groups = 2;
    p.in_channels = 4;
    p.out_channels = 6;
    p.input = {5, 4};
    p.layout = layout;
    for (Role role : kRoles) {
      const TensorShape shape = p.shape(role);
      std::vector<int> hits(static_cast<size_t>(p.elements(role)));
      for (int64_t a = 0; a < shape.size[0]; ++a)
        for (int64_t b = 0; b < shape.size[1]; ++b)
          for (int64_t c = 0; c < shape.size[2]; ++c)
            for (int64_t d = 0; d < shape.size[3]; ++d)
              ++hits.at(static_cast<size_t>(shape.offset(a, b, c, d)));
      EXPECT_THAT(hits, ::testing::Each(1)) << name(layout) << " " << name(role);
    }
  }
}

TEST(ProblemLine, RoundTripsEveryField) {
  ConvProblem p;
  p.pass = Pass::backward_filter;
  p.math = MathMode::tf32x3;
  p.layout = Layout::nhwc;
  p.batch = 3;
  p.in_channels = 8;
  p.out_channels = 12;
  p.groups = 4;
  p.input = {31, 17};
  p.filter = {5, 3};
  p.stride = {2, 1};
  p.pad = {2, 0};
  p.dilation = {1, 3};
  EXPECT_EQ(parse_problem(to_line(p)), p) << to_line(p);
}

TEST(ProblemLine, FillsInDefaults) {
  const ConvProblem p = parse_problem("n=2 c=3 hw=8 k=4 rs=3x3");
  EXPECT_EQ(to_line(p),
            "forward fp32 nchw n=2 c=3 hw=8x8 k=4 rs=3x3 stride=1x1 pad=0x0 dilation=1x1 groups=1");
}

TEST(ProblemLine, HasAnEpilogueWhereThereIsOne) {
  ConvProblem p = parse_problem("n=2 c=3 hw=8 k=4 rs=3x3");
  for (Epilogue epilogue : kEpilogues) {
    p.epilogue = epilogue;
    EXPECT_EQ(parse_problem(to_line(p)), p) << to_line(p);
    EXPECT_EQ(to_line(p).find("epilogue") != std::string::npos, epilogue != Epilogue::none);
  }
  EXPECT_THAT(error_of("n=2 c=3 hw=8 k=4 rs=3x3 epilogue=tanh"), HasSubstr("relu, bias and bias+relu"));
  EXPECT_THAT(error_of("n=2 c=3 hw=8 k=4 rs=3x3 epilogue=relu epilogue=bias"), HasSubstr("given twice"));
  EXPECT_THAT(error_of("backward_data n=2 c=3 hw=8 k=4 rs=3x3 epilogue=relu"),
              HasSubstr("only forward has one"));
}

TEST(ProblemLine, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("n=2 c=3 hw=8x8 k=4"), HasSubstr("\"rs=\" is missing"));
  EXPECT_THAT(error_of("n=2 c=3 hw=8x8 k=4 rs=3x3 foo=1"), HasSubstr("unknown key \"foo\""));
  EXPECT_THAT(error_of("n=2 n=2 c=3 hw=8x8 k=4 rs=3x3"), HasSubstr("given twice"));
  for (const char* two : {"forward backward_data", "fp32 tf32", "nchw nchw"})
    EXPECT_THAT(error_of(two + std::string(" n=2 c=3 hw=8x8 k=4 rs=3x3")), HasSubstr("given twice"));
  EXPECT_THAT(error_of("sideways n=2 c=3 hw=8x8 k=4 rs=3x3"), HasSubstr("\"sideways\""));
  EXPECT_THAT(error_of("n=two c=3 hw=8x8 k=4 rs=3x3"), HasSubstr("n=two"));
  EXPECT_THAT(error_of("n=0 c=3 hw=8x8 k=4 rs=3x3"), HasSubstr("batch is 0"));
  EXPECT_THAT(error_of("n=1 c=3 hw=8x8 k=4 rs=9x9"), HasSubstr("padded input's 8x8"));
  EXPECT_THAT(error_of("n=1 c=3 hw=8x8 k=4 rs=3x3 groups=2"), HasSubstr("not divisible by groups"));
  EXPECT_THAT(error_of("n=2000000000 c=2000000000 hw=8x8 k=4 rs=3x3"), HasSubstr("overflows 64 bits"));
}

TEST(Benchdnn, ReadsTheAlexNetDescriptor) {
  const ConvProblem p = parse_problem("mb256ic96ih27oc256oh27kh5ph2");
  EXPECT_EQ(p, alexnet_conv2());
  EXPECT_EQ(to_benchdnn(p), "mb256ic96ih27oc256oh27kh5ph2");
}

TEST(Benchdnn, CountsDilationFromZeroAndDerivesPadding) {
  EXPECT_EQ(parse_benchdnn("mb1ic2ih9oc2oh9kh3dh1").pad, (Extent2{2, 2}));
  EXPECT_EQ(parse_benchdnn("mb1ic2ih9oc2oh9kh3dh1").dilation, (Extent2{2, 2}));
  EXPECT_EQ(parse_benchdnn("g32mb1_ic32ih14oc32oh7kh3sh2ph1_n\"dw\"").groups, 32);
}

TEST(Benchdnn, RoundTripsRectangles) {
  ConvProblem p = alexnet_conv2();
  p.groups = 2;
  p.input = {31, 17};
  p.filter = {5, 3};
  p.stride = {2, 1};
  p.pad = {2, 0};
  p.dilation = {1, 3};
  EXPECT_EQ(parse_benchdnn(to_benchdnn(p)), p) << to_benchdnn(p);
}

TEST(Benchdnn, RefusesToDeriveAnOddPadding) {
  // Five outputs at stride 2 of a 3-tap filter reach over 11 of 10: benchdnn puts the odd row at the bottom.
  EXPECT_THAT(error_of("mb1ic2ih10oc2oh5kh3sh2"), HasSubstr("asymmetric padding is not supported"));
  EXPECT_THAT(error_of("mb1ic2ih9iw10oc2oh5ow5kh3sh2"), HasSubstr("an output width of 5"));
  EXPECT_EQ(parse_benchdnn("mb1ic2ih9oc2oh5kh3sh2").pad, (Extent2{1, 1}));
  EXPECT_EQ(parse_benchdnn("mb1ic2ih8oc2oh4kh1sh2").pad, (Extent2{0, 0}));  // the last row is not read
}

TEST(Benchdnn, RefusesNumbersThatWouldOverflow) {
  const std::string huge = "9223372036854775807";
  for (const std::string field : {"mb", "ic", "ih", "oh", "kh", "sh", "ph", "dh", "g"})
    EXPECT_THAT(error_of("mb1ic2ih9oc2oh9kh3" + field + huge),
                HasSubstr(field + " is " + huge + "; allowed is at most 2147483648"));
  EXPECT_THAT(error_of("mb1ic2ih9oc2oh2147483648kh2147483648sh2147483648dh2147483648ph0"),
              HasSubstr("dilation height is 2147483649"));
  EXPECT_THAT(error_of("mb1ic2ih9oc2oh2147483648kh2147483648sh2147483648dh2147483648"),
              HasSubstr("9223372034707292151 rows"));
  EXPECT_THAT(error_of("mb1ic2ih9oc2oh9kh99999999999999999999"), HasSubstr("does not start with"));
}

TEST(Benchdnn, RefusesAsymmetricPaddingAndNonsense) {
  EXPECT_THAT(error_of("mb1ic3ih8oc4oh5kh3ph1"), HasSubstr("the output is 8x8"));
  EXPECT_THAT(error_of("mb1ic3ih8oc4oh5kh3zz9"), HasSubstr("\"zz9\""));
  EXPECT_THAT(error_of("mb1ic3"), HasSubstr("needs ic, ih, oc and kh"));
}

}  // namespace
}  // namespace convscope

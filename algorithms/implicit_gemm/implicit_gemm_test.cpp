// The variants of this folder on the emulator, in the three orders of threads, against the f64 reference: odd
// shapes in all passes and layouts, every tile, splits of the depth, and what is refused.
#include "algorithms/implicit_gemm/implicit_gemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "algorithms/common/problems_test.hpp"
#include "algorithms/implicit_gemm/cuda/gemm_plan.hpp"
#include "algorithms/implicit_gemm/plain.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/verify/fast_reference.hpp"
#include "bench/verify/verifications_test.hpp"

namespace convscope::implicit_gemm {
namespace {

using ::testing::HasSubstr;

class ImplicitGemm : public ::testing::TestWithParam<EmulatorOrder> {
 protected:
  ImplicitGemm() : device_({.order = GetParam(), .seed = 3}), queue_(device_.make_queue()) {
    add_implicit_gemm(registry_);
  }
  const Algorithm& variant(const char* id) const { return *registry_.find(id); }

  void expect_right(const Algorithm& algorithm, const ConvProblem& problem, Plan& plan) {
    const Verdict verdict = verifications_.of(problem).check(algorithm, plan, device_, *queue_);
    EXPECT_TRUE(verdict.passed()) << to_line(problem) << ", " << plan.implementation() << ": "
                                  << verdict.note;
  }
  void expect_right(const char* id, const ConvProblem& problem) {
    ASSERT_TRUE(variant(id).supports(problem, device_.info())) << to_line(problem);
    expect_right(variant(id), problem, *variant(id).plan(problem, device_, {}));
  }

  void expect_right_in(const Algorithm& algorithm, const ConvProblem& problem, const TileSplit& split) {
    auto forced = products(problem, 0);
    for (Product& product : forced) product.tiling = split;
    GemmPlan plan(problem, forced, DeviceKind::emulator);
    expect_right(algorithm, problem, plan);
  }

  EmulatorDevice device_;
  std::unique_ptr<Queue> queue_;
  Registry registry_;
  Verifications verifications_;
};

// The part of a list that is one order's: the three orders together run everything once, or with more parts
// some of it; under the address sanitizer, where the emulator takes ten times as long, a quarter of that.
// Layouts and passes change places in it from shape to shape.
template <typename Item>
std::vector<Item> share(const std::vector<Item>& all, EmulatorOrder order, size_t parts = 3,
                        size_t first = 0) {
  std::vector<Item> mine;
#if defined(__SANITIZE_ADDRESS__)
  parts = 4 * parts + 1;
#endif
  for (size_t i = 0; i < all.size(); ++i)
    if ((i + i / 6) % parts == static_cast<size_t>(order) + first) mine.push_back(all[i]);
  return mine;
}

TEST_P(ImplicitGemm, SimtIsRightOnOddShapes) {
  for (const ConvProblem& problem : share(in_every_pass(kOddShapes), GetParam()))
    expect_right("implicit_gemm.simt.cuda", problem);
}

TEST_P(ImplicitGemm, TensorIsRightOnOddShapesInTf32) {
  for (const ConvProblem& problem : share(in_every_pass(kOddShapes, MathMode::tf32), GetParam(), 7))
    expect_right("implicit_gemm.tensor.cuda", problem);
}

TEST_P(ImplicitGemm, TensorIsAsExactAsFp32OnOddShapesInThreeTimesTf32) {
  for (const ConvProblem& problem : share(in_every_pass(kOddShapes, MathMode::tf32x3), GetParam(), 7, 3))
    expect_right("implicit_gemm.tensor.cuda", problem);
}

// 16-bit tensors: NHWC forward with even channels in pairs, all else widened.
TEST_P(ImplicitGemm, TensorIsRightIn16Bits) {
  for (MathMode math : {MathMode::bf16, MathMode::fp16}) {
    const size_t first = math == MathMode::bf16 ? 0 : 3;
    for (const ConvProblem& problem : share(in_every_pass(kOddShapes, math), GetParam(), 13, first))
      expect_right("implicit_gemm.tensor.cuda", problem);
    for (const char* shape : {"nhwc n=2 c=6 hw=9x10 k=7 rs=3x3 stride=2x1 pad=1x1",
                              "nhwc n=1 c=12 hw=9x9 k=9 rs=3x2 pad=1x2 dilation=2x2 groups=3",
                              "nhwc n=1 c=64 hw=5x5 k=70 rs=3x3 pad=1x1"}) {
      ConvProblem problem = parse_problem(shape);
      problem.math = math;
      ASSERT_TRUE(products(problem, 0).front().paired);
      expect_right("implicit_gemm.tensor.cuda", problem);
    }
  }
}

// More than one tile each way, with a rest; one split with parts that get nothing.
constexpr const char* kForced[] = {"forward nchw n=1 c=3 hw=9x15 k=131 rs=3x3 pad=1x1",
                                   "backward_data nhwc n=1 c=70 hw=23x13 k=4 rs=2x2 stride=2x2 groups=2",
                                   "backward_filter nchw n=1 c=15 hw=5x7 k=40 rs=3x3 pad=1x1"};

std::vector<TileSplit> every_split(std::span<const Tile> tiles) {
  std::vector<TileSplit> all;
  for (const Tile& tile : tiles)
    for (int splits : {1, 3, 7}) all.push_back({tile, splits});
  return all;
}

TEST_P(ImplicitGemm, SimtIsRightInEveryTileAndSplit) {
  for (const TileSplit& split : share(every_split(kSimtTiles), GetParam()))
    for (const char* line : kForced)
      expect_right_in(variant("implicit_gemm.simt.cuda"), parse_problem(line), split);
}

TEST_P(ImplicitGemm, TensorIsRightInEveryTileAndSplit) {
  for (const TileSplit& split : share(every_split(kTensorTiles), GetParam()))
    for (const char* line : kForced) {
      ConvProblem problem = parse_problem(line);
      problem.math = split.splits == 3 ? MathMode::tf32x3 : MathMode::tf32;
      expect_right_in(variant("implicit_gemm.tensor.cuda"), problem, split);
    }
}

// Odd shapes, groups among them, and every tile: with splits, whose sum has the epilogue, and without.
TEST_P(ImplicitGemm, SimtAppliesEveryEpilogueOnce) {
  const std::vector<ConvProblem> odd = in_every_pass(kOddShapes);
  for (Epilogue epilogue : {Epilogue::relu, Epilogue::bias, Epilogue::bias_relu}) {
    for (size_t i = static_cast<size_t>(epilogue) % 3 + static_cast<size_t>(GetParam()) * 3; i < odd.size();
         i += 9) {
      ConvProblem problem = odd[i];
      problem.pass = Pass::forward;
      problem.epilogue = epilogue;
      expect_right("implicit_gemm.simt.cuda", problem);
    }
    for (const TileSplit& split : share(every_split(kSimtTiles), GetParam()))
      for (const char* line : {"nchw n=1 c=3 hw=9x15 k=131 rs=3x3 pad=1x1",
                               "nhwc n=2 c=6 hw=9x7 k=10 rs=3x2 stride=2x1 groups=2"}) {
        ConvProblem problem = parse_problem(line);
        problem.epilogue = epilogue;
        expect_right_in(variant("implicit_gemm.simt.cuda"), problem, split);
      }
  }
}

// In two pieces: the first must not have the epilogue.
TEST_P(ImplicitGemm, SimtAppliesTheEpilogueAfterTheLastPiece) {
  ConvProblem problem = parse_problem("n=1 c=18000 hw=1x3 k=5 rs=1x1 epilogue=bias+relu");
  ASSERT_EQ(pieces(index_maps(problem).front(), 1, kSimtDepth), 2);
  expect_right_in(variant("implicit_gemm.simt.cuda"), problem, {kSimtTiles[3], 1});
}

TEST_P(ImplicitGemm, TensorAppliesEveryEpilogueOnce) {
  for (Epilogue epilogue : {Epilogue::relu, Epilogue::bias, Epilogue::bias_relu})
    for (const TileSplit& split : share(every_split(kTensorTiles), GetParam()))
      for (const char* line : {"nchw n=1 c=3 hw=9x15 k=131 rs=3x3 pad=1x1",
                               "nhwc n=2 c=6 hw=9x7 k=10 rs=3x2 stride=2x1 groups=2"}) {
        ConvProblem problem = parse_problem(line);
        problem.epilogue = epilogue;
        problem.math = epilogue == Epilogue::bias ? MathMode::tf32x3 : MathMode::tf32;
        expect_right_in(variant("implicit_gemm.tensor.cuda"), problem, split);
      }
}

TEST_P(ImplicitGemm, TensorAppliesTheEpilogueAfterTheLastPiece) {
  ConvProblem problem = parse_problem("tf32 n=1 c=18000 hw=1x3 k=5 rs=1x1 epilogue=bias+relu");
  ASSERT_EQ(pieces(index_maps(problem).front(), 1, kTensorDepth), 2);
  expect_right_in(variant("implicit_gemm.tensor.cuda"), problem, {kTensorTiles[2], 1});
}

// Two splits of 20,000 depths and one of 40,000, in pieces of 16,384: the first replaces what is there, the
// others add to it.
TEST_P(ImplicitGemm, PartsOfManyDepthsAreRightInPieces) {
  constexpr MathMode kMath[] = {MathMode::fp32, MathMode::tf32, MathMode::tf32x3};
  ConvProblem problem = parse_problem("backward_filter nchw n=4 c=2 hw=100x100 k=3 rs=1x1");
  problem.math = kMath[static_cast<size_t>(GetParam())];
  const bool simt = problem.math == MathMode::fp32;
  const TileSplit split{simt ? kSimtTiles[3] : kTensorTiles[2], problem.math == MathMode::tf32 ? 1 : 2};
  EXPECT_EQ(pieces(index_maps(problem).front(), split.splits, simt ? kSimtDepth : kTensorDepth),
            4 - split.splits);
  expect_right_in(variant(simt ? "implicit_gemm.simt.cuda" : "implicit_gemm.tensor.cuda"), problem, split);
}

INSTANTIATE_TEST_SUITE_P(Orders, ImplicitGemm, ::testing::ValuesIn(kEveryOrder), order_name);

class ImplicitGemmVariants : public ::testing::Test {
 protected:
  ImplicitGemmVariants() { add_implicit_gemm(registry_); }
  Support supports(const char* id, const ConvProblem& problem) const {
    return registry_.find(id)->supports(problem, gpu_);
  }
  Registry registry_;
  DeviceInfo gpu_{.kind = DeviceKind::cuda, .name = "GPU", .instructions = "sm_90"};
};

TEST_F(ImplicitGemmVariants, SimtRefusesWhatItCannotComputeWithTheReason) {
  const char* id = "implicit_gemm.simt.cuda";
  ConvProblem problem = parse_problem("n=1 c=3 hw=9x9 k=4 rs=3x3");
  EXPECT_TRUE(supports(id, problem));
  problem.layout = Layout::chwn;
  EXPECT_EQ(supports(id, problem).reason(), Reason::unsupported_layout);
  problem = parse_problem("tf32 n=1 c=3 hw=9x9 k=4 rs=3x3");
  EXPECT_EQ(supports(id, problem).reason(), Reason::unsupported_math);
  problem = parse_problem("n=1 c=3 hw=16384x9 k=4 rs=3x3");
  EXPECT_EQ(supports(id, problem).reason(), Reason::unsupported_size);
  EXPECT_THAT(supports(id, problem).why(), HasSubstr("16384 pixels"));
  problem = parse_problem("n=1024 c=64 hw=256x256 k=4 rs=3x3");
  EXPECT_EQ(supports(id, problem).reason(), Reason::unsupported_size);
  EXPECT_THAT(supports(id, problem).why(), HasSubstr("4294967296 elements"));
  problem = parse_problem("n=1024 c=1073741824 hw=2x2 k=1 rs=1x1 stride=8192x8192 pad=4095x4095");
  EXPECT_THAT(supports(id, problem).why(), HasSubstr("4398046511104 elements")) << "2^66 with its padding";
  EXPECT_EQ(
      registry_.find(id)->supports(parse_problem("n=1 c=3 hw=9x9 k=4 rs=3x3"), CpuDevice().info()).reason(),
      Reason::device_missing);
}

TEST_F(ImplicitGemmVariants, TakeEpiloguesOfFp32TensorsOnly) {
  const auto supports_in = [&](const char* id, const char* math) {
    return supports(id, parse_problem(std::string(math) + " n=1 c=3 hw=9x9 k=4 rs=3x3 epilogue=relu"));
  };
  EXPECT_TRUE(supports_in("implicit_gemm.simt.cuda", "fp32"));
  EXPECT_TRUE(supports_in("implicit_gemm.tensor.cuda", "tf32"));
  EXPECT_TRUE(supports_in("implicit_gemm.tensor.cuda", "3xtf32"));
  EXPECT_TRUE(supports_in("implicit_gemm.hopper.cuda", "tf32"));
  for (const char* id : {"implicit_gemm.tensor.cuda", "implicit_gemm.hopper.cuda"})
    for (const char* math : {"bf16", "fp16"}) {
      const Support refusal = supports_in(id, math);
      EXPECT_EQ(refusal.reason(), Reason::unsupported_epilogue);
      EXPECT_THAT(refusal.why(), HasSubstr(std::string("epilogue relu in ") + math));
    }
}

TEST_F(ImplicitGemmVariants, RefusesAStrideOfMoreResiduesThanItLaunches) {
  for (const char* id : {"implicit_gemm.simt.cuda", "implicit_gemm.tensor.cuda"}) {
    const std::string math = id == std::string_view("implicit_gemm.simt.cuda") ? "fp32" : "tf32";
    const auto of_stride = [&](const std::string& pass, const std::string& stride) {
      return supports(id, parse_problem(math + " " + pass + " n=1 c=3 hw=64x65 k=4 rs=3x3 stride=" + stride));
    };
    EXPECT_TRUE(of_stride("backward_data", "65536x64")) << "64 rows and 64 columns";
    const Support refusal = of_stride("backward_data", "65536x65536");
    EXPECT_EQ(refusal.reason(), Reason::unsupported_stride);
    EXPECT_THAT(refusal.why(), HasSubstr("4160 residues"));
    EXPECT_TRUE(of_stride("forward", "65536x65536"));
  }
}

TEST_F(ImplicitGemmVariants, TensorRefusesOtherMathAndOlderGpusWithTheReason) {
  const char* id = "implicit_gemm.tensor.cuda";
  EXPECT_TRUE(supports(id, parse_problem("tf32 n=1 c=3 hw=9x9 k=4 rs=3x3")));
  EXPECT_TRUE(supports(id, parse_problem("3xtf32 n=1 c=3 hw=9x9 k=4 rs=3x3")));
  EXPECT_EQ(supports(id, parse_problem("fp32 n=1 c=3 hw=9x9 k=4 rs=3x3")).reason(), Reason::unsupported_math);
  gpu_.instructions = "sm_75";
  EXPECT_EQ(supports(id, parse_problem("tf32 n=1 c=3 hw=9x9 k=4 rs=3x3")).reason(), Reason::unsupported_math);
  EXPECT_THAT(supports(id, parse_problem("tf32 n=1 c=3 hw=9x9 k=4 rs=3x3")).why(), HasSubstr("sm_80"));
}

TEST_F(ImplicitGemmVariants, SplitOnlyWhereTheProductHasFewTilesAndStayUnderTheCap) {
  const ConvProblem wide = parse_problem("forward fp32 nchw n=256 c=96 hw=27x27 k=256 rs=5x5 pad=2x2");
  ConvProblem deep = wide;
  deep.pass = Pass::backward_filter;
  EXPECT_EQ(products(wide, INT64_MAX)[0].tiling, (TileSplit{kSimtTiles[0], 1}));
  const GemmPlan free(deep, products(deep, INT64_MAX), DeviceKind::emulator);
  EXPECT_GT(free.workspace_bytes(), 0);
  for (int64_t cap : {int64_t{0}, int64_t{1} << 20, int64_t{5} << 20}) {
    const GemmPlan capped(deep, products(deep, cap), DeviceKind::emulator);
    EXPECT_LE(capped.workspace_bytes(), cap);
  }
}

// Every input pixel belongs to one residue, and the residues together do the forward pass's work when nothing
// is cut off at the edges.
TEST(IndexMaps, ResiduesOfTheStrideSkipTheZeros) {
  const ConvProblem problem =
      parse_problem("backward_data fp32 nchw n=2 c=3 hw=24x24 k=5 rs=4x4 stride=2x2 pad=1x1");
  const auto maps = index_maps(problem);
  ASSERT_EQ(maps.size(), 4u);
  double multiply_adds = 0;
  int rows = 0;
  for (const IndexMap& map : maps) {
    rows += map.rows;
    multiply_adds += 1.0 * map.rows * map.columns * map.depth;
  }
  EXPECT_EQ(rows, 2 * 24 * 24);
  EXPECT_EQ(2 * multiply_adds, problem.nominal_flops());
}

TEST(IndexMaps, OfAStrideLongerThanTheInputAreOneForEachPixel) {
  const auto maps =
      index_maps(parse_problem("backward_data n=2 c=1 hw=3x2 k=1 rs=2x2 stride=65536x2147483648 pad=1x0"));
  ASSERT_EQ(maps.size(), 6u);
  for (size_t i = 0; i < maps.size(); ++i) {
    EXPECT_EQ(maps[i].rows, 2) << "one pixel of both images";
    EXPECT_EQ(maps[i].depth, i < 2 ? 1 : 0) << "only the first row of pixels meets a tap";
  }
}

// The three counters of a row or depth of an index map.
struct MapCounters {
  std::array<int64_t, 3> at;
  MapCounters(int index, const int (&size)[3]) : at(plain_counters(index, size[1], size[2])) {}
  template <typename Value>
  Value times(const Value (&step)[3]) const {
    return static_cast<Value>(at[0]) * step[0] + static_cast<Value>(at[1]) * step[1] +
           static_cast<Value>(at[2]) * step[2];
  }
};

// True where neither the biased position nor (last - it) is negative in y or x.
bool is_inside(const IndexMap& map, Position at) {
  return (at & (map.last - at) & kPositionSigns) == kPositionSigns;
}

// D = A B where the map says that their elements lie.
void multiply(const IndexMap& map, const float* a, const float* b, float* d) {
  for (int group = 0; group < map.groups; ++group)
    for (int row = 0; row < map.rows; ++row)
      for (int column = 0; column < map.columns; ++column) {
        const MapCounters of_row(row, map.row_size);
        float sum = 0;
        for (int depth = 0; depth < map.depth; ++depth) {
          const MapCounters of_depth(depth, map.depth_size);
          if (!is_inside(map, map.base + of_row.times(map.row_position) + of_depth.times(map.depth_position)))
            continue;
          sum += a[map.a_base + group * map.a_group + of_row.times(map.a_row) + of_depth.times(map.a_depth)] *
                 b[map.b_base + group * map.b_group + column * map.b_column + of_depth.times(map.b_depth)];
        }
        d[map.d_base + group * map.d_group + of_row.times(map.d_row) + column * map.d_column] = sum;
      }
}

// Tensors of small whole numbers, in the order input, filter, output.
std::array<std::vector<float>, 3> whole_numbers(const ConvProblem& problem) {
  std::mt19937 random(11);
  std::array<std::vector<float>, 3> tensors;
  for (Role role : kRoles)
    for (int64_t i = 0; i < problem.elements(role); ++i)
      tensors[static_cast<size_t>(role)].push_back(static_cast<float>(static_cast<int>(random() % 9) - 4));
  return tensors;
}

TEST(PlainProduct, IsTheConvolutionInEveryPassAndLayout) {
  for (const ConvProblem& problem : in_every_pass(kOddShapes)) {
    SCOPED_TRACE(to_line(problem));
    const auto [input, filter, output] = whole_numbers(problem);
    auto tensors = whole_numbers(problem);
    plain_product(problem, tensors[0].data(), tensors[1].data(), tensors[2].data());
    const Role role = written_role(problem.pass);
    const std::vector<float>& written = tensors[static_cast<size_t>(role)];
    const TensorShape shape = problem.shape(role);
    for (int64_t i = 0; i < shape.size[0]; ++i)
      for (int64_t j = 0; j < shape.size[1]; ++j)
        for (int64_t y = 0; y < shape.size[2]; ++y)
          for (int64_t x = 0; x < shape.size[3]; ++x)
            ASSERT_EQ(written[static_cast<size_t>(shape.offset(i, j, y, x))],
                      reference_element(problem, input.data(), filter.data(), output.data(), {i, j, y, x}));
  }
}

TEST(IndexMaps, SayWhereThePlainProductHasItsElements) {
  for (const ConvProblem& problem : in_every_pass(kOddShapes)) {
    SCOPED_TRACE(to_line(problem));
    const auto [input, filter, output] = whole_numbers(problem);
    const Role role = written_role(problem.pass);
    const float* a = problem.pass == Pass::backward_data ? output.data() : input.data();
    const float* b = problem.pass == Pass::backward_filter ? output.data() : filter.data();
    std::vector<float> written(static_cast<size_t>(problem.elements(role)), std::nanf(""));
    for (const IndexMap& map : index_maps(problem)) multiply(map, a, b, written.data());
    auto model = whole_numbers(problem);
    plain_product(problem, model[0].data(), model[1].data(), model[2].data());
    ASSERT_EQ(written, model[static_cast<size_t>(role)]);
  }
}

// Products of whole numbers and their sums are exact in FP32, in every order.
TEST_P(ImplicitGemm, SimtComputesThePlainProduct) {
  for (const ConvProblem& problem : share(in_every_pass(kOddShapes), GetParam(), 5)) {
    SCOPED_TRACE(to_line(problem));
    auto tensors = whole_numbers(problem);
    std::array<Buffer, 3> buffers;
    for (size_t i = 0; i < tensors.size(); ++i) {
      buffers[i] = Buffer(device_, tensors[i].size() * sizeof(float));
      buffers[i].upload(tensors[i].data(), buffers[i].bytes());
    }
    const auto role = static_cast<size_t>(written_role(problem.pass));
    buffers[role].fill_with_nan();
    const auto plan = variant("implicit_gemm.simt.cuda").plan(problem, device_, {});
    const Buffer workspace(device_, static_cast<size_t>(plan->workspace_bytes()));
    plan->run({buffers[0].data(), buffers[1].data(), buffers[2].data(), workspace.data()}, *queue_);
    queue_->synchronize();
    std::vector<float> computed(tensors[role].size());
    buffers[role].download(computed.data(), buffers[role].bytes());
    plain_product(problem, tensors[0].data(), tensors[1].data(), tensors[2].data());
    ASSERT_EQ(computed, tensors[role]);
  }
}

}  // namespace
}  // namespace convscope::implicit_gemm

// im2col_gemm.cuda and im2col_gemm.cublas.cuda on the emulator, in the three orders of threads, against the
// f64 reference: odd shapes in all passes and layouts, both ways to take images together, chunks, and what is
// refused and counted. The SGEMM alone is in sgemm_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

#include "algorithms/common/problems_test.hpp"
#include "algorithms/im2col_gemm/cuda/device_chunks.hpp"
#include "algorithms/im2col_gemm/im2col_gemm.hpp"
#include "bench/device/buffer.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/verify/verification.hpp"

namespace convscope::im2col_gemm {
namespace {

using ::testing::HasSubstr;

constexpr const char* kVariants[] = {"im2col_gemm.cuda", "im2col_gemm.cublas.cuda"};

class Im2colGemmCuda : public ::testing::TestWithParam<EmulatorOrder> {
 protected:
  Im2colGemmCuda() : device_({.order = GetParam(), .seed = 5}), queue_(device_.make_queue()) {
    add_im2col_gemm_cuda(registry_);
  }

  // The three orders together run everything once; layouts and passes change places from shape to shape.
  std::vector<ConvProblem> share(const std::vector<ConvProblem>& all) const {
    std::vector<ConvProblem> mine;
    for (size_t i = 0; i < all.size(); ++i)
      if ((i + i / 6) % 3 == static_cast<size_t>(GetParam())) mine.push_back(all[i]);
    return mine;
  }

  void expect_right(const char* id, const ConvProblem& problem, int64_t cap = INT64_MAX) {
    const Algorithm& variant = *registry_.find(id);
    ASSERT_TRUE(variant.supports(problem, device_.info())) << to_line(problem);
    PlanOptions options;
    options.workspace_cap = cap;
    const auto plan = variant.plan(problem, device_, options);
    const Verdict verdict = Verification(problem, {}).check(variant, *plan, device_, *queue_);
    EXPECT_TRUE(verdict.passed()) << id << ", " << to_line(problem) << ", " << plan->implementation() << ": "
                                  << verdict.note;
  }

  EmulatorDevice device_;
  std::unique_ptr<Queue> queue_;
  Registry registry_;
};

TEST_P(Im2colGemmCuda, IsRightOnOddShapes) {
  for (const char* id : kVariants)
    for (const ConvProblem& problem : share(in_every_pass(kOddShapes))) expect_right(id, problem);
}

TEST_P(Im2colGemmCuda, IsRightInChunksOfOneRowWithoutAnyWorkspaceForSplits) {
  for (const char* id : kVariants)
    for (const ConvProblem& problem : share(in_every_pass(std::span(kOddShapes).subspan(9, 7))))
      expect_right(id, problem, 0);
}

// Caps with which chunks have some of the images or some of the rows.
TEST_P(Im2colGemmCuda, IsRightInChunksOfSomeImagesOrRows) {
  for (const char* shape : {"n=7 c=3 hw=9x8 k=5 rs=3x3 pad=1x1", "n=5 c=2 hw=11x11 k=6 rs=3x3 pad=1x1",
                            "n=5 c=4 hw=7x7 k=3 rs=1x1", "n=2 c=3 hw=19x13 k=4 rs=5x3 stride=2x1 pad=2x1"})
    for (const ConvProblem& problem : share(in_every_pass(std::span(&shape, 1)))) {
      const DeviceChunks whole = cut_for_device(problem, kResidentBytes);
      if (whole.floats() == 0) continue;
      const int64_t cap = whole.floats() * 2;  // half
      EXPECT_GT(cut_for_device(problem, cap).list.size(), whole.list.size()) << to_line(problem);
      expect_right("im2col_gemm.cuda", problem, cap);
    }
}

// Groups as the batch and one after the other, images as one matrix and as a batch of them, either layout,
// and more pixels than channels or fewer.
constexpr const char* kFinished[] = {
    "nchw n=2 c=4 hw=27x27 k=7 rs=1x1",
    "nchw n=2 c=6 hw=7x7 k=10 rs=1x1 groups=2",
    "nchw n=3 c=8 hw=9x9 k=12 rs=3x3 pad=1x1 groups=4",
    "nchw n=1 c=6 hw=12x12 k=300 rs=3x3 groups=2",
    "nhwc n=3 c=8 hw=9x9 k=12 rs=3x3 pad=1x1 groups=4",
    "nhwc n=1 c=3 hw=6x6 k=70 rs=3x3",
    "nchw n=1 c=4000 hw=1x3 k=6 rs=1x1 groups=2",
    "nhwc n=1 c=4000 hw=1x3 k=6 rs=1x1 groups=2",
};

TEST_P(Im2colGemmCuda, OursAppliesEveryEpilogue) {
  for (size_t i = static_cast<size_t>(GetParam()); i < std::size(kFinished); i += 3)
    for (const char* epilogue : {"relu", "bias", "bias+relu"}) {
      const ConvProblem problem = parse_problem(std::string(kFinished[i]) + " epilogue=" + epilogue);
      expect_right("im2col_gemm.cuda", problem);
      expect_right("im2col_gemm.cuda", problem, 0);
    }
}

// A depth of two parts, each of one split or of several: the first must not have the epilogue.
TEST_P(Im2colGemmCuda, OursAppliesTheEpilogueAfterTheLastPartOfTheDepth) {
  for (const char* layout : {"nchw", "nhwc"}) {
    const ConvProblem problem =
        parse_problem(std::string(layout) + " n=1 c=17000 hw=1x3 k=5 rs=1x1 epilogue=bias+relu");
    expect_right("im2col_gemm.cuda", problem);
    expect_right("im2col_gemm.cuda", problem, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, Im2colGemmCuda, ::testing::ValuesIn(kEveryOrder), order_name);

class Im2colGemmCudaVariants : public ::testing::Test {
 protected:
  Im2colGemmCudaVariants() { add_im2col_gemm_cuda(registry_); }
  const Algorithm& variant(const char* id) const { return *registry_.find(id); }
  Support supports(const char* id, const ConvProblem& problem) const {
    return variant(id).supports(problem, EmulatorDevice().info());
  }
  OperationCount counted(const char* id, const ConvProblem& problem) const {
    EmulatorDevice device;
    return variant(id).plan(problem, device, {})->operations().value();
  }
  Registry registry_;
};

std::vector<std::byte> result_of(const Algorithm& variant, const ConvProblem& p, int64_t cap) {
  EmulatorDevice device;
  std::vector<Buffer> tensors;
  for (const Role role : kRoles) {
    std::vector<float> values(static_cast<size_t>(p.elements(role)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 17) / 16.0F - 0.5F;
    tensors.emplace_back(device, values.size() * sizeof(float)).upload(values.data(), values.size() * 4);
  }
  PlanOptions options;
  options.workspace_cap = cap;
  const auto plan = variant.plan(p, device, options);
  Buffer workspace(device, static_cast<size_t>(plan->workspace_bytes()));
  workspace.fill_with_nan();
  plan->run({tensors[0].data(), tensors[1].data(), tensors[2].data(), workspace.data()},
            *device.make_queue());
  const Buffer& written = tensors[static_cast<size_t>(written_role(p.pass))];
  std::vector<std::byte> bytes(written.bytes());
  written.download(bytes.data(), bytes.size());
  return bytes;
}

TEST_F(Im2colGemmCudaVariants, GiveTheSameBitsInMoreChunksForward) {
  for (const char* id : kVariants)
    for (const char* line :
         {"nchw n=3 c=5 hw=13x11 k=17 rs=3x3 pad=1x1", "nhwc n=3 c=5 hw=13x11 k=17 rs=3x3 pad=1x1"}) {
      const ConvProblem p = parse_problem(line);
      EXPECT_GT(cut_for_device(p, 40000).list.size(), cut_for_device(p, kResidentBytes).list.size());
      EXPECT_EQ(result_of(variant(id), p, 40000), result_of(variant(id), p, INT64_MAX)) << id << " " << line;
    }
}

TEST_F(Im2colGemmCudaVariants, StayUnderTheWorkspaceCapAsLongAsOneOutputRowFits) {
  EmulatorDevice device;
  ConvProblem p = parse_problem("n=16 c=128 hw=56x56 k=256 rs=3x3 pad=1x1");
  for (const char* id : kVariants)
    for (const Layout layout : {Layout::nchw, Layout::nhwc})
      for (const Pass pass : kPasses)
        for (const int64_t cap : {1 << 19, 1 << 22, 1 << 25}) {
          p.layout = layout;
          p.pass = pass;
          PlanOptions options;
          options.workspace_cap = cap;
          EXPECT_LE(variant(id).plan(p, device, options)->workspace_bytes(), cap) << id << " " << to_line(p);
        }
}

TEST_F(Im2colGemmCudaVariants, TakeLargerChunksThanStayInL2WhereTheirLaunchesWouldBeTooMany) {
  EmulatorDevice device;
  const ConvProblem p = parse_problem("n=256 c=64 hw=224x224 k=64 rs=3x3 pad=1x1");
  for (const char* id : kVariants)
    EXPECT_GT(variant(id).plan(p, device, {})->workspace_bytes(), kResidentBytes) << id;
}

TEST_F(Im2colGemmCudaVariants, RefuseACapThatTakesTooManyLaunchesAndNameOneThatIsEnough) {
  EmulatorDevice device;
  const ConvProblem p = parse_problem("n=256 c=64 hw=224x224 k=64 rs=3x3 pad=1x1");
  for (const char* id : kVariants) {
    PlanOptions options;
    options.workspace_cap = 8 << 20;
    try {
      variant(id).plan(p, device, options);
      ADD_FAILURE() << id << " does not refuse";
    } catch (const Refused& refusal) {
      EXPECT_EQ(refusal.reason(), Reason::workspace_over_cap);
      const std::string why = refusal.what();
      options.workspace_cap = std::stoll(why.substr(why.find("; ") + 2));
      EXPECT_EQ(variant(id).plan(p, device, options)->workspace_bytes(), options.workspace_cap) << why;
    }
  }
}

TEST_F(Im2colGemmCudaVariants, NeedNoColumnsForPointwiseConvolutions) {
  EmulatorDevice device;
  for (const char* line :
       {"forward nchw n=8 c=64 hw=56x56 k=256 rs=1x1", "backward_data nhwc n=8 c=64 hw=56x56 k=256 rs=1x1"}) {
    const ConvProblem p = parse_problem(line);
    EXPECT_EQ(variant(kVariants[1]).plan(p, device, {})->workspace_bytes(), 0);
    EXPECT_EQ(counted(kVariants[1], p).bytes, static_cast<double>(p.total_bytes()));
  }
}

TEST_F(Im2colGemmCudaVariants, CountWhatTheyExecuteAndMove) {
  // 169 pixels of 64 images are one matrix a chunk: 10816 columns in 2 or more chunks of whole images.
  const ConvProblem p = parse_problem("forward nchw n=64 c=96 hw=13x13 k=100 rs=3x3 pad=1x1");
  const double pixels = 64 * 169, columns = 96 * 9;
  const OperationCount own = counted(kVariants[0], p), library = counted(kVariants[1], p);
  EXPECT_EQ(library.product_flops, p.nominal_flops());
  // Columns and the copied output are written and read once more.
  EXPECT_EQ(library.bytes, static_cast<double>(p.total_bytes()) + 8 * pixels * (columns + 100));
  // Tiles of 100 channels are 128 wide, those of 128 pixels seldom full.
  EXPECT_GE(own.product_flops, p.nominal_flops() * 1.28);
  EXPECT_LE(own.product_flops, p.nominal_flops() * 1.40);
  EXPECT_GE(own.bytes, library.bytes);
}

TEST_F(Im2colGemmCudaVariants, CountTheImagesGradientsThatAreAddedAtTheEnd) {
  const ConvProblem p = parse_problem("backward_filter nchw n=4 c=8 hw=16x16 k=8 rs=1x1");
  const double sums = 4 * 64;  // written once, read once
  EXPECT_EQ(counted(kVariants[1], p).bytes, static_cast<double>(p.total_bytes()) + 8 * sums);
}

TEST_F(Im2colGemmCudaVariants, TellTheirProviders) {
  EXPECT_EQ(variant(kVariants[0]).info().provider, "convscope");
  EXPECT_EQ(variant(kVariants[1]).info().provider, "cublas");
  for (const char* id : kVariants) EXPECT_EQ(variant(id).info().device, DeviceKind::cuda);
}

TEST_F(Im2colGemmCudaVariants, RefuseOtherMathAndChwnWithTheReason) {
  for (const char* id : kVariants) {
    EXPECT_EQ(supports(id, parse_problem("tf32 n=1 c=3 hw=9x9 k=4 rs=3x3")).reason(),
              Reason::unsupported_math);
    EXPECT_EQ(supports(id, parse_problem("chwn n=1 c=3 hw=9x9 k=4 rs=3x3")).reason(),
              Reason::unsupported_layout);
  }
}

TEST_F(Im2colGemmCudaVariants, RefuseEpiloguesWhereTheLibraryStoresTheSums) {
  const ConvProblem problem = parse_problem("n=1 c=3 hw=9x9 k=4 rs=3x3 epilogue=relu");
  EXPECT_TRUE(supports(kVariants[0], problem));
  EXPECT_EQ(supports(kVariants[1], problem).reason(), Reason::unsupported_epilogue);
}

TEST_F(Im2colGemmCudaVariants, RefuseSizesThatTheirKernelsCannotCount) {
  for (const char* id : kVariants) {
    EXPECT_THAT(supports(id, parse_problem("n=1 c=65536 hw=3x3 k=1 rs=1x1")).why(), HasSubstr("65536"));
    EXPECT_THAT(supports(id, parse_problem("n=1 c=40000 hw=1x60000 k=1 rs=3x3 pad=1x1")).why(),
                HasSubstr("2400000000"));
    EXPECT_EQ(supports(id, parse_problem("nhwc n=65536 c=1 hw=256x256 k=1 rs=1x1")).reason(),
              Reason::unsupported_size);
  }
  const ConvProblem wide = parse_problem("n=1 c=1 hw=5000x5000 k=1 rs=3x3 pad=1x1");
  EXPECT_THAT(supports(kVariants[0], wide).why(), HasSubstr("25000004"));
  EXPECT_TRUE(supports(kVariants[1], wide));
}

TEST(DeviceChunks, StayInTheCacheOfAGpu) {
  for (ConvProblem p : in_every_pass(std::array{"n=256 c=96 hw=27x27 k=256 rs=5x5 pad=2x2",
                                                "n=256 c=3 hw=227x227 k=96 rs=11x11 stride=4x4",
                                                "n=64 c=512 hw=7x7 k=2048 rs=1x1"})) {
    const DeviceChunks chunks = cut_for_device(p, kResidentBytes);
    EXPECT_LE(chunks.floats() * 4, kResidentBytes) << to_line(p);
    int64_t rows = 0;
    for (const Chunk& chunk : chunks.list) rows += chunk.images * chunk.rows;
    EXPECT_EQ(rows, p.batch * p.output().h) << to_line(p);
  }
}

TEST(DeviceChunks, TakeImagesTogetherAsOneMatrixOnlyWhereTilesWouldBeIdle) {
  const auto gathers = [](const char* line) {
    return cut_for_device(parse_problem(line), kResidentBytes).gathers_output;
  };
  EXPECT_TRUE(gathers("nchw n=8 c=16 hw=13x13 k=8 rs=3x3 pad=1x1"));
  EXPECT_FALSE(gathers("nchw n=8 c=16 hw=27x27 k=8 rs=3x3 pad=1x1"));
  EXPECT_TRUE(gathers("nchw n=8 c=16 hw=27x27 k=8 rs=3x3 pad=1x1 groups=2"));
  EXPECT_FALSE(gathers("nhwc n=8 c=16 hw=13x13 k=8 rs=3x3 pad=1x1"));
  EXPECT_FALSE(gathers("nchw n=8 c=16 hw=13x13 k=8 rs=1x1"));
}

}  // namespace
}  // namespace convscope::im2col_gemm

// What of cuDNN can be called without a GPU: its descriptors. Everything behind cudnnCreate() needs one; with
// one, a small problem runs through every kind of variant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/cudnn/backend/graph.hpp"
#include "algorithms/cudnn/backend/legacy.hpp"
#include "algorithms/cudnn/cudnn.hpp"
#include "algorithms/cudnn/library.hpp"
#include "bench/core/every_operation_test.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/device/device_error.hpp"
#include "bench/verify/operation_reference.hpp"
#include "bench/verify/verification.hpp"

namespace convscope::cudnn {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kLines[] = {
    "n=2 c=4 hw=9x7 k=6 rs=3x3 pad=1x1",
    "bf16 nhwc n=2 c=8 hw=9x7 k=8 rs=3x3 stride=2x2 pad=1x1",
    "fp16 n=1 c=8 hw=6x6 k=8 rs=3x3 dilation=2x2 groups=2",
};

std::vector<ConvProblem> problems() {
  std::vector<ConvProblem> all;
  for (const char* line : kLines)
    for (Pass pass : kPasses) {
      all.push_back(parse_problem(line));
      all.back().pass = pass;
    }
  return all;
}

class Cudnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = unusable_because(); !why.empty()) {
      EXPECT_THAT(why, AnyOf(HasSubstr("libcudnn.so.9 was not found"), HasSubstr("cuDNN 9 is needed")));
      GTEST_SKIP() << why;
    }
  }
};

TEST_F(Cudnn, TakesTheDescriptorsOfEveryPassTypeAndLayout) {
  for (const ConvProblem& problem : problems()) {
    SCOPED_TRACE(to_line(problem));
    EXPECT_NO_THROW(operations(problem));
    EXPECT_NO_THROW(LegacyConvolution{problem});
  }
}

TEST_F(Cudnn, SaysInItsOwnWordsWhatIsWrong) {
  BackendDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  try {
    descriptor.finalize();
    FAIL() << "a tensor without sizes was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cudnnBackendFinalize: CUDNN_STATUS_"));
  }
}

TEST_F(Cudnn, ReadsBackWhatWasSet) {
  const BackendDescriptor x = tensor(parse_problem("n=2 c=4 hw=9x7 k=6 rs=3x3"), Role::input);
  EXPECT_THAT(x.values<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64),
              ::testing::ElementsAre(2, 4, 9, 7));
  EXPECT_EQ(x.number(CUDNN_ATTR_TENSOR_UNIQUE_ID), 'x');
}

TEST_F(Cudnn, NeedsADeviceForMore) {
  if (cuda::device_defect().empty()) GTEST_SKIP() << "there is a device";
  EXPECT_EQ(version(), "");
  EXPECT_THROW(shared_handle(), DeviceError);
}

TEST_F(Cudnn, PlansEveryRowUpToTheDevice) {
  if (cuda::device_defect().empty()) GTEST_SKIP() << "there is a device";
  Registry registry;
  add_cudnn(registry);
  CpuDevice host;  // stands for the device that is missing: no plan gets as far as to use it
  DeviceInfo gpu;
  gpu.kind = DeviceKind::cuda;
  int planned = 0;
  for (const ConvProblem& problem : problems())
    for (const Algorithm* algorithm : registry.all()) {
      if (!algorithm->supports(problem, gpu)) continue;
      EXPECT_THROW(algorithm->plan(problem, host, {}), DeviceError)
          << algorithm->info().id << ": " << to_line(problem);
      ++planned;
    }
  EXPECT_GT(planned, 9 * kEngineVariants);
}

// All that are not refused.
std::vector<OperationProblem> operation_problems() {
  std::vector<OperationProblem> all;
  for (const OperationProblem& problem : testing::every_operation({2, 7, 9, 5}, {"3x2/2 pad 1"}))
    // cuDNN's plans have none of the others.
    if (problem.has_directions() && !problem.is_batch_norm()) all.push_back(problem);
  return all;
}

TEST_F(Cudnn, DescribesEveryOperationUpToTheDevice) {
  if (cuda::device_defect().empty()) GTEST_SKIP() << "there is a device";
  for (const OperationProblem& problem : operation_problems()) try {
      make_operation_plan(problem);
      FAIL() << to_text(problem) << " was planned without a device";
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), StartsWith("cudnnCreate: ")) << to_text(problem);
    }
}

TEST_F(Cudnn, RefusesToTransposeUnderACapThatTheTensorsAloneExceed) {
  Registry registry;
  add_cudnn(registry);
  CpuDevice host;
  const ConvProblem problem = parse_problem("n=2 c=4 hw=9x7 k=6 rs=3x3 pad=1x1");
  try {
    registry.find("cudnn.find_transposed.cuda")->plan(problem, host, {.workspace_cap = 100});
    FAIL() << "planned under a cap of 100 bytes";
  } catch (const Refused& refusal) {
    EXPECT_EQ(refusal.reason(), Reason::workspace_over_cap);
    EXPECT_THAT(refusal.what(), HasSubstr("the cap is 100"));
  }
}

TEST_F(Cudnn, TakesARowOfGetOrFindAsItIs) {
  cudnnConvolutionFwdAlgoPerf_t row{};
  row.algo = CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;
  row.status = CUDNN_STATUS_SUCCESS;
  row.time = 0.25f;
  row.memory = 4096;
  row.determinism = CUDNN_DETERMINISTIC;
  row.mathType = CUDNN_TENSOR_OP_MATH;
  const Offer offer = offer_of(row);
  EXPECT_EQ(offer.name, "WINOGRAD_NONFUSED");
  EXPECT_THAT(offer.notes, ::testing::ElementsAre("TENSOR_OP_MATH"));
  EXPECT_EQ(offer.refusal, "");
  EXPECT_EQ(offer.workspace_bytes, 4096);
  EXPECT_EQ(offer.seconds, 0.25e-3);
}

TEST_F(Cudnn, TakesARowWithoutATimeThatMayNotRepeatItself) {
  cudnnConvolutionBwdFilterAlgoPerf_t row{};
  row.algo = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
  row.time = -1;
  row.determinism = CUDNN_NON_DETERMINISTIC;
  row.mathType = CUDNN_FMA_MATH;
  const Offer offer = offer_of(row);
  EXPECT_EQ(offer.name, "ALGO_3");
  EXPECT_THAT(offer.notes, ::testing::ElementsAre("FMA_MATH", "NONDETERMINISTIC"));
  EXPECT_EQ(offer.seconds, std::nullopt);
}

TEST_F(Cudnn, TakesABadStatusAsARefusalInItsWords) {
  cudnnConvolutionBwdDataAlgoPerf_t row{};
  row.algo = CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT;
  row.status = CUDNN_STATUS_NOT_SUPPORTED;
  EXPECT_THAT(offer_of(row).refusal, StartsWith("FFT: CUDNN_STATUS_NOT_SUPPORTED"));
}

TEST_F(Cudnn, ForcesAnAlgorithmInEachMathTypeOfItsMode) {
  const auto math_types = [](MathMode math) {
    std::vector<std::string> all;
    for (const Offer& offer : forced_offers(math, "GEMM")) all.push_back(offer.notes.at(0));
    return all;
  };
  EXPECT_THAT(math_types(MathMode::fp32), ::testing::ElementsAre("FMA_MATH"));
  EXPECT_THAT(math_types(MathMode::tf32), ::testing::ElementsAre("DEFAULT_MATH"));
  EXPECT_THAT(math_types(MathMode::fp16),
              ::testing::ElementsAre("TENSOR_OP_MATH", "DEFAULT_MATH", "FMA_MATH"));
}

class CudnnOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = cuda::device_defect(); !why.empty())
      GTEST_SKIP() << "no CUDA device: " << why;
    if (const std::string why = unusable_because(); !why.empty()) GTEST_SKIP() << why;
    add_cudnn(registry_);
    device_ = cuda::make_device({});
  }

  Registry registry_;
  std::unique_ptr<Device> device_;
};

TEST_F(CudnnOnAGpu, EveryRowIsRightOrRefuses) {
  const auto queue = device_->make_queue();
  for (const ConvProblem& problem : problems())
    for (const Algorithm* algorithm : registry_.all()) {
      SCOPED_TRACE(algorithm->info().id + ": " + to_line(problem));
      if (!algorithm->supports(problem, device_->info())) continue;
      try {
        const auto plan = algorithm->plan(problem, *device_, {});
        ASSERT_NE(plan->answer(), nullptr);
        EXPECT_TRUE(plan->answer()->chosen.has_value());
        EXPECT_FALSE(plan->implementation().empty());
        Verification verification(problem, {});
        const Verdict verdict = verification.check(*algorithm, *plan, *device_, *queue);
        EXPECT_TRUE(verdict.passed()) << verdict.note;
      } catch (const Refused& refusal) {
        EXPECT_STRNE(refusal.what(), "");
      }
    }
}

TEST_F(CudnnOnAGpu, EveryOperationIsRight) {
  const auto queue = device_->make_queue();
  for (const OperationProblem& problem : operation_problems()) {
    const auto plan = make_operation_plan(problem);
    const BySlot<float> data = operation_data(problem, 1);
    OperationBuffers buffers(data, *device_);
    const OperationCheck check =
        check_operation(problem, *plan, buffers, {}, data, operation_reference(problem, data), *queue);
    EXPECT_EQ(check.fault.value_or(""), "") << to_text(problem);
  }
}

TEST_F(CudnnOnAGpu, TheChoosersAlwaysFindSomething) {
  for (const ConvProblem& problem : problems())
    for (const char* id : {"cudnn.get.cuda", "cudnn.find.cuda", "cudnn.heur_a.cuda", "cudnn.autotune.cuda"}) {
      SCOPED_TRACE(id + (": " + to_line(problem)));
      EXPECT_NO_THROW(registry_.find(id)->plan(problem, *device_, {}));
    }
}

TEST_F(CudnnOnAGpu, WhatTriesManyThingsShowsLifeForEach) {
  int signs = 0;
  PlanOptions options;
  options.knobs = 3;
  options.show_life = [&] { ++signs; };
  const auto answer_of = [&](const char* id) {
    signs = 0;
    return *registry_.find(id)->plan(problems().front(), *device_, options)->answer();
  };
  for (const char* id : {"cudnn.autotune.cuda", "cudnn.engine.1.cuda"}) {
    const LibraryAnswer answer = answer_of(id);
    EXPECT_GT(answer.offers.size(), 1) << id;
    EXPECT_EQ(signs, answer.offers.size()) << id;
  }
  // On the stand-in the first does not fit; on a GPU it may.
  const auto chosen = answer_of("cudnn.heur_a.cuda").chosen;
  ASSERT_TRUE(chosen);
  EXPECT_GT(signs, *chosen > 0 ? 1 : 0);
  const LibraryAnswer found = answer_of("cudnn.find.cuda");
  EXPECT_GT(found.repeats.size(), 1);
  EXPECT_EQ(signs, found.repeats.size());
}

}  // namespace
}  // namespace convscope::cudnn

// The graph API of the cuDNN that is installed, asked for a GPU that is not there: it ranks, describes and
// builds engines from the device's properties alone. So everything of graph.hpp but the run meets the library
// itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algorithms/cudnn/backend/graph.hpp"
#include "algorithms/cudnn/library.hpp"
#include "algorithms/cudnn/offers.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cudnn {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// An H200: the table of compute capability 9.0 in the CUDA programming guide, and the device's own sizes.
constexpr const char* kH200 = R"({
  "deviceName": "NVIDIA H200", "cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000, "pciDeviceId": 0,
  "multiProcessorCount": 132, "warpSize": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "maxCtasPerSM": 32,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
  "maxRegistersPerSM": 65536, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "l2CacheSize": 62914560, "totalGlobalMem": 150754820096,
  "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "isTccDriver": 0, "supportCoopLaunch": 1
})";
constexpr const char* kConv2 = "n=128 c=96 hw=27x27 k=256 rs=5x5 pad=2x2";  // of AlexNet

class CudnnWithoutADevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = unusable_because(); !why.empty()) GTEST_SKIP() << why;
    try {
      target_ = Target::with_properties(kH200);
    } catch (const std::exception& error) {
      GTEST_SKIP() << "this cuDNN does not answer without a device: " << error.what();
    }
  }

  ConvolutionGraph graph(const std::string& line) const { return {parse_problem(line), *target_}; }

  std::optional<Target> target_;
};

std::vector<std::string> names(const std::vector<EngineConfig>& configs) {
  std::vector<std::string> all;
  for (const EngineConfig& config : configs) all.push_back(config.offer.name);
  return all;
}

TEST_F(CudnnWithoutADevice, EveryHeuristicRanksEnginesOfEveryPassTypeAndLayout) {
  for (const char* math : {"fp32", "fp16", "bf16"})
    for (const char* layout : {"nchw", "nhwc"})
      for (const char* pass : {"forward", "backward_data", "backward_filter"}) {
        const std::string line = std::string(pass) + " " + math + " " + layout + " " + kConv2;
        const ConvolutionGraph asked = graph(line);
        EXPECT_GT(asked.engine_count(), 1);
        for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
          SCOPED_TRACE(line + ", mode " + std::to_string(mode));
          const auto ranked = asked.ranked(mode);
          ASSERT_FALSE(ranked.empty());
          for (const EngineConfig& config : ranked) {
            EXPECT_EQ(config.offer.refusal, "");
            EXPECT_THAT(config.offer.name, StartsWith("engine "));
          }
        }
      }
}

TEST_F(CudnnWithoutADevice, ABiasIsFusedInStrictFp32AndInTf32) {
  for (const char* epilogue : {"bias", "bias+relu"})
    for (const MathMode math : {MathMode::fp32, MathMode::tf32})
      for (const char* layout : {"nchw", "nhwc"}) {
        const auto line = fmt::format("forward {} {} {} epilogue={}", name(math), layout, kConv2, epilogue);
        SCOPED_TRACE(line);
        const auto ranked = graph(line).ranked(CUDNN_HEUR_MODE_A);
        std::vector<Offer> offers;
        for (const EngineConfig& config : ranked) offers.push_back(config.offer);
        EXPECT_TRUE(first_that_fits(offers, math, int64_t{1} << 32, [&](size_t index) {
          offers[index].workspace_bytes = ExecutionPlan(ranked[index], *target_).workspace_bytes();
        }));
      }
}

// As README.md and the stand-in's epilogue.cpp say of this version; a later one may know one.
TEST_F(CudnnWithoutADevice, AReluWithoutABiasHasNoEngineInVersion919) {
  if (api().version() / 100 != 919) GTEST_SKIP() << "cuDNN " << version_text(api().version());
  const std::string line = std::string("forward fp32 nchw ") + kConv2 + " epilogue=relu";
  EXPECT_THAT(graph(line).ranked(CUDNN_HEUR_MODE_A), SizeIs(0));
}

TEST_F(CudnnWithoutADevice, TheConfigurationsOfOneEngineDifferInTheKnobsOfTheirNames) {
  const auto ranked = names(graph(kConv2).ranked(CUDNN_HEUR_MODE_A));
  EXPECT_THAT(ranked, Contains(HasSubstr(" k")));
  EXPECT_THAT(std::set<std::string>(ranked.begin(), ranked.end()), SizeIs(ranked.size()));
}

TEST_F(CudnnWithoutADevice, TheBestForTf32UsesTensorCoresAndTheOneForFp32DoesNot) {
  const ConvolutionGraph asked = graph(kConv2);
  for (const MathMode math : {MathMode::tf32, MathMode::fp32}) {
    SCOPED_TRACE(std::string(name(math)));
    const auto ranked = asked.ranked(CUDNN_HEUR_MODE_A);
    std::vector<Offer> offers;
    for (const EngineConfig& config : ranked) offers.push_back(config.offer);
    const auto best = first_that_fits(offers, math, int64_t{1} << 32, [&](size_t index) {
      offers[index].workspace_bytes = ExecutionPlan(ranked[index], *target_).workspace_bytes();
    });
    ASSERT_TRUE(best);
    EXPECT_GE(offers[*best].workspace_bytes, 0);
    if (math == MathMode::tf32)
      EXPECT_THAT(offers[*best].notes, Contains("TENSOR_CORE"));
    else
      EXPECT_THAT(offers[*best].notes, Not(Contains("TENSOR_CORE")));
  }
}

TEST_F(CudnnWithoutADevice, EveryEngineIsDescribedOrRefusedInItsWords) {
  const ConvolutionGraph asked = graph("n=2 c=8 hw=9x7 k=8 rs=3x3 pad=1x1");
  int described = 0;
  for (int64_t engine = 0; engine < asked.engine_count(); ++engine) try {
      EXPECT_EQ(asked.engine(engine).offer.name, "engine " + std::to_string(engine));
      ++described;
    } catch (const Refused& refusal) {
      EXPECT_THAT(refusal.what(), HasSubstr("CUDNN_STATUS_NOT_SUPPORTED"));
    }
  EXPECT_GT(described, 1);
}

TEST_F(CudnnWithoutADevice, AnEngineThatTheGraphDoesNotHaveIsRefusedWithTheirNumber) {
  const ConvolutionGraph asked = graph(kConv2);
  try {
    asked.engine(asked.engine_count());
    FAIL() << "an engine too many was taken";
  } catch (const Refused& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr(std::to_string(asked.engine_count()) + " engines"));
  }
}

TEST_F(CudnnWithoutADevice, KnobsHaveAsManyVariantsAsWereAskedForAndEachIsBuiltOrRefused) {
  const ConvolutionGraph asked = graph(kConv2);
  const auto ranked = names(asked.ranked(CUDNN_HEUR_MODE_A));
  const auto with_knobs = std::find_if(ranked.begin(), ranked.end(), [](const std::string& name) {
    return name.find(" k") != std::string::npos;
  });
  ASSERT_NE(with_knobs, ranked.end());
  const auto variants = asked.knob_variants(std::stol(with_knobs->substr(7)), 4);
  ASSERT_THAT(variants, SizeIs(4));
  int built = 0;
  for (const EngineConfig& variant : variants) try {
      ExecutionPlan(variant, *target_);
      ++built;
    } catch (const Refused&) {
    }
  EXPECT_GT(built, 0);
}

}  // namespace
}  // namespace convscope::cudnn

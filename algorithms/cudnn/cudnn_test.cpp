// The variants without a GPU: what they are and what they refuse.
#include "algorithms/cudnn/cudnn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/cudnn/library.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

class CudnnAlgorithms : public ::testing::Test {
 protected:
  CudnnAlgorithms() { add_cudnn(registry_); }

  Support support(const std::string& id, const std::string& line, DeviceKind kind = DeviceKind::cuda) const {
    DeviceInfo device;
    device.kind = kind;
    return registry_.find(id)->supports(parse_problem(line), device);
  }

  Registry registry_;
};

TEST_F(CudnnAlgorithms, AreEachAlgorithmEachEngineAndEachChoice) {
  for (const char* id :
       {"cudnn.implicit_gemm.cuda", "cudnn.winograd_nonfused.cuda", "cudnn.algo_3.cuda", "cudnn.get.cuda",
        "cudnn.find.cuda", "cudnn.find_transposed.cuda", "cudnn.heur_a.cuda", "cudnn.heur_b.cuda",
        "cudnn.heur_fallback.cuda", "cudnn.autotune.cuda", "cudnn.engine.0.cuda", "cudnn.engine.127.cuda"})
    EXPECT_NE(registry_.find(id), nullptr) << id;
  for (Pass pass : kPasses)
    for (std::string_view algorithm : cudnn::legacy_algorithms(pass)) {
      std::string id = "cudnn." + std::string(algorithm) + ".cuda";
      std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
      EXPECT_NE(registry_.find(id), nullptr) << id;
    }
}

TEST_F(CudnnAlgorithms, AreRunWithoutBeingAskedForButForEngines) {
  for (const Algorithm* algorithm : registry_.all())
    EXPECT_EQ(algorithm->info().on_request, algorithm->info().id.starts_with("cudnn.engine."));
}

TEST_F(CudnnAlgorithms, AreNotForTheEmulator) {
  for (const Algorithm* algorithm : registry_.all()) EXPECT_FALSE(algorithm->info().emulated);
  const Support refused = support("cudnn.get.cuda", "n=1 c=3 hw=8 k=4 rs=3", DeviceKind::emulator);
  EXPECT_EQ(refused.reason(), Reason::device_missing);
  EXPECT_THAT(refused.why(), HasSubstr("emulator"));
}

TEST_F(CudnnAlgorithms, RefuseAPassThatTheirAlgorithmIsNotIn) {
  EXPECT_EQ(support("cudnn.algo_3.cuda", "forward n=1 c=3 hw=8 k=4 rs=3").reason(), Reason::unsupported_pass);
  EXPECT_EQ(support("cudnn.algo_3.cuda", "backward_data n=1 c=3 hw=8 k=4 rs=3").reason(),
            Reason::unsupported_pass);
  EXPECT_EQ(support("cudnn.implicit_gemm.cuda", "backward_filter n=1 c=3 hw=8 k=4 rs=3").reason(),
            Reason::unsupported_pass);
}

TEST_F(CudnnAlgorithms, RefuseWhatCudnnHasNoWordFor) {
  EXPECT_EQ(support("cudnn.get.cuda", "chwn n=1 c=3 hw=8 k=4 rs=3").reason(), Reason::unsupported_layout);
  EXPECT_EQ(support("cudnn.get.cuda", "3xtf32 n=1 c=3 hw=8 k=4 rs=3").reason(), Reason::unsupported_math);
}

TEST_F(CudnnAlgorithms, RefuseTf32WhereTheEnvironmentTurnsItOff) {
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  const Support refused = support("cudnn.get.cuda", "tf32 n=1 c=3 hw=8 k=4 rs=3");
  unsetenv("NVIDIA_TF32_OVERRIDE");
  EXPECT_EQ(refused.reason(), Reason::unsupported_math);
  EXPECT_THAT(refused.why(), HasSubstr("NVIDIA_TF32_OVERRIDE=0"));
}

TEST_F(CudnnAlgorithms, AreSupportedOrSayWhatIsMissing) {
  const Support asked = support("cudnn.get.cuda", "n=1 c=3 hw=8 k=4 rs=3");
  EXPECT_EQ(asked.why(), cudnn::unusable_because());
  EXPECT_EQ(asked.reason(), cudnn::unusable_because().empty() ? Reason::none : Reason::library_missing);
}

TEST_F(CudnnAlgorithms, CountTheOperationsOfTheGemmFamilyOnly) {
  EXPECT_TRUE(cudnn::is_gemm({cudnn::Choice::forced, "IMPLICIT_PRECOMP_GEMM"}));
  EXPECT_FALSE(cudnn::is_gemm({cudnn::Choice::forced, "WINOGRAD"}));
  EXPECT_FALSE(cudnn::is_gemm({cudnn::Choice::get, ""}));
}

TEST(LegacyAlgorithms, HaveTheValuesOfCudnnsEnums) {
  EXPECT_EQ(cudnn::legacy_index(Pass::forward, "WINOGRAD"), 6);
  EXPECT_EQ(cudnn::legacy_index(Pass::backward_data, "WINOGRAD"), 4);
  EXPECT_EQ(cudnn::legacy_index(Pass::backward_filter, "FFT_TILING"), 6);
  EXPECT_EQ(cudnn::legacy_index(Pass::backward_data, "ALGO_3"), std::nullopt);
}

}  // namespace
}  // namespace convscope

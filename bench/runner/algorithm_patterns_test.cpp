#include "bench/runner/algorithm_patterns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "bench/algorithm/described_test.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AlgorithmPatterns : public ::testing::Test {
 protected:
  AlgorithmPatterns() {
    add("direct.cpu", "direct");
    add("im2col_gemm.cpu", "gemm");
    add("winograd.f2x2_3x3.cpu", "winograd");
    add("winograd.f4x4_3x3.cpu", "winograd");
    add("winograd.mixed.cpu", "winograd");
    add("winograd.mixed.cuda", "winograd", DeviceKind::cuda);
    add("onednn.engine_7.cpu", "library").on_request = true;
    add("reference.cpu", "reference").candidate = false;
    for (AlgorithmInfo& info : infos_) registry_.add(std::make_unique<testing::Described>(info));
  }

  AlgorithmInfo& add(const std::string& id, const std::string& family, DeviceKind device = DeviceKind::cpu) {
    AlgorithmInfo info;
    info.id = id;
    info.family = family;
    info.device = device;
    return infos_.emplace_back(info);
  }

  std::vector<std::string> on_cpu(const std::vector<std::string>& patterns) const {
    for (const std::string& pattern : patterns) EXPECT_EQ(defect_of_pattern(pattern, registry_), "");
    return meant_by(patterns, registry_, DeviceKind::cpu);
  }

  std::vector<AlgorithmInfo> infos_;
  Registry registry_;
};

TEST_F(AlgorithmPatterns, AreGlobsOverIds) {
  EXPECT_THAT(on_cpu({"*mixed*"}), ElementsAre("winograd.mixed.cpu"));
  EXPECT_THAT(on_cpu({"winograd.f?x?_3x3.cpu"}),
              ElementsAre("winograd.f2x2_3x3.cpu", "winograd.f4x4_3x3.cpu"));
}

TEST_F(AlgorithmPatterns, NameAFamilyByItsNameOrTheFirstPartOfItsIds) {
  EXPECT_THAT(on_cpu({"winograd"}),
              ElementsAre("winograd.f2x2_3x3.cpu", "winograd.f4x4_3x3.cpu", "winograd.mixed.cpu"));
  EXPECT_THAT(on_cpu({"gemm"}), ElementsAre("im2col_gemm.cpu"));
  EXPECT_THAT(on_cpu({"im2col_gemm"}), ElementsAre("im2col_gemm.cpu"));
  EXPECT_THAT(on_cpu({"onednn"}), ElementsAre("onednn.engine_7.cpu"))
      << "by name also what is there on request";
}

TEST_F(AlgorithmPatterns, NameOneAlgorithmWithoutItsDevice) {
  EXPECT_THAT(on_cpu({"winograd.mixed"}), ElementsAre("winograd.mixed.cpu"));
  EXPECT_THAT(meant_by({"winograd.mixed"}, registry_, DeviceKind::cuda), ElementsAre("winograd.mixed.cuda"));
}

TEST_F(AlgorithmPatterns, MayEndEarlyWhereOneNameOnlyBeginsSo) {
  EXPECT_THAT(on_cpu({"winograd.m"}), ElementsAre("winograd.mixed.cpu"));
  EXPECT_THAT(on_cpu({"dir"}), ElementsAre("direct.cpu"));
  EXPECT_THAT(defect_of_pattern("winograd.f", registry_),
              AllOf(HasSubstr("the beginning of winograd.f2x2_3x3, winograd.f4x4_3x3"),
                    HasSubstr("\"winograd.f*\"")));
}

TEST_F(AlgorithmPatterns, TakeOutWhatHasAMark) {
  EXPECT_THAT(on_cpu({"winograd", "!winograd.mixed"}),
              ElementsAre("winograd.f2x2_3x3.cpu", "winograd.f4x4_3x3.cpu"));
  EXPECT_THAT(on_cpu({"!winograd"}), ElementsAre("direct.cpu", "im2col_gemm.cpu")) << "begins with all";
  EXPECT_THAT(on_cpu({"!*"}), ElementsAre());
}

TEST_F(AlgorithmPatterns, MeanNothingOnRequestByTheStarAlone) {
  EXPECT_THAT(on_cpu({"*"}), Not(::testing::Contains("onednn.engine_7.cpu")));
}

TEST_F(AlgorithmPatterns, WithoutAMatchGetTheNearestNameOrTheFamilies) {
  EXPECT_THAT(defect_of_pattern("winogard", registry_), HasSubstr("did you mean \"winograd\"?"));
  EXPECT_THAT(
      defect_of_pattern("!direkt.cpu", registry_),
      AllOf(HasSubstr("found \"!direkt.cpu\", which matches no algorithm"), HasSubstr("\"direct.cpu\"?")));
  EXPECT_THAT(defect_of_pattern("cudnn*", registry_),
              HasSubstr("direct, gemm, im2col_gemm, library, onednn, winograd"));
  EXPECT_THAT(defect_of_pattern("reference", registry_), HasSubstr("reference.cpu, and that is never timed"));
  EXPECT_THAT(defect_of_pattern("", registry_), Not(IsEmpty()));
}

TEST_F(AlgorithmPatterns, MeanSeparateFormsToo) {
  const auto with_epilogue = [&](const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) EXPECT_EQ(defect_of_pattern(pattern, registry_), "");
    return meant_by(patterns, registry_, DeviceKind::cpu, Epilogue::relu);
  };
  EXPECT_THAT(with_epilogue({"direct", "gemm"}), ElementsAre("direct.cpu", "direct.separate.cpu",
                                                             "im2col_gemm.cpu", "im2col_gemm.separate.cpu"));
  EXPECT_THAT(with_epilogue({"direct.cpu"}), ElementsAre("direct.cpu"));
  EXPECT_THAT(with_epilogue({"direct.separate.cpu"}), ElementsAre("direct.separate.cpu"));
  EXPECT_THAT(with_epilogue({"winograd", "!*.separate.*"}),
              ElementsAre("winograd.f2x2_3x3.cpu", "winograd.f4x4_3x3.cpu", "winograd.mixed.cpu"));
  EXPECT_THAT(with_epilogue({"winograd.m", "!winograd.mixed.cpu"}),
              ElementsAre("winograd.mixed.separate.cpu"));
  EXPECT_THAT(with_epilogue({"*"}), Not(::testing::Contains(HasSubstr("engine_7"))));
  EXPECT_THAT(on_cpu({"direct"}), ElementsAre("direct.cpu"));
  EXPECT_THAT(on_cpu({"direct.separate.cpu"}), IsEmpty());
}

}  // namespace
}  // namespace convscope

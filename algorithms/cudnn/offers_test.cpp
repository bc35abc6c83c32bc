// The choice among cuDNN's offers, on answers made by hand and on recorded ones.
#include "algorithms/cudnn/offers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/core/problem.hpp"

namespace convscope::cudnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNoCap = INT64_MAX;

Offer offer(const std::string& name, int64_t workspace_bytes, std::vector<std::string> notes = {}) {
  Offer made;
  made.name = name;
  made.workspace_bytes = workspace_bytes;
  made.notes = std::move(notes);
  return made;
}

Offer timed(const std::string& name, int64_t workspace_bytes, double seconds) {
  Offer made = offer(name, workspace_bytes);
  made.seconds = seconds;
  return made;
}

void nothing_to_try(size_t) {}

TEST(Contradiction, Fp32IsStrict) {
  EXPECT_EQ(contradiction(MathMode::fp32, std::vector<std::string>{"FFT", "WINOGRAD"}), "");
  EXPECT_EQ(contradiction(MathMode::fp32, std::vector<std::string>{"FMA_MATH"}), "");
  for (const char* note : {"TENSOR_CORE", "TENSOR_OP_MATH", "TENSOR_OP_MATH_ALLOW_CONVERSION",
                           "DOWN_CONVERT_INPUTS", "REDUCED_PRECISION_REDUCTION"})
    EXPECT_THAT(contradiction(MathMode::fp32, std::vector<std::string>{"FFT", note}), HasSubstr(note));
}

TEST(Contradiction, Tf32AllowsTensorCoresAndNoNarrowerOperands) {
  EXPECT_EQ(contradiction(MathMode::tf32, std::vector<std::string>{"TENSOR_CORE"}), "");
  for (const char* note : {"DOWN_CONVERT_INPUTS", "TENSOR_OP_MATH_ALLOW_CONVERSION"})
    EXPECT_THAT(contradiction(MathMode::tf32, std::vector<std::string>{note}),
                HasSubstr("keeps its operands"));
}

TEST(Contradiction, SixteenBitModesSumInFp32) {
  for (MathMode math : {MathMode::bf16, MathMode::fp16}) {
    EXPECT_EQ(contradiction(math, std::vector<std::string>{"TENSOR_CORE"}), "");
    EXPECT_THAT(contradiction(math, std::vector<std::string>{"REDUCED_PRECISION_REDUCTION"}),
                HasSubstr("sums in FP32"));
  }
}

TEST(NameIn, HasTheMathTypeWhereAModeMayHaveSeveral) {
  const Offer made = offer("IMPLICIT_GEMM", 0, {"TENSOR_OP_MATH", "NONDETERMINISTIC"});
  EXPECT_EQ(name_in(MathMode::fp16, made), "IMPLICIT_GEMM TENSOR_OP_MATH");
  EXPECT_EQ(name_in(MathMode::fp32, made), "IMPLICIT_GEMM");
}

TEST(FirstThatFits, IsTheFirstUnderTheCap) {
  std::vector<Offer> offers{offer("FFT", 900), offer("GEMM", 100), offer("IMPLICIT_GEMM", 0)};
  EXPECT_EQ(first_that_fits(offers, MathMode::fp32, kNoCap, nothing_to_try), 0u);
  EXPECT_EQ(first_that_fits(offers, MathMode::fp32, 900, nothing_to_try), 0u);
  EXPECT_EQ(first_that_fits(offers, MathMode::fp32, 899, nothing_to_try), 1u);
  EXPECT_EQ(first_that_fits(offers, MathMode::fp32, 0, nothing_to_try), 2u);
}

TEST(FirstThatFits, PassesOverWhatTheMathModeForbidsAndSaysWhy) {
  std::vector<Offer> offers{offer("engine 1", 0, {"TENSOR_CORE"}), offer("engine 2", 0)};
  EXPECT_EQ(first_that_fits(offers, MathMode::fp32, kNoCap, nothing_to_try), 1u);
  EXPECT_THAT(offers[0].refusal, HasSubstr("TENSOR_CORE"));
  EXPECT_EQ(first_that_fits(offers, MathMode::tf32, kNoCap, nothing_to_try), 1u) << "a refusal stays";
}

TEST(FirstThatFits, TriesOnlyAsFarAsItMust) {
  std::vector<Offer> offers{offer("engine 1", 0, {"DOWN_CONVERT_INPUTS"}), offer("engine 2", 0),
                            offer("engine 3", 0), offer("engine 4", 0)};
  std::vector<size_t> tried;
  const auto chosen = first_that_fits(offers, MathMode::fp32, 50, [&](size_t i) {
    tried.push_back(i);
    if (i == 1) offers[i].refusal = "not here";
    if (i == 2) offers[i].workspace_bytes = 50;
  });
  EXPECT_EQ(chosen, 2u);
  EXPECT_THAT(tried, ElementsAre(1u, 2u));
}

TEST(FastestThatFits, LooksAtTimesNotAtTheOrder) {
  const std::vector<Offer> offers{timed("a", 0, 3), timed("b", 100, 1), timed("c", 10, 2), offer("d", 0)};
  EXPECT_EQ(fastest_that_fits(offers, kNoCap), 1u);
  EXPECT_EQ(fastest_that_fits(offers, 99), 2u);
  EXPECT_EQ(fastest_that_fits(offers, 9), 0u);
  EXPECT_EQ(fastest_that_fits(std::vector<Offer>{offer("d", 0)}, kNoCap), std::nullopt);
}

TEST(FastestThatFits, TakesTheFirstOfTwoThatTie) {
  EXPECT_EQ(fastest_that_fits(std::vector<Offer>{timed("a", 0, 1), timed("b", 0, 1)}, kNoCap), 0u);
}

TEST(NothingFits, NamesTheLeastWorkspaceWhereTheCapIsWhy) {
  std::vector<Offer> offers{offer("a", 500), offer("b", 300), offer("c", 0)};
  offers[2].refusal = "not supported";
  const Nothing nothing = why_nothing_fits(offers, 200);
  EXPECT_EQ(nothing.reason, Reason::workspace_over_cap);
  EXPECT_THAT(nothing.why, HasSubstr("300 bytes"));
  EXPECT_THAT(nothing.why, HasSubstr("cap is 200"));
}

TEST(NothingFits, KeepsTheLibrarysWords) {
  std::vector<Offer> offers{offer("a", 0), offer("b", 0)};
  offers[0].refusal = "cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED";
  offers[1].refusal = "another";
  const Nothing nothing = why_nothing_fits(offers, kNoCap);
  EXPECT_EQ(nothing.reason, Reason::library_refused);
  EXPECT_THAT(nothing.why, HasSubstr("none of cuDNN's 2 offers"));
  EXPECT_THAT(nothing.why, HasSubstr("CUDNN_STATUS_NOT_SUPPORTED"));
  EXPECT_EQ(why_nothing_fits(std::vector<Offer>(offers.begin() + 1, offers.end()), kNoCap).why, "another");
  EXPECT_EQ(why_nothing_fits({}, kNoCap).reason, Reason::library_refused);
}

TEST(MostFrequent, IsTheFirstOfTwoThatTie) {
  EXPECT_EQ(most_frequent(std::vector<std::string>{"GEMM", "FFT", "FFT"}), "FFT");
  EXPECT_EQ(most_frequent(std::vector<std::string>{"GEMM", "FFT", "FFT", "GEMM"}), "GEMM");
  EXPECT_EQ(most_frequent(std::vector<std::string>{"GEMM"}), "GEMM");
}

TEST(Combinations, CountTheLastKnobFastest) {
  const std::vector<std::vector<int64_t>> values{{0, 1}, {4, 5, 6}};
  EXPECT_THAT(combinations(values, 100),
              ElementsAre(ElementsAre(0, 4), ElementsAre(0, 5), ElementsAre(0, 6), ElementsAre(1, 4),
                          ElementsAre(1, 5), ElementsAre(1, 6)));
  EXPECT_THAT(combinations(values, 4), testing::SizeIs(4));
}

TEST(Combinations, AreNoneOfAKnobWithoutValues) {
  EXPECT_THAT(combinations(std::vector<std::vector<int64_t>>{{1}, {}}, 9), IsEmpty());
  EXPECT_THAT(combinations(std::vector<std::vector<int64_t>>{{1}}, 0), IsEmpty());
}

// --- Recorded answers: files that `convscope run --record` writes ---

std::vector<nlohmann::json> recorded_answers() {
  std::vector<nlohmann::json> all;
  for (const auto& file : std::filesystem::directory_iterator(CONVSCOPE_RECORDED_ANSWERS))
    if (file.path().extension() == ".json") {
      const auto document = nlohmann::json::parse(std::ifstream(file.path()));
      for (const auto& answer : document.at("answers")) all.push_back(answer);
    }
  return all;
}

// As cuDNN gave it: without what choosing added.
Offer offer_of(const nlohmann::json& json) {
  Offer made = offer(json.at("name"), json.at("workspace_bytes"), json.at("notes"));
  if (!json.at("seconds").is_null()) made.seconds = json.at("seconds").get<double>();
  return made;
}

TEST(RecordedAnswers, AreChosenFromAsTheyWere) {
  const auto answers = recorded_answers();
  ASSERT_FALSE(answers.empty());
  for (const auto& recorded : answers) {
    const auto& answer = recorded.at("answer");
    std::vector<Offer> offers;
    for (const auto& json : answer.at("offers")) offers.push_back(offer_of(json));
    const ConvProblem problem = parse_problem(recorded.at("problem").get<std::string>());
    const auto& cap_json = recorded.at("workspace_cap_bytes");
    int64_t cap = cap_json.is_null() ? kNoCap : cap_json.get<int64_t>();
    const auto id = recorded.at("algorithm").get<std::string>();
    if (id == "cudnn.find_transposed.cuda")  // beside the transposed tensors
      for (Role role : kRoles) cap -= (problem.bytes(role) + 255) / 256 * 256;
    const auto as_recorded = [&](size_t i) { offers[i].refusal = answer.at("offers")[i].at("refusal"); };
    const bool all_timed =
        id == "cudnn.autotune.cuda" || (id.starts_with("cudnn.engine.") && offers.size() > 1);
    const auto chosen =
        all_timed ? fastest_that_fits(offers, cap) : first_that_fits(offers, problem.math, cap, as_recorded);
    ASSERT_EQ(chosen.has_value(), !answer.at("chosen").is_null()) << recorded.dump();
    if (!chosen) continue;
    EXPECT_EQ(static_cast<int64_t>(*chosen), answer.at("chosen")) << recorded.dump();
  }
}

}  // namespace
}  // namespace convscope::cudnn

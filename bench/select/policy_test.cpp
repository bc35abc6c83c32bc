// Policies over hand-made rows: preference, caps, layouts, sums and what is missing from them.
#include "bench/select/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/select/policy_report.hpp"
#include "bench/select/test_rows.hpp"

namespace convscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Policy forward_policy(std::vector<std::string> names, Take take = Take::first) {
  Policy policy;
  policy.name = "p";
  policy.library = "cudnn";
  policy.take = take;
  policy.algorithms[Pass::forward] = std::move(names);
  return policy;
}

Policy whole_policy(const std::string& name, const std::string& algorithm) {
  Policy policy = forward_policy({algorithm});
  policy.name = name;
  for (Pass pass : kPasses) policy.algorithms[pass] = {algorithm};
  return policy;
}

// The policy's first unit in the only scope.
PolicyUnit unit_of(const Policy& policy, const std::vector<Contest>& all) {
  return apply({&policy, 1}, all, {}).at(0).results.at(0).units.at(0);
}

// Three passes of conv1 and conv2 by one algorithm, `seconds` each.
Rows step_of(const std::string& algorithm, double seconds) {
  Rows rows;
  for (const char* layer : {"conv1", "conv2"})
    for (Pass pass : kPasses) rows.push_back(row(algorithm, seconds, layer, pass));
  return rows;
}

TEST(Policy, OnNoRowsHasNoScope) {
  const Policy policy = forward_policy({"a"});
  EXPECT_TRUE(apply({&policy, 1}, {}, {}).empty());
}

TEST(Policy, TakesTheFirstOfItsListThatIsThere) {
  const Rows rows{row("fast.cpu", 1), row("second.cpu", 2), row("third.cpu", 3)};
  const auto all = contests(rows);
  EXPECT_EQ(unit_of(forward_policy({"absent", "third", "second"}), all).chosen.row, &rows[2]);
}

TEST(Policy, OrTheFastestThatTheListNames) {
  const Rows rows{row("other.cpu", 1), row("lib.a.cpu", 3), row("lib.b.cpu", 2)};
  const auto all = contests(rows);
  EXPECT_EQ(unit_of(forward_policy({"lib.*"}, Take::fastest), all).chosen.row, &rows[2]);
  EXPECT_EQ(unit_of(forward_policy({"*"}, Take::fastest), all).chosen.row, &rows[0]);
}

TEST(Policy, NeverTakesAWrongRow) {
  const Rows rows{wrong_row("a.cpu", 1), row("b.cpu", 2)};
  const auto all = contests(rows);
  EXPECT_EQ(unit_of(forward_policy({"*"}, Take::fastest), all).chosen.row, &rows[1]);
  const PolicyUnit unit = unit_of(forward_policy({"a"}), all);
  EXPECT_EQ(unit.chosen.row, nullptr);
  EXPECT_EQ(unit.missing, "a.cpu is wrong");
}

TEST(Policy, HoldsItsWorkspaceCap) {
  const Rows rows{with_cap(row("fft.cpu", 1), {}, 100 * kMiB), with_cap(row("direct.cpu", 4), {}, 0)};
  const auto all = contests(rows);
  Policy policy = forward_policy({"fft", "direct"});
  EXPECT_EQ(unit_of(policy, all).chosen.row, &rows[0]);
  policy.workspace_cap = 8 * kMiB;
  const PolicyUnit unit = unit_of(policy, all);
  EXPECT_EQ(unit.chosen.row, &rows[1]);
  EXPECT_EQ(unit.chosen.evidence, Evidence::at_larger_cap);
  policy.algorithms[Pass::forward] = {"fft"};
  EXPECT_EQ(unit_of(policy, all).missing, "fft.cpu was measured with 100.0 MiB of workspace under 8.0 MiB");
}

TEST(Policy, TheCapOfOneFilterFollowsTheLayer) {
  Policy policy = forward_policy({"a"});
  policy.cap_is_one_filter = true;
  ConvProblem problem = conv2();
  EXPECT_EQ(cap_of(policy, problem), Cap(96 * 5 * 5 * 4));
  problem.groups = 2;
  EXPECT_EQ(cap_of(policy, problem), Cap(48 * 5 * 5 * 4));
}

TEST(Policy, SaysWhyItHasNoRow) {
  Rows rows{refused("a.cpu", Outcome::unsupported, Reason::unsupported_stride, "no"), row("b.cpu", 1)};
  const auto all = contests(rows);
  EXPECT_EQ(unit_of(forward_policy({"a"}), all).missing, "a.cpu unsupported_stride");
  EXPECT_EQ(unit_of(forward_policy({"c", "d"}), all).missing, "no row of c, d");
  Policy other = forward_policy({"b"});
  other.layout = Layout::nhwc;
  EXPECT_EQ(unit_of(other, all).missing, "no rows of fp32 nhwc");
}

TEST(Policy, LooksAtItsOwnLayoutAndMathOnly) {
  Rows rows{row("a.cpu", 1), row("a.cpu", 2)};
  rows[1].key.problem.layout = Layout::nhwc;
  const auto all = contests(rows);
  Policy policy = forward_policy({"a"});
  policy.layout = Layout::nhwc;
  const auto scopes = apply({&policy, 1}, all, {});
  ASSERT_EQ(scopes.size(), 1u);
  ASSERT_EQ(scopes[0].results[0].units.size(), 1u);  // one layer, though two layouts were run
  EXPECT_EQ(scopes[0].results[0].units[0].chosen.row, &rows[1]);
}

TEST(PolicyTotal, AddsThePassesUpWithAndWithoutTheFirstLayersBackwardData) {
  Rows rows = step_of("a.cpu", 1);
  for (ResultRecord& r : rows)
    if (r.key.layer == "conv2") r.key.count = 2;
  const auto all = contests(rows);
  const Policy policy = whole_policy("p", "a");
  const auto scopes = apply({&policy, 1}, all, {{"alexnet", "conv1"}});
  const PolicyResult& result = scopes.at(0).results.at(0);
  EXPECT_DOUBLE_EQ(total(result, Part::forward).seconds, 3);
  EXPECT_DOUBLE_EQ(total(result, Part::backward).seconds, 6);
  EXPECT_DOUBLE_EQ(total(result, Part::backward_without_first).seconds, 5);
  EXPECT_DOUBLE_EQ(total(result, Part::step).seconds, 9);
  EXPECT_DOUBLE_EQ(total(result, Part::step_without_first).seconds, 8);
  EXPECT_TRUE(total(result, Part::step).is_complete());
}

TEST(PolicyTotal, IsNotCompleteWithARowMissingAndNamesIt) {
  Rows rows = step_of("a.cpu", 1);
  rows.erase(rows.begin() + 1);  // conv1 backward_data
  const auto all = contests(rows);
  const Policy policy = whole_policy("p", "a");
  const auto scopes = apply({&policy, 1}, all, {{"alexnet", "conv1"}});
  const PolicyResult& result = scopes.at(0).results.at(0);
  EXPECT_FALSE(total(result, Part::step).is_complete());
  EXPECT_THAT(total(result, Part::step).missing, ElementsAre("conv1 backward_data: no rows of fp32 nchw"));
  EXPECT_TRUE(total(result, Part::step_without_first).is_complete());
}

TEST(PolicyTotal, OfAPolicyThatOnlyGoesForwardHasNoStep) {
  const Rows rows = step_of("a.cpu", 1);
  const auto all = contests(rows);
  const Policy policy = forward_policy({"a"});
  const auto scopes = apply({&policy, 1}, all, {});
  EXPECT_TRUE(total(scopes[0].results[0], Part::forward).is_complete());
  EXPECT_FALSE(total(scopes[0].results[0], Part::step).is_complete());
  EXPECT_FALSE(total(scopes[0].results[0], Part::backward).is_complete());
}

TEST(PolicyReport, OptionsAloneAreTheDefaultOverThePolicy) {
  Rows rows = step_of("slow.cpu", 3);
  for (const ResultRecord& r : step_of("fast.cpu", 2)) rows.push_back(r);
  const auto all = contests(rows);
  std::vector<Policy> policies{whole_policy("default", "slow"), whole_policy("option", "fast"),
                               whole_policy("alone", "fast")};
  policies[0].framework = policies[1].framework = "torch";
  policies[0].is_default = true;
  const auto scopes = apply(policies, all, {});
  EXPECT_DOUBLE_EQ(*speed_up_over_default(scopes[0], scopes[0].results[0]), 1);
  EXPECT_DOUBLE_EQ(*speed_up_over_default(scopes[0], scopes[0].results[1]), 1.5);
  EXPECT_FALSE(speed_up_over_default(scopes[0], scopes[0].results[2]));
}

TEST(PolicyReport, IsLabelledAsAnEmulationAndNamesWhatIsMissing) {
  Rows rows;
  for (ResultRecord r : step_of("onednn.auto.cpu", 0.001)) {
    r.algorithm.provider = "onednn";
    r.algorithm.version = "2.6.3";
    rows.push_back(std::move(r));
  }
  rows.erase(rows.begin() + 1);
  const auto all = contests(rows);
  const std::vector<Policy> policies{whole_policy("mine", "onednn.auto"), whole_policy("caffe", "cudnn.get")};
  const auto scopes = apply(policies, all, {{"alexnet", "conv1"}});
  std::ostringstream out;
  print_policies(out, scopes, {});
  EXPECT_THAT(out.str(), HasSubstr("policy emulation on onednn 2.6.3\n"));
  EXPECT_THAT(out.str(), HasSubstr("mine: no sum with conv1 backward_data: no rows of fp32 nchw"));
  EXPECT_THAT(out.str(), HasSubstr("these results have no row for any layer (library: cudnn): caffe"));
  const auto json = to_json(scopes);
  EXPECT_EQ(json[0]["policies"][0]["label"], "policy emulation on onednn 2.6.3");
  EXPECT_TRUE(json[0]["policies"][0]["step"]["seconds"].is_null());
  EXPECT_NEAR(json[0]["policies"][0]["step_without_first_backward_data"]["seconds"].get<double>(), 0.005,
              1e-12);
  EXPECT_TRUE(json[0]["policies"][1]["label"].is_null());
}

TEST(PolicyReport, OfNoRowsSaysSo) {
  std::ostringstream out;
  print_policies(out, {}, {});
  EXPECT_EQ(out.str(), "no rows\n");
}

}  // namespace
}  // namespace convscope

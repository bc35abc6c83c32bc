// Policies over hand-made records: preference, caps, layouts, sums and what is missing from them.
#include "bench/select/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/ranking/test_contests.hpp"

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
Records step_of(const std::string& algorithm, double seconds) {
  Records records;
  for (const char* layer : {"conv1", "conv2"})
    for (Pass pass : kPasses) records.push_back(right(algorithm, seconds, layer, pass));
  return records;
}

TEST(Policy, OnNoRecordsHasNoScope) {
  const Policy policy = forward_policy({"a"});
  EXPECT_TRUE(apply({&policy, 1}, {}, {}).empty());
}

TEST(Policy, TakesTheFirstOfItsListThatIsThere) {
  const Records records{right("fast.cpu", 1), right("second.cpu", 2), right("third.cpu", 3)};
  const auto all = contests(records);
  EXPECT_EQ(unit_of(forward_policy({"absent", "third", "second"}), all).chosen.record, &records[2]);
}

TEST(Policy, OrTheFastestThatTheListNames) {
  const Records records{right("other.cpu", 1), right("lib.a.cpu", 3), right("lib.b.cpu", 2)};
  const auto all = contests(records);
  EXPECT_EQ(unit_of(forward_policy({"lib.*"}, Take::fastest), all).chosen.record, &records[2]);
  EXPECT_EQ(unit_of(forward_policy({"*"}, Take::fastest), all).chosen.record, &records[0]);
}

TEST(Policy, NeverTakesAWrongRecord) {
  const Records records{wrong_record("a.cpu", 1), right("b.cpu", 2)};
  const auto all = contests(records);
  EXPECT_EQ(unit_of(forward_policy({"*"}, Take::fastest), all).chosen.record, &records[1]);
  const PolicyUnit unit = unit_of(forward_policy({"a"}), all);
  EXPECT_EQ(unit.chosen.record, nullptr);
  EXPECT_EQ(unit.missing, "a.cpu is wrong");
}

TEST(Policy, HoldsItsWorkspaceCap) {
  const Records records{with_cap(right("fft.cpu", 1), {}, 100 * kMiB),
                        with_cap(right("direct.cpu", 4), {}, 0)};
  const auto all = contests(records);
  Policy policy = forward_policy({"fft", "direct"});
  EXPECT_EQ(unit_of(policy, all).chosen.record, &records[0]);
  policy.workspace_cap = 8 * kMiB;
  const PolicyUnit unit = unit_of(policy, all);
  EXPECT_EQ(unit.chosen.record, &records[1]);
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

TEST(Policy, SaysWhyItHasNoRecord) {
  Records records{refused("a.cpu", Outcome::unsupported, Reason::unsupported_stride, "no"),
                  right("b.cpu", 1)};
  const auto all = contests(records);
  EXPECT_EQ(unit_of(forward_policy({"a"}), all).missing, "a.cpu unsupported_stride");
  EXPECT_EQ(unit_of(forward_policy({"c", "d"}), all).missing, "no record of c, d");
  Policy other = forward_policy({"b"});
  other.layout = Layout::nhwc;
  EXPECT_EQ(unit_of(other, all).missing, "no records of fp32 nhwc");
}

TEST(Policy, LooksAtItsOwnLayoutAndMathOnly) {
  Records records{right("a.cpu", 1), right("a.cpu", 2)};
  records[1].key.problem.layout = Layout::nhwc;
  const auto all = contests(records);
  Policy policy = forward_policy({"a"});
  policy.layout = Layout::nhwc;
  const auto scopes = apply({&policy, 1}, all, {});
  ASSERT_EQ(scopes.size(), 1u);
  ASSERT_EQ(scopes[0].results[0].units.size(), 1u);  // one layer, though two layouts were run
  EXPECT_EQ(scopes[0].results[0].units[0].chosen.record, &records[1]);
}

TEST(Policy, AddsUpNoRecordsOfOtherEpiloguesOrClassesOfMachines) {
  Records records{right("a.cpu", 1), right("a.cpu", 2), right("a.cpu", 4)};
  records[1].key.problem.epilogue = Epilogue::bias_relu;
  records[2].device.machine_class = "amd-f26m2s1-00000000";
  const auto all = contests(records);
  const Policy policy = forward_policy({"a"});
  const auto scopes = apply({&policy, 1}, all, {});
  ASSERT_EQ(scopes.size(), records.size());
  for (size_t i = 0; i < scopes.size(); ++i) {
    const PolicyTotal forward = total(scopes[i].results.at(0), Part::forward);
    EXPECT_TRUE(forward.is_complete()) << i;
    EXPECT_EQ(forward.units, 1u) << i;
    EXPECT_DOUBLE_EQ(forward.seconds, records[i].time->full.statistics.median) << i;
  }
  const auto json = to_json(scopes);
  EXPECT_EQ(json[0]["epilogue"], "none");
  EXPECT_EQ(json[1]["epilogue"], "bias+relu");
  EXPECT_EQ(json[2]["machine_class"], "amd-f26m2s1-00000000");
  std::ostringstream out;
  print_policies(out, scopes, Look(false, 200));
  EXPECT_THAT(out.str(), HasSubstr("with bias+relu, 2 threads, cold cache, Test processor"));
  EXPECT_THAT(out.str(), HasSubstr("\n  2 threads, cold cache, Test processor (amd-f26m2s1-00000000)"));
}

TEST(PolicyTotal, AddsThePassesUpWithAndWithoutTheFirstLayersBackwardData) {
  Records records = step_of("a.cpu", 1);
  for (ResultRecord& r : records)
    if (r.key.layer == "conv2") r.key.count = 2;
  const auto all = contests(records);
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

TEST(PolicyTotal, IsNotCompleteWithARecordMissingAndNamesIt) {
  Records records = step_of("a.cpu", 1);
  records.erase(records.begin() + 1);  // conv1 backward_data
  const auto all = contests(records);
  const Policy policy = whole_policy("p", "a");
  const auto scopes = apply({&policy, 1}, all, {{"alexnet", "conv1"}});
  const PolicyResult& result = scopes.at(0).results.at(0);
  EXPECT_FALSE(total(result, Part::step).is_complete());
  EXPECT_THAT(total(result, Part::step).missing, ElementsAre("conv1 backward_data: no records of fp32 nchw"));
  EXPECT_TRUE(total(result, Part::step_without_first).is_complete());
}

TEST(PolicyTotal, OfAPolicyThatOnlyGoesForwardHasNoStep) {
  const Records records = step_of("a.cpu", 1);
  const auto all = contests(records);
  const Policy policy = forward_policy({"a"});
  const auto scopes = apply({&policy, 1}, all, {});
  EXPECT_TRUE(total(scopes[0].results[0], Part::forward).is_complete());
  EXPECT_FALSE(total(scopes[0].results[0], Part::step).is_complete());
  EXPECT_FALSE(total(scopes[0].results[0], Part::backward).is_complete());
}

TEST(PolicyReport, OptionsAloneAreTheDefaultOverThePolicy) {
  Records records = step_of("slow.cpu", 3);
  for (const ResultRecord& r : step_of("fast.cpu", 2)) records.push_back(r);
  const auto all = contests(records);
  std::vector<Policy> policies{whole_policy("default", "slow"), whole_policy("option", "fast"),
                               whole_policy("alone", "fast")};
  policies[0].framework = policies[1].framework = "torch";
  policies[0].is_default = true;
  const auto json = to_json(apply(policies, all, {}))[0]["policies"];
  EXPECT_DOUBLE_EQ(json[0]["speed_up_over_default"].get<double>(), 1);
  EXPECT_DOUBLE_EQ(json[1]["speed_up_over_default"].get<double>(), 1.5);
  EXPECT_TRUE(json[2]["speed_up_over_default"].is_null());
}

TEST(PolicyReport, IsLabelledAsAnEmulationAndNamesWhatIsMissing) {
  Records records;
  for (ResultRecord r : step_of("onednn.auto.cpu", 0.001)) {
    r.algorithm.provider = "onednn";
    r.algorithm.version = "2.6.3";
    records.push_back(std::move(r));
  }
  records.erase(records.begin() + 1);
  const auto all = contests(records);
  const std::vector<Policy> policies{whole_policy("mine", "onednn.auto"), whole_policy("caffe", "cudnn.get")};
  const auto scopes = apply(policies, all, {{"alexnet", "conv1"}});
  std::ostringstream out;
  print_policies(out, scopes, false);
  EXPECT_THAT(out.str(), HasSubstr("alexnet, batch 16, convolutions of one step, in ms\n"));
  EXPECT_THAT(out.str(), HasSubstr("policy emulation on onednn 2.6.3\n"));
  EXPECT_THAT(out.str(), HasSubstr("mine: no sum with conv1 backward_data: no records of fp32 nchw"));
  EXPECT_THAT(out.str(), HasSubstr("these results have no record for any layer (library: cudnn): caffe"));
  const auto json = to_json(scopes);
  EXPECT_EQ(json[0]["policies"][0]["label"], "policy emulation on onednn 2.6.3");
  EXPECT_TRUE(json[0]["policies"][0]["step"]["seconds"].is_null());
  EXPECT_NEAR(json[0]["policies"][0]["step_without_first_backward_data"]["seconds"].get<double>(), 0.005,
              1e-12);
  EXPECT_TRUE(json[0]["policies"][1]["label"].is_null());
}

TEST(PolicyReport, OfNoRecordsSaysSo) {
  std::ostringstream out;
  print_policies(out, {}, false);
  EXPECT_EQ(out.str(), "no records\n");
}

}  // namespace
}  // namespace convscope

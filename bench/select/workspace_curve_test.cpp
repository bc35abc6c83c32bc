// Winners under a cap, from records measured at it or at others; the Pareto front and the knee.
#include "bench/select/workspace_curve.hpp"

#include <gtest/gtest.h>

#include "bench/ranking/test_contests.hpp"

namespace convscope {
namespace {

std::vector<WorkspaceCurve> curves_of(const std::vector<Contest>& all) {
  return workspace_curves(all, kCurveCaps);
}

const ResultRecord* winner(const WorkspaceCurve& curve, Cap cap) {
  for (const CurvePoint& point : curve.points)
    if (point.cap == cap) return point.winner.record;
  ADD_FAILURE() << "no such cap";
  return nullptr;
}

TEST(WorkspaceCurve, OfNoRecordsThereIsNone) {
  EXPECT_TRUE(workspace_curves({}, kCurveCaps).empty());
}

TEST(WorkspaceCurve, FromUncappedRecordsTakesTheFastestThatFits) {
  const Records records{with_cap(right("direct.cpu", 4), {}, 0), with_cap(right("gemm.cpu", 3), {}, 8 * kMiB),
                        with_cap(right("fft.cpu", 1), {}, 100 * kMiB)};
  const auto all = contests(records);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, 0), &records[0]);
  EXPECT_EQ(winner(curve, 8 * kMiB), &records[1]);
  EXPECT_EQ(winner(curve, 64 * kMiB), &records[1]);
  EXPECT_EQ(winner(curve, 128 * kMiB), &records[2]);
  EXPECT_EQ(winner(curve, std::nullopt), &records[2]);
  EXPECT_EQ(curve.points.front().winner.evidence, Evidence::at_larger_cap);
  EXPECT_EQ(curve.points.back().winner.evidence, Evidence::at_cap);
}

TEST(WorkspaceCurve, HasNoWinnerWhereNothingFits) {
  const Records records{with_cap(right("fft.cpu", 1), {}, 100 * kMiB)};
  const auto all = contests(records);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, 64 * kMiB), nullptr);
  EXPECT_EQ(winner(curve, 128 * kMiB), &records[0]);
  ASSERT_TRUE(curve.knee);
  EXPECT_EQ(curve.points[*curve.knee].cap, Cap(128 * kMiB));
}

TEST(WorkspaceCurve, ARecordMeasuredAtTheCapDecidesAlone) {
  const Records records{with_cap(right("gemm.cpu", 1), {}, 4 * kMiB),
                        with_cap(right("gemm.cpu", 2), 8 * kMiB, 4 * kMiB)};
  const auto all = contests(records);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, 8 * kMiB), &records[1]);
  EXPECT_EQ(winner(curve, 32 * kMiB), &records[0]);
  EXPECT_EQ(winner(curve, 0), nullptr);
}

TEST(WorkspaceCurve, ARefusalAtTheCapDecidesToo) {
  Records records{with_cap(right("gemm.cpu", 1), {}, 4 * kMiB),
                  refused("gemm.cpu", Outcome::over_workspace, Reason::workspace_over_cap, "no"),
                  with_cap(right("direct.cpu", 9), 8 * kMiB, 0)};
  records[1].key.workspace_cap = 8 * kMiB;
  const auto all = contests(records);
  EXPECT_EQ(winner(curves_of(all).at(0), 8 * kMiB), &records[2]);
}

TEST(WorkspaceCurve, UsesRecordsOfASmallerCapWhereThereIsNoOther) {
  const Records records{with_cap(right("gemm.cpu", 1), 256 * kMiB, 4 * kMiB)};
  const auto all = contests(records);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, std::nullopt), &records[0]);
  EXPECT_EQ(curve.points.back().winner.evidence, Evidence::at_smaller_cap);
}

TEST(WorkspaceCurve, OfSeveralCapsTakesTheNearest) {
  const Records records{with_cap(right("gemm.cpu", 1), {}, kMiB),
                        with_cap(right("gemm.cpu", 3), 64 * kMiB, kMiB),
                        with_cap(right("gemm.cpu", 2), 128 * kMiB, kMiB)};
  const auto all = contests(records);
  EXPECT_EQ(winner(curves_of(all).at(0), 32 * kMiB), &records[1]);
}

TEST(WorkspaceCurve, WrongRecordsAreNotOnIt) {
  const Records records{with_cap(wrong_record("wrong.cpu", 1), {}, 0),
                        with_cap(right("right.cpu", 2), {}, 0)};
  const auto all = contests(records);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, 0), &records[1]);
  EXPECT_EQ(curve.front, std::vector<const ResultRecord*>{&records[1]});
}

TEST(WorkspaceCurve, TheFrontHasWhatNothingBeatsInBoth) {
  Records records{with_cap(right("a.cpu", 4), {}, 0), with_cap(right("b.cpu", 5), {}, 10),
                  with_cap(right("c.cpu", 4), {}, 20), with_cap(right("d.cpu", 2), {}, 30),
                  with_cap(right("hot.cpu", 1), {}, 40)};
  records[4].health.throttled = true;
  const auto all = contests(records);
  EXPECT_EQ(curves_of(all).at(0).front,
            (std::vector<const ResultRecord*>{&records[0], &records[3], &records[4]}));
}

TEST(WorkspaceCurve, TheKneeIsTheFirstCapThatIsNearlyTheBest) {
  const Records records{with_cap(right("a.cpu", 2), {}, 0), with_cap(right("b.cpu", 1.04), {}, 32 * kMiB),
                        with_cap(right("c.cpu", 1.0), {}, 200 * kMiB)};
  const auto all = contests(records);
  const auto curve = curves_of(all).at(0);
  ASSERT_TRUE(curve.knee);
  EXPECT_EQ(curve.points[*curve.knee].cap, Cap(32 * kMiB));
}

TEST(WorkspaceCurve, WithoutARightRecordHasNoKnee) {
  const Records records{wrong_record("wrong.cpu", 1)};
  const auto all = contests(records);
  EXPECT_FALSE(curves_of(all).at(0).knee);
}

}  // namespace
}  // namespace convscope

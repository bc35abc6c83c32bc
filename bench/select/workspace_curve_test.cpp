// Winners under a cap, from rows measured at it or at others; the Pareto front and the knee.
#include "bench/select/workspace_curve.hpp"

#include <gtest/gtest.h>

#include "bench/select/test_rows.hpp"

namespace convscope {
namespace {

std::vector<WorkspaceCurve> curves_of(const std::vector<Contest>& all) {
  return workspace_curves(all, kCurveCaps);
}

const ResultRecord* winner(const WorkspaceCurve& curve, Cap cap) {
  for (const CurvePoint& point : curve.points)
    if (point.cap == cap) return point.winner.row;
  ADD_FAILURE() << "no such cap";
  return nullptr;
}

TEST(WorkspaceCurve, OfNoRowsThereIsNone) {
  EXPECT_TRUE(workspace_curves({}, kCurveCaps).empty());
}

TEST(WorkspaceCurve, FromUncappedRowsTakesTheFastestThatFits) {
  const Rows rows{with_cap(row("direct.cpu", 4), {}, 0), with_cap(row("gemm.cpu", 3), {}, 8 * kMiB),
                  with_cap(row("fft.cpu", 1), {}, 100 * kMiB)};
  const auto all = contests(rows);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, 0), &rows[0]);
  EXPECT_EQ(winner(curve, 8 * kMiB), &rows[1]);
  EXPECT_EQ(winner(curve, 64 * kMiB), &rows[1]);
  EXPECT_EQ(winner(curve, 128 * kMiB), &rows[2]);
  EXPECT_EQ(winner(curve, std::nullopt), &rows[2]);
  EXPECT_EQ(curve.points.front().winner.evidence, Evidence::at_larger_cap);
  EXPECT_EQ(curve.points.back().winner.evidence, Evidence::at_cap);
}

TEST(WorkspaceCurve, HasNoWinnerWhereNothingFits) {
  const Rows rows{with_cap(row("fft.cpu", 1), {}, 100 * kMiB)};
  const auto all = contests(rows);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, 64 * kMiB), nullptr);
  EXPECT_EQ(winner(curve, 128 * kMiB), &rows[0]);
  ASSERT_TRUE(curve.knee);
  EXPECT_EQ(curve.points[*curve.knee].cap, Cap(128 * kMiB));
}

TEST(WorkspaceCurve, ARowMeasuredAtTheCapDecidesAlone) {
  const Rows rows{with_cap(row("gemm.cpu", 1), {}, 4 * kMiB),
                  with_cap(row("gemm.cpu", 2), 8 * kMiB, 4 * kMiB)};
  const auto all = contests(rows);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, 8 * kMiB), &rows[1]);
  EXPECT_EQ(winner(curve, 32 * kMiB), &rows[0]);
  EXPECT_EQ(winner(curve, 0), nullptr);
}

TEST(WorkspaceCurve, ARefusalAtTheCapDecidesToo) {
  Rows rows{with_cap(row("gemm.cpu", 1), {}, 4 * kMiB),
            refused("gemm.cpu", Outcome::over_workspace, Reason::workspace_over_cap, "no"),
            with_cap(row("direct.cpu", 9), 8 * kMiB, 0)};
  rows[1].key.workspace_cap = 8 * kMiB;
  const auto all = contests(rows);
  EXPECT_EQ(winner(curves_of(all).at(0), 8 * kMiB), &rows[2]);
}

TEST(WorkspaceCurve, UsesRowsOfASmallerCapWhereThereIsNoOther) {
  const Rows rows{with_cap(row("gemm.cpu", 1), 256 * kMiB, 4 * kMiB)};
  const auto all = contests(rows);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, std::nullopt), &rows[0]);
  EXPECT_EQ(curve.points.back().winner.evidence, Evidence::at_smaller_cap);
}

TEST(WorkspaceCurve, OfSeveralCapsTakesTheNearest) {
  const Rows rows{with_cap(row("gemm.cpu", 1), {}, kMiB), with_cap(row("gemm.cpu", 3), 64 * kMiB, kMiB),
                  with_cap(row("gemm.cpu", 2), 128 * kMiB, kMiB)};
  const auto all = contests(rows);
  EXPECT_EQ(winner(curves_of(all).at(0), 32 * kMiB), &rows[1]);
}

TEST(WorkspaceCurve, WrongRowsAreNotOnIt) {
  const Rows rows{with_cap(wrong_row("wrong.cpu", 1), {}, 0), with_cap(row("right.cpu", 2), {}, 0)};
  const auto all = contests(rows);
  const auto curve = curves_of(all).at(0);
  EXPECT_EQ(winner(curve, 0), &rows[1]);
  EXPECT_EQ(curve.front, std::vector<const ResultRecord*>{&rows[1]});
}

TEST(WorkspaceCurve, TheFrontHasWhatNothingBeatsInBoth) {
  Rows rows{with_cap(row("a.cpu", 4), {}, 0), with_cap(row("b.cpu", 5), {}, 10),
            with_cap(row("c.cpu", 4), {}, 20), with_cap(row("d.cpu", 2), {}, 30),
            with_cap(row("hot.cpu", 1), {}, 40)};
  rows[4].health.throttled = true;
  const auto all = contests(rows);
  EXPECT_EQ(curves_of(all).at(0).front, (std::vector<const ResultRecord*>{&rows[0], &rows[3]}));
}

TEST(WorkspaceCurve, TheKneeIsTheFirstCapThatIsNearlyTheBest) {
  const Rows rows{with_cap(row("a.cpu", 2), {}, 0), with_cap(row("b.cpu", 1.04), {}, 32 * kMiB),
                  with_cap(row("c.cpu", 1.0), {}, 200 * kMiB)};
  const auto all = contests(rows);
  const auto curve = curves_of(all).at(0);
  ASSERT_TRUE(curve.knee);
  EXPECT_EQ(curve.points[*curve.knee].cap, Cap(32 * kMiB));
}

TEST(WorkspaceCurve, WithoutARightRowHasNoKnee) {
  const Rows rows{wrong_row("wrong.cpu", 1)};
  const auto all = contests(rows);
  EXPECT_FALSE(curves_of(all).at(0).knee);
}

}  // namespace
}  // namespace convscope

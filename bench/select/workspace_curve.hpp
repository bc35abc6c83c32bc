// How much workspace is enough: for each layer and pass the winner under each of several workspace caps, the
// records that no other beats in both time and workspace, and the knee. Uses records measured at a cap where
// there are such, and records of other caps as a bound where there are not. Start at workspace_curves().
#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bench/ranking/contest.hpp"

namespace convscope {

// Bytes; null is no cap.
using Cap = std::optional<int64_t>;
inline constexpr std::array<Cap, 7> kCurveCaps{Cap(0),
                                               Cap(int64_t{8} << 20),
                                               Cap(int64_t{32} << 20),
                                               Cap(int64_t{64} << 20),
                                               Cap(int64_t{128} << 20),
                                               Cap(int64_t{256} << 20),
                                               Cap()};

// How the winner's record fits the cap: measured under it; measured under a larger one with a workspace that
// fits, so that an algorithm which adapts to its cap may be missing or do better; or measured under a smaller
// one only, so that more workspace might have helped it.
enum class Evidence { at_cap, at_larger_cap, at_smaller_cap };
std::string_view name(Evidence);  // "at this cap", "at a larger cap", "at a smaller cap"

struct CapRecord {
  const ResultRecord* record = nullptr;
  Evidence evidence = Evidence::at_cap;
};

struct CurvePoint {
  Cap cap;
  CapRecord winner;  // its record is null where no right record fits
};

struct WorkspaceCurve {
  const Contest* contest = nullptr;  // one of those that it is made of, for layer, problem and circumstances
  std::vector<CurvePoint> points;    // in the order of the caps
  std::vector<const ResultRecord*> front;  // pareto_front()
  std::optional<size_t> knee;              // the first point within kKneeSlack of the fastest one
};
inline constexpr double kKneeSlack = 0.05;

// The ids that have a rank in one of the contests, and which of `ids` wins under the cap; of contests that
// differ in their cap only. A record of an algorithm at this very cap decides alone for it, refused or not.
std::set<std::string> ranked_algorithms(std::span<const Contest* const> group);
CapRecord winner_at_cap(std::span<const Contest* const> same_but_cap, const std::set<std::string>& ids,
                        Cap cap);

// One curve a problem and circumstances, the cap aside; in the order of the contests. The caps must ascend.
std::vector<WorkspaceCurve> workspace_curves(std::span<const Contest> contests, std::span<const Cap> caps);

}  // namespace convscope

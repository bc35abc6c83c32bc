// What a choice cost. judge() compares one algorithm's record in a contest, as a library's own choice has it,
// with the oracle, the winner of the contest; score() adds the judgements of many contests up. An oracle is
// the smallest of many noisy medians, so regret is a little too large; is_tie says where it means nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ranking/contest.hpp"

namespace convscope {

// How far a choice agrees with itself over its repeats.
struct Stability {
  size_t repeats = 0;
  size_t implementations = 0;  // different ones that were chosen
  double agreement = 0;        // the share of the repeats that took the most frequent one
  double spread = 0;           // slowest median over fastest, less 1
};
Stability stability(const Entry& entry);

struct Judgement {
  const Contest* contest = nullptr;
  const Entry* choice = nullptr;  // null: it has no right, timed record, and `missing` says why
  std::string missing;
  double regret = 0;             // t(choice) / t(oracle) - 1
  double regret_in_library = 0;  // the same against the best record of the choice's own provider
  int rank = 0;                  // among implementations, see below; 1 is the best
  bool is_tie = false;           // the 95% intervals of choice and oracle overlap
};

// The rank counts implementations, not records: those of one library with the same implementation (the
// library's choice, and the same algorithm forced) are one, at the place of the faster.
Judgement judge(const Contest& contest, std::string_view algorithm);

// Sums are over layers by count; rates are over judged contests, each counting once.
struct Score {
  size_t judged = 0;
  size_t top1 = 0, top3 = 0;
  double choice_seconds = 0, oracle_seconds = 0, library_seconds = 0;
  bool suspect = false;            // one of its records was throttled or disturbed
  std::vector<Judgement> missing;  // contests that are in no sum

  // Ratios of sums; only where `judged` is not 0.
  double regret() const { return choice_seconds / oracle_seconds - 1; }
  double regret_in_library() const { return choice_seconds / library_seconds - 1; }
  double top1_rate() const { return static_cast<double>(top1) / static_cast<double>(judged); }
  double top3_rate() const { return static_cast<double>(top3) / static_cast<double>(judged); }
};
Score score(std::span<const Judgement> judgements);

// The ids, in order of appearance, whose records are a library's own choice: those named in `choosers` by id
// or stem.
std::vector<std::string> choosers_in(std::span<const Contest> contests,
                                     std::span<const std::string> choosers);
// cudnn.get, cudnn.find, cudnn.heur_a, ...; onednn.auto.
std::vector<std::string> default_choosers();

}  // namespace convscope

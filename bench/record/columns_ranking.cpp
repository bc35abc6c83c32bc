// Columns of who wins. bench/ranking decides it from all records together; null in a record that was not
// ranked.
#include <type_traits>

#include "bench/record/column_tables.hpp"

namespace convscope {
namespace {

template <typename T>
Cell of_ranking(const R& r, T Ranking::*value) {
  if (!r.ranking) return {};
  if constexpr (std::is_same_v<T, bool>)
    return Cell{(*r.ranking).*value};
  else
    return known((*r.ranking).*value);
}

}  // namespace

std::span<const Column> ranking_columns() {
  static constexpr Column table[] = {
      {"contest", "",
       "Which records were ranked together: one problem and the same circumstances; a number from 1.",
       [](const R& r) { return r.ranking ? Cell{r.ranking->contest} : Cell{}; }},
      {"rank", "", "Place by time among those of the contest that can win: 1 is the winner; null for others.",
       [](const R& r) { return of_ranking(r, &Ranking::rank); }},
      {"in_doubt", "",
       "Whether its 95% interval overlaps the winner's, so that it is not shown to be slower; null without a "
       "rank or an interval.",
       [](const R& r) { return of_ranking(r, &Ranking::in_doubt); }},
      {"standing", "",
       "good; throttled ranks behind all others; virtual_time means nothing; and without a rank repeat "
       "(another record of the candidate stands for it), wrong, wrong_repeat (the candidate is wrong in "
       "another record), untimed, refused or failed.",
       [](const R& r) { return r.ranking ? text(name(r.ranking->standing)) : Cell{}; }},
      {"is_baseline", "",
       "Whether others are compared with it: the best-ranked of a library's own convolutions.",
       [](const R& r) { return of_ranking(r, &Ranking::is_baseline); }},
      {"on_front", "",
       "Whether no ranked record of the same problem beats it in both time and workspace, whatever the cap; "
       "throttled ones are left out.",
       [](const R& r) { return of_ranking(r, &Ranking::on_front); }},
      {"over_winner", "", "Its median over the winner's; null without a rank.",
       [](const R& r) { return of_ranking(r, &Ranking::over_winner); }},
      {"speed_up", "", "The baseline's median over its own; null without a rank or a baseline.",
       [](const R& r) { return of_ranking(r, &Ranking::speed_up); }},
  };
  return table;
}

}  // namespace convscope

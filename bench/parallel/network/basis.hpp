// What the rows of allreduce and step have in common: what their times rest on, and how they ended. Rows of
// different bases are never ranked together.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bench/core/names.hpp"
#include "bench/parallel/network/cost.hpp"
#include "bench/parallel/reductions/reductions.hpp"

namespace convscope {

// measured: everything ran. replayed: compute was slept, bytes were real. modelled: communication by formula
// or simulated.
enum class Basis { measured, replayed, modelled };
inline constexpr auto kBases = enumerators<Basis::modelled>();
std::string_view name(Basis);  // as spelled above

// good: it has a time. refused: it cannot be run, and the reason says why. wrong: it was run, and its sums
// are wrong or differ between ranks; it has no time. failed: it was begun, and a rank was lost or a library
// failed, as the reason says.
enum class RowOutcome { good, refused, wrong, failed };
std::string_view name(RowOutcome);  // as spelled above

// Fabrics of libraries. A library's own all-reduce has its fabric's name.
inline constexpr const char* kMpi = "mpi";
inline constexpr const char* kNccl = "nccl";

// Gives a row a reason, and no time.
template <typename Row>
void refuse(Row& row, const Refusal& why) {
  row.outcome = RowOutcome::refused;
  row.reason = why.reason;
  row.note = why.note;
}

// Takes a row's time for wrong.
template <typename Row>
void call_wrong(Row& row, const Refusal& why) {
  row.outcome = RowOutcome::wrong;
  row.reason = why.reason;
  row.note = why.note;
}

// All that are not refused already.
template <typename Rows>
void refuse_all(Rows& rows, const Refusal& why) {
  for (auto& row : rows)
    if (row.outcome != RowOutcome::refused) refuse(row, why);
}

// Which ranks and links a row is for. Links only of modelled rows, unless they are a platform file's.
struct Fleet {
  Ranks ranks;
  Basis basis = Basis::modelled;
  std::string fabric;          // "mpi", "threads", "nccl", "closed form", "simgrid"
  std::string fabric_version;  // of a library; else empty
  std::optional<Links> links;
  std::string platform = {}, platform_hash = {};  // the file of a simulated network; else empty
};

}  // namespace convscope

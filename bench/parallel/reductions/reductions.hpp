// All-reduce: n ranks hold as many values each, and in the end all hold the sums. Every algorithm leaves the
// same bits on all ranks, because each sum is made on one rank only and copied from there. Start at
// all_reduce(); what each costs is cost.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/core/names.hpp"
#include "bench/parallel/fabric/fabric.hpp"

namespace convscope {

// tree: sums go up a binomial tree to rank 0 and come down it, all values in each message. ring:
// reduce-scatter and all-gather around a ring (Patarasuk, Yuan 2009). halving: recursive halving, then
// doubling (Rabenseifner 2004). hierarchical: a ring within each node around rings of one rank a node.
// striped: each rank sums one stripe, which all others send it directly.
enum class Reduction { tree, ring, halving, hierarchical, striped };
inline constexpr auto kReductions = enumerators<Reduction::striped>();
std::string_view name(Reduction);  // as spelled above

// The ranks of a job: nodes of `per_node` consecutive ranks; the last may have fewer.
struct Ranks {
  int count = 1;
  int per_node = 1;
  int nodes() const { return (count + per_node - 1) / per_node; }
};

// Why something cannot be run: a code, and the sentence behind it.
struct Refusal {
  std::string reason;  // "not_power_of_two", "uneven_nodes"
  std::string note;
};
std::optional<Refusal> refusal(Reduction reduction, const Ranks& ranks);

// Values of scratch memory that all_reduce() needs on each rank.
size_t scratch_values(Reduction reduction, size_t values, const Ranks& ranks);

// Replaces `values` on each rank by the sums over all ranks. All ranks call it with as many values, the same
// algorithm and the same ranks, which the algorithm must not refuse (std::invalid_argument).
// The error of a sum is at most (n-1) 2^-24 times the sum of the magnitudes, in any order (Jeannerod, Rump
// 2013); integers whose partial sums are below 2^24 are exact.
void all_reduce(Reduction reduction, Fabric& fabric, std::span<float> values, std::span<float> scratch,
                const Ranks& ranks);

}  // namespace convscope

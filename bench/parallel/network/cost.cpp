#include "bench/parallel/network/cost.hpp"

#include <bit>

namespace convscope {
namespace {

// Of a ring of n ranks.
Cost ring_cost(double bytes, int n, const Link& link) {
  const double sent = 2.0 * (n - 1) / n * bytes;
  return {sent / link.bytes_per_second + 2.0 * (n - 1) * link.latency, sent};
}

int rounds_up_log2(int n) {
  return std::bit_width(static_cast<unsigned>(n - 1));
}

}  // namespace

Cost all_reduce_cost(Reduction reduction, double bytes, const Ranks& ranks, const Links& links) {
  const int n = ranks.count;
  if (n == 1) return {};
  const Link& link = n > ranks.per_node ? links.between : links.within;
  const double share = 2.0 * (n - 1) / n * bytes;
  switch (reduction) {
    case Reduction::tree: {
      const int rounds = rounds_up_log2(n);
      return {2 * rounds * (bytes / link.bytes_per_second + link.latency), rounds * bytes};
    }
    case Reduction::ring:
      return ring_cost(bytes, n, link);
    case Reduction::halving:
      return {share / link.bytes_per_second + 2 * rounds_up_log2(n) * link.latency, share};
    case Reduction::hierarchical: {
      const Cost within = ring_cost(bytes, ranks.per_node, links.within);
      const Cost between = ring_cost(bytes / ranks.per_node, ranks.nodes(), links.between);
      return {within.seconds + between.seconds, within.busiest_bytes + between.busiest_bytes};
    }
    case Reduction::striped:
      return {share / link.bytes_per_second + 2 * link.latency, share};
  }
  return {};
}

double busiest_bytes(Reduction reduction, double bytes, const Ranks& ranks) {
  const Link any{1, 0};
  return all_reduce_cost(reduction, bytes, ranks, {any, any}).busiest_bytes;
}

double algorithm_bandwidth(double bytes, double seconds) {
  return bytes / seconds;
}

double bus_bandwidth(double bytes, double seconds, int ranks) {
  return algorithm_bandwidth(bytes, seconds) * 2.0 * (ranks - 1) / ranks;
}

}  // namespace convscope

#include "bench/parallel/network/cost.hpp"

#include <bit>

namespace convscope {
namespace {

// Of n ranks, each of which sends 2(n-1)/n of the bytes, in so many messages one after the other.
Cost cost_of_shares(double bytes, int n, int messages, const Link& link) {
  const double sent = 2.0 * (n - 1) / n * bytes;
  return {sent / link.bytes_per_second + messages * link.latency, sent};
}

Cost ring_cost(double bytes, int n, const Link& link) {
  return cost_of_shares(bytes, n, 2 * (n - 1), link);
}

int rounds_up_log2(int n) {
  return std::bit_width(static_cast<unsigned>(n - 1));
}

}  // namespace

Cost all_reduce_cost(Reduction reduction, double bytes, const Ranks& ranks, const Links& links) {
  const int n = ranks.count;
  if (n == 1) return {};
  const Link& link = n > ranks.per_node ? links.between : links.within;
  switch (reduction) {
    case Reduction::tree: {
      const int rounds = rounds_up_log2(n);
      return {2 * rounds * (bytes / link.bytes_per_second + link.latency), rounds * bytes};
    }
    case Reduction::ring:
      return ring_cost(bytes, n, link);
    case Reduction::halving:
      return cost_of_shares(bytes, n, 2 * rounds_up_log2(n), link);
    case Reduction::hierarchical: {
      const Cost within = ring_cost(bytes, ranks.per_node, links.within);
      const Cost between = ring_cost(bytes / ranks.per_node, ranks.nodes(), links.between);
      return {within.seconds + between.seconds, within.busiest_bytes + between.busiest_bytes};
    }
    case Reduction::striped:
      return cost_of_shares(bytes, n, 2, link);
  }
  return {};
}

double busiest_bytes(Reduction reduction, double bytes, const Ranks& ranks) {
  const Link any{1, 0};
  return all_reduce_cost(reduction, bytes, ranks, {any, any}).busiest_bytes;
}

double bus_bandwidth(double bytes, double seconds, int ranks) {
  return bytes / seconds * 2.0 * (ranks - 1) / ranks;
}

}  // namespace convscope

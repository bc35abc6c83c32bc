// What a reduction costs by closed form: every rank has its own full-duplex link, messages do not meet, and
// adding takes no time. Holds for ranks behind one switch and for GPUs that are all connected; not where
// links are shared. Rows that rest on it are of the basis `modelled`.
#pragma once

#include "bench/parallel/reductions/reductions.hpp"

namespace convscope {

// A message of S bytes takes S / bytes_per_second + latency seconds.
struct Link {
  double bytes_per_second = 0;  // each way
  double latency = 0;           // seconds a message
};

// The links of ranks on one node, and of ranks on different ones. A reduction that knows no nodes is taken to
// send all its messages between nodes where there are several.
struct Links {
  Link within;
  Link between;
};

struct Cost {
  double seconds = 0;
  double busiest_bytes = 0;  // that the busiest rank sends
};

// Of an all-reduce of so many bytes a rank, with n ranks, S bytes, B bytes per second and latency a:
//   tree          2 ceil(log2 n) (S/B + a)                    sends ceil(log2 n) S
//   ring          2(n-1)/n S/B + 2(n-1) a                     2(n-1)/n S
//   halving       2(n-1)/n S/B + 2 log2(n) a                  2(n-1)/n S
//   hierarchical  a ring over the p ranks of a node, and one over m nodes with S/p bytes
//   striped       2(n-1)/n S/B + 2 a                          2(n-1)/n S
// (Thakur, Rabenseifner, Gropp 2005, without the time of adding.) A share is S/n, although whole values are
// sent: of fewer values than ranks the latencies are right, and the few bytes more are left out. The
// algorithm must not refuse the ranks.
Cost all_reduce_cost(Reduction reduction, double bytes, const Ranks& ranks, const Links& links);

// Cost::busiest_bytes, which do not depend on the links.
double busiest_bytes(Reduction reduction, double bytes, const Ranks& ranks);

// nccl-tests' busbw: bytes over time (algbw) times 2(n-1)/n, which is comparable with a link's bandwidth for
// every n.
double bus_bandwidth(double bytes, double seconds, int ranks);

}  // namespace convscope

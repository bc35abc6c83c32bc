// What the reductions of modelled rows cost, and on what: by closed form of stated links here, or on a
// simulated network (simulated_network.hpp).
#pragma once

#include <optional>

#include "bench/parallel/network/basis.hpp"
#include "bench/parallel/network/cost.hpp"

namespace convscope {

class NetworkModel {
 public:
  virtual ~NetworkModel() = default;

  // So many ranks on it, as rows name them.
  virtual Fleet fleet(const Ranks& ranks) = 0;
  // Why it cannot say what such a reduction over so many ranks costs; nothing where it can.
  virtual std::optional<Refusal> refusal(Reduction, const Ranks&) { return std::nullopt; }
  // Of an all-reduce of so many bytes a rank. Neither the network nor the reduction may refuse the ranks.
  virtual Cost all_reduce(Reduction reduction, double bytes, const Ranks& ranks) = 0;
};

// all_reduce_cost().
class ClosedForm final : public NetworkModel {
 public:
  explicit ClosedForm(const Links& links) : links_(links) {}

  Fleet fleet(const Ranks& ranks) override { return {ranks, Basis::modelled, "closed form", "", links_}; }
  Cost all_reduce(Reduction reduction, double bytes, const Ranks& ranks) override {
    return all_reduce_cost(reduction, bytes, ranks, links_);
  }

 private:
  Links links_;
};

}  // namespace convscope

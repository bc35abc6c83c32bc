// Networks to simulate: built from a stated link, or read from a platform file of SimGrid's.
#pragma once

#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "bench/parallel/network/cost.hpp"

namespace convscope {

// Both return the hosts in the order of ranks; call one of them once, after the engine was made.

// A host a rank. Each has a full-duplex link of its own to the other ranks of its node and another to all
// other nodes; what connects these links is never full. A message passes two of them, of half the latency.
std::vector<simgrid::s4u::Host*> build_platform(const Ranks& ranks, const Links& links);

// All hosts of the file by name, numbers in names by value, so that gpu-2 comes before gpu-10. Throws what
// SimGrid throws, and std::invalid_argument where a link has no bandwidth.
std::vector<simgrid::s4u::Host*> load_platform(simgrid::s4u::Engine& engine, const std::string& file);

}  // namespace convscope

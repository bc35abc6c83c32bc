// An order of basic blocks in which diverged lanes meet again.
#pragma once

#include <vector>

namespace convscope::ptx {

// A weak topological order (Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993) of
// what node 0 reaches: a node comes after all that lead to it, but for the ways back of loops, and a loop is
// in one piece. Lanes that run whoever is first in this order meet again where their paths join. `next` lists
// each node's successors.
std::vector<int> weak_topological_order(const std::vector<std::vector<int>>& next);

}  // namespace convscope::ptx

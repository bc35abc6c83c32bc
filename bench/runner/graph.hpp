// The graph of a config's network: its layers in the order in which a step runs them, each with the layers
// whose outputs it reads and those whose outputs are added. Start at graph_of().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/runner/config.hpp"

namespace convscope {

struct GraphNode {
  std::string name;  // a graph's entry; else the layer, with "#2" behind it for the second of a count
  size_t layer = 0;  // of the suite
  // The nodes whose outputs, one behind the other along channels, it reads; none where it reads the network's
  // input. The pools in `before` make the layer's input of them.
  std::vector<size_t> reads;
  std::vector<std::vector<LayerOperation>> through;  // of each of them, the pools that it is read through
  std::vector<LayerOperation> before;
  std::vector<LayerOperation> after;
  std::vector<size_t> added;  // a node for each addition in `after`, in their order
};

// The config's graph, or without one its layers, each as often as its count says; then a pool follows the
// last copy only, as the copies have one shape. A node that does not say what it reads reads the one before,
// or, where that gives another shape or the layer is marked first, new data of its own. Nodes read and add
// only what stands before them, so that the order is one in which they can be run. Throws UsageError that
// names the file, the place, what is wrong with it and what to do: a layer that is unknown, comes later or
// has another shape, outputs of different images that are read together, one that is read twice, a pool that
// does not fit, a layer that the graph has another number of times than its count, and what a config with a
// graph may not say twice. Without a graph, of a layer with a count of more than `most_copies`, at least 2,
// only so many are made: all others are like them.
std::vector<GraphNode> graph_of(const Suite& suite, int64_t most_copies = INT64_MAX);

}  // namespace convscope

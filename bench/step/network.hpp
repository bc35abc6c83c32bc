// StepNetwork: a config's layers as one program, in the order of its graph (bench/runner/graph.hpp). A layer
// that reads no other's output begins a chain, which reads random activations of its own; an output that no
// layer reads or adds ends in a loss of its own. So every config can be stepped through; chains() says in how
// many pieces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/operation/operations.hpp"
#include "bench/runner/config.hpp"

namespace convscope {

struct NetworkLayer {
  std::string name;     // of the graph's node
  size_t layer;         // of the suite
  ConvProblem problem;  // forward; with an epilogue where bias and ReLU behind it are fused into it
  // The layers whose outputs, one behind the other along channels, it reads, and pools of them; none begins a
  // chain.
  std::vector<size_t> reads;
  std::vector<std::vector<LayerOperation>> through;  // of each of them, the pools that it is read through
  std::vector<LayerOperation> before;
  std::vector<LayerOperation> after;
  std::vector<size_t> added;  // a layer for each addition in `after`, in their order
  bool ends_chain = false;    // no layer reads or adds its output
  bool needs_input_gradient = true;
  bool begins_chain() const { return reads.empty(); }
  // Channels and image after the operations.
  Activations output() const;
};

struct StepNetwork {
  std::string name;
  std::vector<NetworkLayer> layers;
  int64_t chains() const;
};

// The config's graph at this batch (a layer's own goes before it), FP32 in nchw. With `fuse`, bias and ReLU
// that come right after a convolution are its epilogue. Throws UsageError, as graph_of() does.
StepNetwork network_of(const Suite& suite, int64_t batch, bool fuse = false, int64_t most_copies = INT64_MAX);

}  // namespace convscope

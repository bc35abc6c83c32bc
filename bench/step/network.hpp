// StepNetwork: a config's layers as one program. A layer reads what the layer before it gives, after its
// operations; where the shapes do not meet, as at a branch, a new chain begins that reads random activations
// of its own and ends in a loss of its own. So every config can be stepped through; chains() says in how many
// pieces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/operation/operations.hpp"
#include "bench/runner/config.hpp"

namespace convscope {

struct NetworkLayer {
  std::string name;     // with "#2" behind it for the second copy of a layer with a count
  ConvProblem problem;  // forward; with an epilogue where bias and ReLU behind it are fused into it
  std::vector<LayerOperation> after;
  bool begins_chain = false, ends_chain = false;
  bool needs_input_gradient = true;
  // Channels and image after the operations.
  Activations output() const;
};

struct StepNetwork {
  std::string name;
  std::vector<NetworkLayer> layers;
  int64_t chains() const;
};

// The config's layers at this batch (a layer's own goes before it), FP32 in nchw, each as often as its count
// says; a pool follows the last copy only, as the copies have one shape. With `fuse`, bias and ReLU that come
// right after a convolution are its epilogue.
StepNetwork network_of(const Suite& suite, int64_t batch, bool fuse = false);

}  // namespace convscope

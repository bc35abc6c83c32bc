// What stands between the convolutions of a config, as its step's program has it (step_program.hpp): as
// `convscope operations` measures it, and as a modelled step counts it. Whatever the second asks for the
// first has, but of layers with a batch of their own. Not in it: the loss.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/operation/measure_operations.hpp"
#include "bench/parallel/schedule/kept_records.hpp"
#include "bench/runner/config.hpp"

namespace convscope {

// By the suite's layers, each problem once, forward and backward, and each layer's update and code: what is
// one pass with the ReLU behind it also in two. What a layer has several times, of copies that stand in
// different places of the graph, it has once; a pool of what several layers read, the first of them. A
// layer's own batch goes before `batch`.
std::vector<LayerOperations> operations_of_network(const Suite& suite, int64_t batch);

// The suite's layers, of each copy what a step runs besides its convolution.
std::vector<StepLayer> step_layers_of(const Suite& suite);

}  // namespace convscope

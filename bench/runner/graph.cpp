#include "bench/runner/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/core/error.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

// What stands between two layers, of one image; and the layer's own batch, which both must have.
struct Output {
  int64_t channels = 0;
  Extent2 image;
  std::optional<int64_t> batch;
  bool operator==(const Output&) const = default;
};

std::string to_text(const Output& output) {
  std::string text = fmt::format("{} channels of {}", output.channels, to_text(output.image));
  return output.batch ? text + fmt::format(" at its own batch of {}", *output.batch) : text;
}

bool is_addition(const LayerOperation& operation) {
  return operation.kind == OperationKind::add;
}

class Graph {
 public:
  Graph(const Suite& suite, int64_t most_copies) : suite_(suite), most_copies_(most_copies) {}

  std::vector<GraphNode> nodes() {
    check_layers();
    if (suite_.graph.empty())
      add_layers();
    else
      add_entries();
    return std::move(nodes_);
  }

 private:
  [[noreturn]] void refuse(const std::string& place, const std::string& what) const {
    throw UsageError(fmt::format("{}: at {}: {}", suite_.file, place, what));
  }

  // What only the entry of a graph can say.
  void check_layers() const {
    for (size_t i = 0; i < suite_.layers.size(); ++i) {
      const Layer& layer = suite_.layers[i];
      const auto addition = std::ranges::find_if(layer.after, is_addition);
      if (layer.reads.empty() && addition == layer.after.end()) continue;
      if (layer.count == 1 && suite_.graph.empty()) continue;
      const std::string what = layer.reads.empty() ? fmt::format("has \"{}\"", to_text(*addition))
                                                   : fmt::format("reads \"{}\"", layer.reads);
      refuse(fmt::format("/layers/{}", i),
             fmt::format("layer \"{}\" {}; allowed is neither \"reads\" nor an addition {}", layer.name, what,
                         suite_.graph.empty()
                             ? "in a layer with a count, whose copies differ in it: write a \"graph\", which "
                               "has an entry for each"
                             : "in a config with a \"graph\": write it in the graph's entry"));
    }
  }

  void add_layers() {
    for (size_t i = 0; i < suite_.layers.size(); ++i) {
      const Layer& layer = suite_.layers[i];
      const int64_t copies = std::min(layer.count, most_copies_);
      for (int64_t copy = 1; copy <= copies; ++copy) {
        std::vector<LayerOperation> after = layer.after;
        if (copy < copies)
          std::erase_if(after, [](const LayerOperation& one) { return one.kind == OperationKind::pool; });
        const std::string copy_name = layer.count == 1 ? layer.name : fmt::format("{}#{}", layer.name, copy);
        add(fmt::format("/layers/{}", i), copy_name, i, layer.reads, std::move(after));
      }
      node_called_[layer.name] = nodes_.size() - 1;  // to those behind it the last copy is the layer
    }
  }

  void add_entries() {
    std::vector<int64_t> times(suite_.layers.size());
    for (size_t i = 0; i < suite_.graph.size(); ++i) {
      const GraphEntry& entry = suite_.graph[i];
      ++times[entry.layer];
      add(fmt::format("/graph/{}", i), entry.name, entry.layer, entry.reads, entry.after);
      node_called_[entry.name] = i;
    }
    for (size_t i = 0; i < times.size(); ++i)
      if (const Layer& layer = suite_.layers[i]; times[i] != layer.count)
        refuse("/graph",
               fmt::format("it has layer \"{}\" {} time{}, and the layer's count is {}; correct one "
                           "of them",
                           layer.name, times[i], times[i] == 1 ? "" : "s", layer.count));
  }

  void add(const std::string& place, std::string node_name, size_t layer, const std::string& reads,
           std::vector<LayerOperation> after) {
    const Layer& of = suite_.layers[layer];
    const Output wanted{of.shape.in_channels, of.shape.input, of.batch};
    GraphNode node{std::move(node_name), layer, std::move(after), {}, {}};
    if (!reads.empty() && of.first)
      refuse(place, fmt::format("\"{}\" reads \"{}\" and its layer is first, so that it reads the network's "
                                "input; leave one of them out",
                                node.name, reads));
    if (!reads.empty())
      node.input = earlier(place, node.name, "reads", reads, wanted, "takes");
    else if (!nodes_.empty() && !of.first && outputs_.back() == wanted)
      node.input = nodes_.size() - 1;
    Output output{of.shape.out_channels, validate(of.shape) ? Extent2{} : of.shape.output(), of.batch};
    for (const LayerOperation& operation : node.after) {
      if (is_addition(operation))
        node.added.push_back(earlier(place, node.name, "adds", operation.other, output, "has there"));
      output.image = operation.output(output.image);
    }
    nodes_.push_back(std::move(node));
    outputs_.push_back(output);
  }

  // The node of that name, whose output must be `wanted`.
  size_t earlier(const std::string& place, const std::string& node, const char* does,
                 const std::string& other, const Output& wanted, const char* wants) const {
    const auto found = node_called_.find(other);
    if (found == node_called_.end()) {
      std::vector<std::string> known;
      for (const auto& [name, index] : node_called_) known.push_back(name);
      refuse(place,
             fmt::format("\"{}\" {} \"{}\", which {}; allowed is an earlier one{}", node, does, other,
                         is_of_network(other) ? "does not stand before it" : "is no layer of the network",
                         did_you_mean(other, known)));
    }
    const size_t index = found->second;
    if (outputs_[index] != wanted)
      refuse(place,
             fmt::format("\"{}\" {} \"{}\", which gives {}, and \"{}\" {} {}; name a layer of that shape, "
                         "or correct what comes after one of them",
                         node, does, other, to_text(outputs_[index]), node, wants, to_text(wanted)));
    return index;
  }

  bool is_of_network(const std::string& name) const {
    return suite_.graph.empty()
               ? std::ranges::find(suite_.layers, name, &Layer::name) != suite_.layers.end()
               : std::ranges::find(suite_.graph, name, &GraphEntry::name) != suite_.graph.end();
  }

  const Suite& suite_;
  int64_t most_copies_;
  std::vector<GraphNode> nodes_;
  std::map<std::string, size_t> node_called_;  // by those behind it
  std::vector<Output> outputs_;
};

}  // namespace

std::vector<GraphNode> graph_of(const Suite& suite, int64_t most_copies) {
  return Graph(suite, most_copies).nodes();
}

}  // namespace convscope

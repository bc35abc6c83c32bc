#include "bench/runner/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/core/counted.hpp"
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

// Names of layers or operations in quotation marks, as in: "a", "b".
std::string quoted(std::vector<std::string> texts) {
  for (std::string& text : texts) text = fmt::format("\"{}\"", text);
  return comma_list(texts);
}
std::string quoted(const std::vector<LayerOperation>& operations) {
  std::vector<std::string> texts;
  for (const LayerOperation& operation : operations) texts.push_back(to_text(operation));
  return quoted(texts);
}

std::string quoted(const std::vector<ReadOutput>& outputs) {
  std::vector<std::string> texts;
  for (const ReadOutput& output : outputs) {
    texts.push_back(fmt::format("\"{}\"", output.name));
    if (!output.through.empty()) texts.back() += " through " + quoted(output.through);
  }
  return comma_list(texts);
}

// Where a node is in the config, and what the config says of it.
struct Place : GraphEntry {
  std::string where;  // a JSON pointer
};

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
      if (layer.reads.empty() && layer.before.empty() && addition == layer.after.end()) continue;
      if (layer.count == 1 && suite_.graph.empty()) continue;
      const std::string what = !layer.reads.empty()    ? fmt::format("reads {}", quoted(layer.reads))
                               : !layer.before.empty() ? fmt::format("has {} before it", quoted(layer.before))
                                                       : fmt::format("has \"{}\"", to_text(*addition));
      refuse(fmt::format("/layers/{}", i),
             fmt::format("layer \"{}\" {}; allowed is neither \"reads\" nor \"before\" nor an addition {}",
                         layer.name, what,
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
        if (copy < copies) std::erase_if(after, [](const LayerOperation& one) { return is_pool(one.kind); });
        const std::string copy_name = layer.count == 1 ? layer.name : fmt::format("{}#{}", layer.name, copy);
        add({{copy_name, i, layer.reads, layer.before, std::move(after)}, fmt::format("/layers/{}", i)});
      }
      node_called_[layer.name] = nodes_.size() - 1;  // to those behind it the last copy is the layer
    }
  }

  void add_entries() {
    std::vector<int64_t> times(suite_.layers.size());
    for (size_t i = 0; i < suite_.graph.size(); ++i) {
      const GraphEntry& entry = suite_.graph[i];
      ++times[entry.layer];
      add({entry, fmt::format("/graph/{}", i)});
      node_called_[entry.name] = i;
    }
    for (size_t i = 0; i < times.size(); ++i)
      if (const Layer& layer = suite_.layers[i]; times[i] != layer.count)
        refuse("/graph", fmt::format("it has layer \"{}\" {}, and the layer's count is {}; correct one "
                                     "of them",
                                     layer.name, counted(times[i], "time"), layer.count));
  }

  void add(const Place& place) {
    const Layer& of = suite_.layers[place.layer];
    GraphNode node{place.name, place.layer, {}, {}, place.before, place.after, {}};
    connect(place, of, node);
    Output output{of.shape.out_channels, validate(of.shape) ? Extent2{} : of.shape.output(), of.batch};
    for (const LayerOperation& operation : node.after) {
      if (is_addition(operation)) {
        node.added.push_back(earlier(place, "adds", operation.other));
        check_shape(place, "adds", {{operation.other, {}}}, {}, outputs_[node.added.back()], "has there",
                    output);
      }
      output.image = operation.output(output.image);
    }
    nodes_.push_back(std::move(node));
    outputs_.push_back(output);
  }

  // Fills in what the node reads.
  void connect(const Place& place, const Layer& of, GraphNode& node) const {
    const Output wanted{of.shape.in_channels, of.shape.input, of.batch};
    std::vector<ReadOutput> read = place.reads;
    if (read.empty() && place.before.empty()) {
      if (nodes_.empty() || of.first || outputs_.back() != wanted) return;
      node.reads = {nodes_.size() - 1};
      node.through.resize(1);
      return;
    }
    const std::string what = read.empty() ? fmt::format("has {} before it", quoted(place.before))
                                          : fmt::format("reads {}", quoted(read));
    if (of.first)
      refuse(place.where, fmt::format("\"{}\" {} and its layer is first, so that it reads the network's "
                                      "input; leave one of them out",
                                      place.name, what));
    if (read.empty() && nodes_.empty())
      refuse(place.where, fmt::format("\"{}\" {}, and no layer stands there whose output it could read; "
                                      "leave out \"before\"",
                                      place.name, what));
    for (const ReadOutput& output : read) node.reads.push_back(earlier(place, "reads", output.name));
    if (read.empty()) {
      node.reads = {nodes_.size() - 1};
      read = {{nodes_.back().name, {}}};
    }
    for (const ReadOutput& output : read) node.through.push_back(output.through);
    Output given = concatenated(place, read, node.reads);
    for (const LayerOperation& pool : place.before)
      given.image = pooled(place, fmt::format("has \"{}\" before it", to_text(pool)), pool, given.image);
    check_shape(place, "reads", read, place.before, given, "takes", wanted);
  }

  // The output of a node, through pools.
  Output seen(const Place& place, const ReadOutput& read, size_t node) const {
    Output output = outputs_[node];
    for (const LayerOperation& pool : read.through)
      output.image = pooled(place, "reads " + quoted({read}), pool, output.image);
    return output;
  }

  // The outputs of the nodes one behind the other along channels.
  Output concatenated(const Place& place, const std::vector<ReadOutput>& read,
                      const std::vector<size_t>& nodes) const {
    const Output first = seen(place, read.front(), nodes.front());
    Output all = first;
    for (size_t i = 1; i < nodes.size(); ++i) {
      const Output one = seen(place, read[i], nodes[i]);
      if (std::ranges::count(read, read[i]) > 1)
        refuse(place.where,
               fmt::format("\"{}\" reads {} twice; name it once", place.name, quoted({read[i]})));
      if (one.image != all.image || one.batch != all.batch)
        refuse(
            place.where,
            fmt::format("\"{}\" reads {}, which gives {}, and {}, which gives {}; allowed together "
                        "are outputs of the same image and batch",
                        place.name, quoted({read.front()}), to_text(first), quoted({read[i]}), to_text(one)));
      all.channels += one.channels;
    }
    return all;
  }

  // `what` the node says of the pool.
  Extent2 pooled(const Place& place, const std::string& what, const LayerOperation& pool,
                 Extent2 image) const {
    const Extent2 result = pool.output(image);
    if (result.h < 1 || result.w < 1)
      refuse(place.where,
             fmt::format("\"{}\" {}, and what it reads is {} there; allowed is a window that fits the image",
                         place.name, what, to_text(image)));
    return result;
  }

  // The node of that name.
  size_t earlier(const Place& place, const char* does, const std::string& other) const {
    const auto found = node_called_.find(other);
    if (found != node_called_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, index] : node_called_) known.push_back(name);
    refuse(place.where,
           fmt::format("\"{}\" {} \"{}\", which {}; allowed is an earlier one{}", place.name, does, other,
                       is_of_network(other) ? "does not stand before it" : "is no layer of the network",
                       did_you_mean(other, known)));
  }

  void check_shape(const Place& place, const char* does, const std::vector<ReadOutput>& names,
                   const std::vector<LayerOperation>& before, const Output& given, const char* wants,
                   const Output& wanted) const {
    if (given == wanted) return;
    const bool several = names.size() > 1;
    refuse(place.where,
           fmt::format("\"{}\" {} {}, which {}give{} {}{}, and \"{}\" {} {}; name {}, or correct what comes "
                       "{} one of them",
                       place.name, does, quoted(names), several ? "together " : "", several ? "" : "s",
                       to_text(given), before.empty() ? "" : " after " + quoted(before), place.name, wants,
                       to_text(wanted),
                       several ? "layers whose channels add up to that" : "a layer of that shape",
                       before.empty() ? "after" : "before or after"));
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

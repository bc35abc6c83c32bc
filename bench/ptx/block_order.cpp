#include "bench/ptx/block_order.hpp"

#include <algorithm>
#include <cstddef>

namespace convscope::ptx {
namespace {

using Graph = std::vector<std::vector<int>>;

// Strongly connected components of what is inside and reached from the entry, last one first (Tarjan). The
// node through which a component was entered is its last.
class Components {
 public:
  Components(int entry, const std::vector<char>& inside, const Graph& next)
      : inside_(inside), next_(next), number_(next.size()), low_(next.size()), on_stack_(next.size()) {
    enter(entry);
    while (!frames_.empty()) step();
  }

  const std::vector<std::vector<int>>& found() const { return found_; }

 private:
  struct Frame {
    int node;
    size_t edge;
  };

  void enter(int node) {
    const auto v = static_cast<size_t>(node);
    number_[v] = low_[v] = ++counter_;
    stack_.push_back(node);
    on_stack_[v] = 1;
    frames_.push_back({node, 0});
  }

  void step() {
    Frame& frame = frames_.back();
    const auto v = static_cast<size_t>(frame.node);
    if (frame.edge == next_[v].size()) return leave(frame.node);
    const int other = next_[v][frame.edge++];
    const auto w = static_cast<size_t>(other);
    if (!inside_[w]) return;
    if (number_[w] == 0)
      enter(other);
    else if (on_stack_[w])
      low_[v] = std::min(low_[v], number_[w]);
  }

  void leave(int node) {
    const auto v = static_cast<size_t>(node);
    if (low_[v] == number_[v]) {
      found_.emplace_back();
      int last;
      do {
        last = stack_.back();
        stack_.pop_back();
        on_stack_[static_cast<size_t>(last)] = 0;
        found_.back().push_back(last);
      } while (last != node);
    }
    frames_.pop_back();
    if (frames_.empty()) return;
    const auto parent = static_cast<size_t>(frames_.back().node);
    low_[parent] = std::min(low_[parent], low_[v]);
  }

  const std::vector<char>& inside_;
  const Graph& next_;
  std::vector<int> number_, low_;
  std::vector<char> on_stack_;
  std::vector<int> stack_;
  std::vector<Frame> frames_;
  std::vector<std::vector<int>> found_;
  int counter_ = 0;
};

void arrange(int entry, const std::vector<char>& inside, const Graph& next, std::vector<int>& order) {
  const Components components(entry, inside, next);
  for (auto c = components.found().rbegin(); c != components.found().rend(); ++c) {
    const int head = c->back();
    order.push_back(head);
    if (c->size() == 1) continue;
    std::vector<char> body(next.size(), 0);
    for (const int v : *c) body[static_cast<size_t>(v)] = 1;
    body[static_cast<size_t>(head)] = 0;
    // Without its head the loop is ordered again, from a node of its own before all that the head leads to.
    const int root = static_cast<int>(next.size());
    body.push_back(1);
    Graph with_root = next;
    with_root.push_back(next[static_cast<size_t>(head)]);
    std::vector<int> inner;
    arrange(root, body, with_root, inner);
    std::copy_if(inner.begin(), inner.end(), std::back_inserter(order), [=](int v) { return v != root; });
  }
}

}  // namespace

std::vector<int> weak_topological_order(const Graph& next) {
  std::vector<int> order;
  if (!next.empty()) arrange(0, std::vector<char>(next.size(), 1), next, order);
  return order;
}

}  // namespace convscope::ptx

// Assigns registers and symbols to words, and orders the basic blocks of a kernel.
#include <algorithm>
#include <functional>
#include <limits>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/kernel_parser.hpp"

namespace convscope::ptx {
namespace {

using Graph = std::vector<std::vector<int>>;

// The depth-first search for a weak topological order (Bourdoncle, "Efficient chaotic iteration strategies
// with widenings", 1993). A node's number is 0 until it is visited, and kPlaced when its place is known.
class OrderSearch {
 public:
  explicit OrderSearch(const Graph& next) : next_(next), number_(next.size()) {}

  // Returns the smallest number of a node on the stack that this one reaches.
  int visit(int node) {
    const int own = number(node) = ++counter_;
    stack_.push_back(node);
    int head = own;
    bool is_loop = false;
    for (const int other : next_[static_cast<size_t>(node)]) {
      const int reached = number(other) == 0 ? visit(other) : number(other);
      if (reached > head) continue;
      head = reached;
      is_loop = true;
    }
    if (head == own) place(node, is_loop);
    return head;
  }

  std::vector<int> backwards;  // the order, last node first

 private:
  static constexpr int kPlaced = std::numeric_limits<int>::max();

  int& number(int node) { return number_[static_cast<size_t>(node)]; }

  // The node, and behind it the loop that it heads, whose other nodes are visited again without it.
  void place(int node, bool is_loop) {
    number(node) = kPlaced;
    for (; stack_.back() != node; stack_.pop_back()) number(stack_.back()) = 0;
    stack_.pop_back();
    if (is_loop)
      for (const int other : next_[static_cast<size_t>(node)])
        if (number(other) == 0) visit(other);
    backwards.push_back(node);
  }

  const Graph& next_;
  std::vector<int> number_, stack_;
  int counter_ = 0;
};

// An order of what node 0 reaches: a node follows all its predecessors except by back edges, and each loop is
// contiguous. When the lanes that are first in this order run first, diverged lanes reconverge where their
// paths join. `next` lists each node's successors.
std::vector<int> weak_topological_order(const Graph& next) {
  OrderSearch search(next);
  if (!next.empty()) search.visit(0);
  return {search.backwards.rbegin(), search.backwards.rend()};
}

// Calls f for the index of each register operand, in the order of the text.
void each_register(std::vector<Instruction>& code, const std::function<void(s32&)>& f) {
  for (auto& i : code) {
    if (i.guard >= 0) f(i.guard);
    for (auto& o : i.o)
      if (o.index >= 0 && !o.constant) f(o.index);
    for (auto& o : i.more)
      if (o.index >= 0 && !o.constant) f(o.index);
  }
}

}  // namespace

void KernelParser::place_symbols() {
  kernel_.static_shared = rounded_up(shared_end_, dynamic_align_);
  for (auto& v : kernel_.shared)
    if (v.dynamic) v.offset = kernel_.static_shared;
  for (const auto& [key, place] : symbol_places_) {
    const auto& [name, wide] = key;
    const auto v = std::find_if(kernel_.shared.begin(), kernel_.shared.end(),
                                [&, &wanted = name](const Variable& x) { return x.name == wanted; });
    for (int l = 0; l < kLanes; ++l)
      kernel_.constants[static_cast<size_t>(place + (wide ? 2 * l : l))] = v->offset;
  }
}

// Assigns words to the registers that are used, in the order of first use, so that registers used together
// are adjacent.
void KernelParser::place_registers() {
  u32 predicates = 0;
  each_register(code_, [&](s32& index) {
    Register& r = registers_[static_cast<size_t>(index)];
    if (r.type == Type::pred && r.number < 0) r.number = static_cast<s32>(predicates++);
  });
  u32 next = rounded_up(predicates, kLanes);
  each_register(code_, [&](s32& index) {
    Register& r = registers_[static_cast<size_t>(index)];
    if (r.number >= 0) return;
    r.number = static_cast<s32>(next);
    next += size_of(r.type) == 8 ? 2 * kLanes : kLanes;
  });
  each_register(code_, [&](s32& index) { index = registers_[static_cast<size_t>(index)].number; });
  kernel_.predicates = predicates;
  kernel_.register_words = next;
  for (const auto& [name, r] : specials_) kernel_.special[name] = registers_[static_cast<size_t>(r)].number;
}

// The basic blocks of a kernel.
struct KernelParser::Blocks {
  std::vector<size_t> begin;           // first instruction of each block, and the end
  std::vector<int> block_of;           // of each instruction
  std::vector<std::vector<int>> next;  // successors
  std::vector<int> fall;               // the block that is reached by falling through, or -1
};

size_t KernelParser::target_of(size_t branch) const {
  const auto label = labels_.find(branches_.at(branch));
  if (label == labels_.end()) fail("no label " + branches_.at(branch));
  return label->second;
}

KernelParser::Blocks KernelParser::find_blocks() const {
  const size_t n = code_.size();
  std::vector<char> starts(n + 1, 0);
  starts[0] = 1;
  for (const auto& [label, index] : labels_) starts[index] = 1;
  for (size_t i = 0; i < n; ++i)
    if (jumps_[i] != Jump::none) starts[i + 1] = 1;
  Blocks blocks;
  blocks.block_of.assign(n, -1);
  for (size_t i = 0; i < n; ++i) {
    if (starts[i]) blocks.begin.push_back(i);
    blocks.block_of[i] = static_cast<int>(blocks.begin.size()) - 1;
  }
  const size_t count = blocks.begin.size();
  blocks.begin.push_back(n);
  blocks.next.resize(count);
  blocks.fall.assign(count, -1);
  for (size_t b = 0; b < count; ++b) {
    const size_t last = blocks.begin[b + 1] - 1;
    if (jumps_[last] == Jump::branch && target_of(last) < n)
      blocks.next[b].push_back(blocks.block_of[target_of(last)]);
    const bool leaves = jumps_[last] != Jump::none && code_[last].guard < 0;
    if (leaves || b + 1 == count) continue;
    blocks.next[b].push_back(static_cast<int>(b) + 1);
    blocks.fall[b] = static_cast<int>(b) + 1;
  }
  return blocks;
}

// Reorders the blocks so that diverged lanes reconverge; adds a jump where a block's fall-through successor
// no longer follows it.
void KernelParser::order_blocks() {
  const Blocks blocks = find_blocks();
  const std::vector<int> order = weak_topological_order(blocks.next);
  std::vector<Instruction> code;
  std::vector<int> at(blocks.next.size(), -1);
  std::vector<std::pair<size_t, int>> jumps;  // instruction, target block; -1 is the end
  const u32 last_line = static_cast<u32>(kernel_.texts.empty() ? 0 : kernel_.texts.size() - 1);
  if (kernel_.texts.empty()) kernel_.texts.push_back({"ret", where_});
  for (size_t k = 0; k < order.size(); ++k) {
    const auto b = static_cast<size_t>(order[k]);
    at[b] = static_cast<int>(code.size());
    for (size_t i = blocks.begin[b]; i < blocks.begin[b + 1]; ++i) {
      if (jumps_[i] == Jump::branch) {
        const size_t target = target_of(i);
        jumps.emplace_back(code.size(), target < code_.size() ? blocks.block_of[target] : -1);
      }
      code.push_back(std::move(code_[i]));
    }
    const int fall = blocks.fall[b];
    if (fall < 0 || (k + 1 < order.size() && order[k + 1] == fall)) continue;
    Instruction jump;
    bind(jump, "bra.uni");
    jump.line = last_line;
    jumps.emplace_back(code.size(), fall);
    code.push_back(jump);
  }
  Instruction end;
  bind(end, "exit");
  end.line = last_line;
  code.push_back(end);
  for (const auto& [i, b] : jumps)
    code[i].target = b < 0 ? static_cast<s32>(code.size()) - 1 : at[static_cast<size_t>(b)];
  kernel_.code = std::move(code);
}

}  // namespace convscope::ptx

#include "bench/parallel/reductions/reductions.hpp"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>
#include <vector>

namespace convscope {
namespace {

void send(Fabric& fabric, int to, std::span<const float> values) {
  const Outgoing message{to, std::as_bytes(values)};
  fabric.exchange(std::span(&message, 1), {});
}
void receive(Fabric& fabric, int from, std::span<float> values) {
  const Incoming message{from, std::as_writable_bytes(values)};
  fabric.exchange({}, std::span(&message, 1));
}
void swap(Fabric& fabric, int to, std::span<const float> sent, int from, std::span<float> received) {
  const Outgoing out{to, std::as_bytes(sent)};
  const Incoming in{from, std::as_writable_bytes(received)};
  fabric.exchange(std::span(&out, 1), std::span(&in, 1));
}

// The values in `count` chunks, whose sizes differ by at most one.
class Chunks {
 public:
  Chunks(std::span<float> values, int count) : values_(values), count_(static_cast<size_t>(count)) {}
  std::span<float> operator()(int chunk) const { return range(chunk, chunk + 1); }
  // Those from `first` to the one before `end`.
  std::span<float> range(int first, int end) const {
    return values_.subspan(begin(first), begin(end) - begin(first));
  }

 private:
  size_t begin(int chunk) const { return values_.size() * static_cast<size_t>(chunk) / count_; }
  std::span<float> values_;
  size_t count_;
};

size_t largest_chunk(size_t values, size_t count) {
  return (values + count - 1) / count;
}

// The ranks first, first + stride, ...: `size` of them, of which this one is number `index`.
struct Ring {
  int first, stride, size, index;
  int rank(int i) const { return first + stride * wrapped(i); }
  int wrapped(int i) const { return (i % size + size) % size; }
  int next() const { return rank(index + 1); }
  int previous() const { return rank(index - 1); }
  int owned() const { return wrapped(index + 1); }  // the chunk whose sums reduce_scatter leaves here
};

void reduce_scatter(Fabric& fabric, const Ring& ring, std::span<float> values, std::span<float> scratch) {
  const Chunks chunk(values, ring.size);
  for (int step = 0; step + 1 < ring.size; ++step) {
    const std::span<float> target = chunk(ring.wrapped(ring.index - step - 1));
    const std::span<float> received = scratch.first(target.size());
    swap(fabric, ring.next(), chunk(ring.wrapped(ring.index - step)), ring.previous(), received);
    fabric.add(received, target);
  }
}

void all_gather(Fabric& fabric, const Ring& ring, std::span<float> values) {
  const Chunks chunk(values, ring.size);
  for (int step = 0; step + 1 < ring.size; ++step)
    swap(fabric, ring.next(), chunk(ring.wrapped(ring.index + 1 - step)), ring.previous(),
         chunk(ring.wrapped(ring.index - step)));
}

void ring_sum(Fabric& fabric, const Ring& ring, std::span<float> values, std::span<float> scratch) {
  reduce_scatter(fabric, ring, values, scratch);
  all_gather(fabric, ring, values);
}

void tree_sum(Fabric& fabric, std::span<float> values, std::span<float> scratch) {
  const int rank = fabric.rank(), n = fabric.size();
  int distance = 1;
  for (; distance < n; distance *= 2) {
    if ((rank & distance) != 0) {
      send(fabric, rank - distance, values);
      break;
    }
    if (rank + distance >= n) continue;
    receive(fabric, rank + distance, scratch.first(values.size()));
    fabric.add(scratch.first(values.size()), values);
  }
  // Down the same tree: what this rank sent up it gets back, then its own children, the farthest first.
  if (distance < n) receive(fabric, rank - distance, values);
  for (int child = distance / 2; child > 0; child /= 2)
    if (rank + child < n) send(fabric, rank + child, values);
}

void halving_sum(Fabric& fabric, std::span<float> values, std::span<float> scratch) {
  const int rank = fabric.rank(), n = fabric.size();
  const Chunks chunks(values, n);
  int first = 0;  // of the chunks that this rank still sums, as many as twice the distance
  for (int distance = n / 2; distance > 0; distance /= 2) {
    const bool keeps_upper = (rank & distance) != 0;
    const auto lower = chunks.range(first, first + distance);
    const auto upper = chunks.range(first + distance, first + 2 * distance);
    const std::span<float> kept = keeps_upper ? upper : lower;
    swap(fabric, rank ^ distance, keeps_upper ? lower : upper, rank ^ distance, scratch.first(kept.size()));
    fabric.add(scratch.first(kept.size()), kept);
    if (keeps_upper) first += distance;
  }
  for (int distance = 1; distance < n; distance *= 2) {
    const int partner_first = first ^ distance;
    swap(fabric, rank ^ distance, chunks.range(first, first + distance), rank ^ distance,
         chunks.range(partner_first, partner_first + distance));
    first &= ~distance;
  }
}

void hierarchical_sum(Fabric& fabric, std::span<float> values, std::span<float> scratch, const Ranks& ranks) {
  const int node = fabric.rank() / ranks.per_node, local = fabric.rank() % ranks.per_node;
  const Ring within{node * ranks.per_node, 1, ranks.per_node, local};
  reduce_scatter(fabric, within, values, scratch);
  const int owned = within.owned();
  ring_sum(fabric, {local, ranks.per_node, ranks.nodes(), node}, Chunks(values, within.size)(owned), scratch);
  all_gather(fabric, within, values);
}

void striped_sum(Fabric& fabric, std::span<float> values, std::span<float> scratch) {
  const int rank = fabric.rank(), n = fabric.size();
  const Chunks stripe(values, n);
  const std::span<float> own = stripe(rank);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int distance = 1; distance < n; ++distance) {  // so that no two ranks send to one at once
    const int to = (rank + distance) % n, from = (rank + n - distance) % n;
    out.push_back({to, std::as_bytes(stripe(to))});
    in.push_back({from, std::as_writable_bytes(scratch.subspan(in.size() * own.size(), own.size()))});
  }
  fabric.exchange(out, in);
  for (size_t i = 0; i < in.size(); ++i) fabric.add(scratch.subspan(i * own.size(), own.size()), own);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i].bytes = std::as_writable_bytes(stripe(in[i].from));
    out[i].bytes = std::as_bytes(own);
  }
  fabric.exchange(out, in);
}

}  // namespace

std::string_view name(Reduction reduction) {
  constexpr std::array<std::string_view, kReductions.size()> names{"tree", "ring", "halving", "hierarchical",
                                                                   "striped"};
  return names[static_cast<size_t>(reduction)];
}

std::optional<Refusal> refusal(Reduction reduction, const Ranks& ranks) {
  if (reduction == Reduction::halving && !std::has_single_bit(static_cast<unsigned>(ranks.count)))
    return Refusal{"not_power_of_two",
                   fmt::format("halving needs 1, 2, 4, 8, ... ranks; there are {}", ranks.count)};
  if (reduction == Reduction::hierarchical && ranks.count % ranks.per_node != 0)
    return Refusal{
        "uneven_nodes",
        fmt::format("hierarchical needs as many ranks on every node; {} ranks do not fill nodes of {}",
                    ranks.count, ranks.per_node)};
  return std::nullopt;
}

size_t scratch_values(Reduction reduction, size_t values, const Ranks& ranks) {
  const auto n = static_cast<size_t>(ranks.count);
  switch (reduction) {
    case Reduction::tree:
      return values;
    case Reduction::ring:
      return largest_chunk(values, n);
    case Reduction::halving:
      return largest_chunk(values, 2);
    case Reduction::hierarchical:
      return ranks.per_node > 1 ? largest_chunk(values, static_cast<size_t>(ranks.per_node))
                                : largest_chunk(values, n);
    case Reduction::striped:
      return (n - 1) * largest_chunk(values, n);
  }
  return 0;
}

void all_reduce(Reduction reduction, Fabric& fabric, std::span<float> values, std::span<float> scratch,
                const Ranks& ranks) {
  if (const auto refused = refusal(reduction, ranks)) throw std::invalid_argument(refused->note);
  if (ranks.count != fabric.size() || scratch.size() < scratch_values(reduction, values.size(), ranks))
    throw std::invalid_argument(
        "all_reduce: another number of ranks than the fabric's, or too little scratch");
  if (ranks.count == 1) return;
  switch (reduction) {
    case Reduction::tree:
      return tree_sum(fabric, values, scratch);
    case Reduction::ring:
      return ring_sum(fabric, {0, 1, ranks.count, fabric.rank()}, values, scratch);
    case Reduction::halving:
      return halving_sum(fabric, values, scratch);
    case Reduction::hierarchical:
      return hierarchical_sum(fabric, values, scratch, ranks);
    case Reduction::striped:
      return striped_sum(fabric, values, scratch);
  }
}

}  // namespace convscope

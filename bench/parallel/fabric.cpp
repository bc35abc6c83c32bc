#include "bench/parallel/fabric.hpp"

#include <algorithm>
#include <vector>

namespace convscope {
namespace {

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
std::span<std::byte> writable_bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// Every rank's value, in the order of ranks: all to rank 0, which sends the list to all.
template <typename T>
std::vector<T> all_of(Fabric& fabric, T value) {
  std::vector<T> all(static_cast<size_t>(fabric.size()), value);
  std::vector<Incoming> in;
  std::vector<Outgoing> out;
  if (fabric.rank() == 0) {
    for (int rank = 1; rank < fabric.size(); ++rank) {
      in.push_back({rank, writable_bytes_of(all[static_cast<size_t>(rank)])});
      out.push_back({rank, std::as_bytes(std::span(all))});
    }
    fabric.exchange({}, in);
    fabric.exchange(out, {});
  } else {
    out.push_back({0, bytes_of(value)});
    in.push_back({0, std::as_writable_bytes(std::span(all))});
    fabric.exchange(out, {});
    fabric.exchange({}, in);
  }
  return all;
}

}  // namespace

double largest_over_ranks(Fabric& fabric, double value) {
  const std::vector<double> all = all_of(fabric, value);
  return *std::max_element(all.begin(), all.end());
}

bool same_on_all_ranks(Fabric& fabric, unsigned long long value) {
  const auto all = all_of(fabric, value);
  return std::all_of(all.begin(), all.end(), [&](auto other) { return other == all.front(); });
}

}  // namespace convscope

#include "bench/parallel/fabric/fabric.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace convscope {
namespace {

// Every rank's values, `each` of them, in the order of ranks: all to rank 0, which sends the list to all.
template <typename T>
std::vector<T> all_of(Fabric& fabric, std::span<const T> values) {
  std::vector<T> all(static_cast<size_t>(fabric.size()) * values.size());
  std::copy(values.begin(), values.end(), all.begin());
  std::vector<Incoming> in;
  std::vector<Outgoing> out;
  if (fabric.rank() == 0) {
    for (int rank = 1; rank < fabric.size(); ++rank) {
      const auto part = std::span(all).subspan(static_cast<size_t>(rank) * values.size(), values.size());
      in.push_back({rank, std::as_writable_bytes(part)});
      out.push_back({rank, std::as_bytes(std::span(all))});
    }
    fabric.exchange({}, in);
    fabric.exchange(out, {});
  } else {
    out.push_back({0, std::as_bytes(values)});
    in.push_back({0, std::as_writable_bytes(std::span(all))});
    fabric.exchange(out, {});
    fabric.exchange({}, in);
  }
  return all;
}
template <typename T>
std::vector<T> all_of(Fabric& fabric, const T& value) {
  return all_of(fabric, std::span<const T>(&value, 1));
}

}  // namespace

double largest_over_ranks(Fabric& fabric, double value) {
  const std::vector<double> all = all_of(fabric, value);
  // NaN is above all numbers: without an order of its own it would be lost behind another rank's number.
  return *std::max_element(all.begin(), all.end(),
                           [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
}

bool as_rank_0(Fabric& fabric, bool value) {
  return largest_over_ranks(fabric, fabric.rank() == 0 && value ? 1 : 0) > 0;
}

bool same_on_all_ranks(Fabric& fabric, unsigned long long value) {
  const auto all = all_of(fabric, value);
  return std::all_of(all.begin(), all.end(), [&](auto other) { return other == all.front(); });
}

std::vector<float> gathered(Fabric& fabric, std::span<const float> values) {
  return all_of(fabric, values);
}

std::vector<std::string> gathered_texts(Fabric& fabric, const std::string& text) {
  const auto longest = static_cast<size_t>(largest_over_ranks(fabric, static_cast<double>(text.size())));
  std::string padded = text;
  padded.resize(longest + 1);
  const std::vector<char> all = all_of(fabric, std::span<const char>(padded));
  std::vector<std::string> texts;
  for (size_t at = 0; at < all.size(); at += padded.size()) texts.emplace_back(&all[at]);
  return texts;
}

}  // namespace convscope

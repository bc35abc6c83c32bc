#include "bench/parallel/reductions/one_bit_reduction.hpp"

#include <algorithm>
#include <stdexcept>

#include "bench/core/stopwatch.hpp"

namespace convscope {

OneBitReduction::OneBitReduction(const Columns& columns, int ranks, int rank)
    : columns_(columns),
      ranks_(ranks),
      rank_(rank),
      error_(columns.elements()),
      owner_error_(stripe(rank).elements()),
      sum_(owner_error_.size()),
      encoded_(columns.encoded_words()),
      received_(static_cast<size_t>(ranks - 1) * stripe(rank).encoded_words()) {}

std::span<uint32_t> OneBitReduction::words_of(int rank, std::span<uint32_t> encoded) const {
  return encoded.subspan(static_cast<size_t>(first_column(rank)) * columns_.words_of_column(),
                         stripe(rank).encoded_words());
}

void OneBitReduction::all_reduce(Fabric& fabric, std::span<float> gradient) {
  if (gradient.size() != columns_.elements() || fabric.size() != ranks_ || fabric.rank() != rank_)
    throw std::invalid_argument("OneBitReduction: another gradient or fabric than it was made for");
  if (ranks_ == 1) return;
  const auto code = [&](const auto& work) {
    const auto begin = Clock::now();
    work();
    coding_seconds_ += seconds_since(begin);
  };
  code([&] { encode(columns_, gradient, error_, encoded_); });
  const Columns own = stripe(rank_);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int distance = 1; distance < ranks_; ++distance) {  // so that no two ranks send to one at once
    const int to = (rank_ + distance) % ranks_, from = (rank_ + ranks_ - distance) % ranks_;
    out.push_back({to, std::as_bytes(words_of(to, encoded_))});
    const auto part = std::span(received_).subspan(in.size() * own.encoded_words(), own.encoded_words());
    in.push_back({from, std::as_writable_bytes(part)});
  }
  fabric.exchange(out, in);

  code([&] {
    decode(own, words_of(rank_, encoded_), sum_);
    for (size_t i = 0; i < in.size(); ++i)
      decode_and_add(own, std::span(received_).subspan(i * own.encoded_words(), own.encoded_words()), sum_);
    encode(own, sum_, owner_error_, words_of(rank_, encoded_));
  });
  for (size_t i = 0; i < in.size(); ++i) {
    out[i].bytes = std::as_bytes(words_of(rank_, encoded_));
    in[i].bytes = std::as_writable_bytes(words_of(in[i].from, encoded_));
  }
  fabric.exchange(out, in);
  code([&] { decode(columns_, encoded_, gradient); });
}

double OneBitReduction::busiest_bytes(const Columns& columns, int ranks) {
  int64_t most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int64_t own = columns.count * (rank + 1) / ranks - columns.count * rank / ranks;
    const int64_t sent_columns = columns.count - own + (ranks - 1) * own;
    most = std::max(most, sent_columns);
  }
  return ranks == 1 ? 0 : static_cast<double>(most) * static_cast<double>(encoded_bytes({1, columns.values}));
}

}  // namespace convscope

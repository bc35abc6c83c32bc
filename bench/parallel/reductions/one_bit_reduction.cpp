#include "bench/parallel/reductions/one_bit_reduction.hpp"

#include <stdexcept>

#include "bench/core/rounding.hpp"

namespace convscope {
namespace {

Buffer zeros(Device& device, size_t values) {
  Buffer buffer(device, values * sizeof(float));
  if (values > 0) device.fill(buffer.data(), 0, buffer.bytes());
  return buffer;
}

float value_at(const Buffer& buffer, size_t offset) {
  float value;
  buffer.device()->copy_to_host(&value, buffer.as<float>() + offset, sizeof value);
  return value;
}

}  // namespace

OneBitReduction::OneBitReduction(const Columns& columns, int ranks, int rank, Device& device, Queue& queue)
    : columns_(columns),
      ranks_(ranks),
      rank_(rank),
      codec_(device.info().kind, queue),
      error_(zeros(device, columns.elements())),
      owner_error_(zeros(device, stripe(rank).elements())),
      sum_(device, owner_error_.bytes()),
      encoded_(device, columns.encoded_words() * sizeof(uint32_t)),
      received_(device, static_cast<size_t>(ranks - 1) * stripe(rank).encoded_words() * sizeof(uint32_t)) {}

std::span<uint32_t> OneBitReduction::words_of(int rank) const {
  const size_t first = static_cast<size_t>(first_column(rank)) * columns_.words_of_column();
  return {encoded_.as<uint32_t>() + first, stripe(rank).encoded_words()};
}

std::span<uint32_t> OneBitReduction::received(size_t i) const {
  const size_t words = stripe(rank_).encoded_words();
  return {received_.as<uint32_t>() + i * words, words};
}

void OneBitReduction::all_reduce(Fabric& fabric, std::span<float> gradient) {
  if (gradient.size() != columns_.elements() || fabric.size() != ranks_ || fabric.rank() != rank_)
    throw std::invalid_argument("OneBitReduction: another gradient or fabric than it was made for");
  if (ranks_ == 1) return;
  const auto code = [&](const auto& work) {
    codec_.queue().phase(kCoding);
    work();
    codec_.queue().end_phase();
  };
  const std::span<uint32_t> encoded = encoded_.span_of<uint32_t>();
  code([&] { codec_.encode(columns_, gradient, error_.span_of<float>(), encoded); });
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int distance = 1; distance < ranks_; ++distance) {  // so that no two ranks send to one at once
    const int to = (rank_ + distance) % ranks_, from = (rank_ + ranks_ - distance) % ranks_;
    out.push_back({to, std::as_bytes(words_of(to))});
    in.push_back({from, std::as_writable_bytes(received(in.size()))});
  }
  fabric.exchange(out, in);

  const Columns own = stripe(rank_);
  const std::span<float> sum = sum_.span_of<float>();
  code([&] {
    codec_.decode(own, words_of(rank_), sum);
    for (size_t i = 0; i < in.size(); ++i) codec_.decode(own, received(i), sum, true);
    codec_.encode(own, sum, owner_error_.span_of<float>(), words_of(rank_));
  });
  for (size_t i = 0; i < in.size(); ++i) {
    out[i].bytes = std::as_bytes(words_of(rank_));
    in[i].bytes = std::as_writable_bytes(words_of(in[i].from));
  }
  fabric.exchange(out, in);
  code([&] { codec_.decode(columns_, encoded, gradient); });
}

float OneBitReduction::kept(size_t offset) const {
  const float own = value_at(error_, offset);
  const auto first_owned = static_cast<size_t>(first_column(rank_) * columns_.values);
  const bool is_owner = offset >= first_owned && offset - first_owned < stripe(rank_).elements();
  return is_owner ? own + value_at(owner_error_, offset - first_owned) : own;
}

std::vector<float> OneBitReduction::error() const {
  std::vector<float> values(columns_.elements());
  error_.download(values.data(), error_.bytes());
  return values;
}

double OneBitReduction::busiest_bytes(const Columns& columns, int ranks) {
  if (ranks == 1) return 0;
  // The rank of the largest stripe: the code of each other stripe goes to one rank, that of its own to all.
  const int64_t own = ceil_div(columns.count, int64_t{ranks});
  const int64_t sent = columns.count - own + (ranks - 1) * own;
  return static_cast<double>(sent) * static_cast<double>(encoded_bytes({1, columns.values}));
}

}  // namespace convscope

#include "bench/verify/tensor_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "bench/core/random.hpp"

namespace convscope {
namespace {

constexpr int64_t kLargestTile = 32;

// The coordinates of one axis at which a tiling can go wrong.
std::vector<int64_t> breaking_points(int64_t size, int64_t per_group) {
  std::set<int64_t> points;
  const auto put = [&](int64_t point) {
    if (point >= 0 && point < size) points.insert(point);
  };
  // A run of 32 at either end holds every residue modulo every tile size and the first border of each.
  for (int64_t i = 0; i <= kLargestTile; ++i) {
    put(i);
    put(size - 1 - i);
  }
  for (int64_t tile = 2; tile <= kLargestTile; ++tile) {
    const int64_t last_tile = (size - 1) / tile * tile;
    put(last_tile - 1);
    put(last_tile);
  }
  for (int64_t border : {per_group, size - per_group}) {
    put(border - 1);
    put(border);
  }
  return {points.begin(), points.end()};
}

// The bits behind one sample; `draw` counts up so that no two uses share bits.
class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}
  int64_t below(int64_t limit) { return random_below(seed_, draw_++, limit); }

 private:
  uint64_t seed_;
  uint64_t draw_ = 0;
};

void shuffle(std::vector<int64_t>& values, Draws& draws) {
  for (size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[static_cast<size_t>(draws.below(static_cast<int64_t>(i)))]);
}

// Channels per group of an axis that runs over all groups; the whole axis otherwise.
int64_t group_size(const ConvProblem& p, size_t axis) {
  const Role role = written_role(p.pass);
  if (role == Role::filter && axis == 0) return p.out_channels_per_group();
  if (role == Role::output && axis == 1) return p.out_channels_per_group();
  if (role == Role::input && axis == 1) return p.in_channels_per_group();
  return p.shape(role).size[axis];
}

}  // namespace

TensorIndex index_of_offset(const TensorShape& shape, int64_t offset) {
  TensorIndex index{};
  for (size_t axis = 0; axis < 4; ++axis) index[axis] = offset / shape.stride[axis] % shape.size[axis];
  return index;
}

std::string element_name(Role role, const TensorIndex& index) {
  const std::string_view letters = role == Role::input ? "nchw" : role == Role::filter ? "kcrs" : "nkpq";
  return fmt::format("{}[{}={} {}={} {}={} {}={}]", name(role), letters[0], index[0], letters[1], index[1],
                     letters[2], index[2], letters[3], index[3]);
}

std::vector<TensorIndex> all_outputs(const ConvProblem& problem) {
  const Role role = written_role(problem.pass);
  const TensorShape shape = problem.shape(role);
  std::vector<TensorIndex> all(static_cast<size_t>(problem.elements(role)));
  for (size_t i = 0; i < all.size(); ++i) all[i] = index_of_offset(shape, static_cast<int64_t>(i));
  return all;
}

std::vector<TensorIndex> sample_outputs(const ConvProblem& problem, int64_t count, uint64_t seed) {
  const Role role = written_role(problem.pass);
  if (problem.elements(role) <= count) return all_outputs(problem);
  const TensorShape shape = problem.shape(role);
  Draws draws(random_bits(seed, 0x5a));

  std::set<int64_t> offsets;  // in memory order and without duplicates
  for (int corner = 0; corner < 16; ++corner) {
    TensorIndex index{};
    for (size_t axis = 0; axis < 4; ++axis)
      if (corner >> axis & 1) index[axis] = shape.size[axis] - 1;
    offsets.insert(offset_of(shape, index));
  }
  std::array<std::vector<int64_t>, 4> points;
  for (size_t axis = 0; axis < 4; ++axis) {
    points[axis] = breaking_points(shape.size[axis], group_size(problem, axis));
    shuffle(points[axis], draws);
  }
  for (int64_t i = 0; i < count; ++i) {
    TensorIndex index;
    for (size_t axis = 0; axis < 4; ++axis) {
      auto& from = points[axis];
      const auto turn = static_cast<size_t>(i) % from.size();
      if (turn == 0 && i > 0) shuffle(from, draws);
      index[axis] = i < count / 2 ? from[turn] : draws.below(shape.size[axis]);
    }
    offsets.insert(offset_of(shape, index));
  }

  std::vector<TensorIndex> sample;
  sample.reserve(offsets.size());
  for (int64_t offset : offsets) sample.push_back(index_of_offset(shape, offset));
  return sample;
}

}  // namespace convscope

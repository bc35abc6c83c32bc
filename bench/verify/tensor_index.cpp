#include "bench/verify/tensor_index.hpp"

#include <fmt/format.h>

#include <string_view>

namespace convscope {

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

}  // namespace convscope

// Logical indices of a tensor: to text, back from a memory offset. Order and letters
// as in TensorShape: n c h w input, k c r s filter, n k p q output.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "bench/core/problem.hpp"

namespace convscope {

using TensorIndex = std::array<int64_t, 4>;

inline int64_t offset_of(const TensorShape& shape, const TensorIndex& i) {
  return shape.offset(i[0], i[1], i[2], i[3]);
}

// The logical index of a memory offset in a dense tensor of any layout.
TensorIndex index_of_offset(const TensorShape& shape, int64_t offset);

// "output[n=0 k=3 p=26 q=26]"
std::string element_name(Role role, const TensorIndex& index);

}  // namespace convscope

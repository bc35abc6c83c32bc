// make_tensor_map() without the driver, for tests.
#pragma once

#include <cuda.h>

#include "bench/device/kernel/tensor_map_layout.hpp"

namespace convscope::cuda {

// Asks `encode`, which is the driver's cuTensorMapEncodeTiled or a stand-in. Throws DeviceError when it
// refuses.
CUtensorMap encode_tensor_map(const TensorMapLayout& layout, decltype(&cuTensorMapEncodeTiled) encode);

}  // namespace convscope::cuda

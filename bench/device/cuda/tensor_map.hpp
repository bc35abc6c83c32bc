// make_tensor_map() and make_pixel_map() without the driver, for tests.
#pragma once

#include <cuda.h>

#include "bench/device/kernel/tensor_map_layout.hpp"

namespace convscope::cuda {

// Asks `encode`, which is the driver's cuTensorMapEncodeTiled or a stand-in. Throws DeviceError when it
// refuses.
CUtensorMap encode_tensor_map(const TensorMapLayout& layout, decltype(&cuTensorMapEncodeTiled) encode);
// The same with cuTensorMapEncodeIm2col.
CUtensorMap encode_pixel_map(const PixelMapLayout& layout, decltype(&cuTensorMapEncodeIm2col) encode);

}  // namespace convscope::cuda

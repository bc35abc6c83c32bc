// make_tensor_map() and make_pixel_map() of hopper_intrinsics.cuh. The driver's functions for them are asked
// for at run time, so that the program needs no libcuda to start.
#include "bench/device/cuda/tensor_map.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "bench/device/cuda/check.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cuda {
namespace {

CUtensorMapDataType data_type(TmaElement element) {
  switch (element) {
    case TmaElement::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case TmaElement::tf32:
      return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    case TmaElement::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case TmaElement::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  }
  return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

CUtensorMapSwizzle swizzle_of(TmaSwizzle swizzle) {
  return swizzle == TmaSwizzle::bytes_128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE;
}

template <typename Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  constexpr unsigned kSinceVersion = 12000;
  check(cudaGetDriverEntryPointByVersion(name, &function, kSinceVersion, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
  if (found != cudaDriverEntryPointSuccess)
    throw DeviceError(fmt::format("the driver has no {}; TMA needs one of CUDA 12 or newer", name));
  return reinterpret_cast<Function>(function);
}

}  // namespace

CUtensorMap encode_tensor_map(const TensorMapLayout& layout, decltype(&cuTensorMapEncodeTiled) encode) {
  CUtensorMap map{};
  const CUresult result = encode(&map, data_type(layout.element), static_cast<cuuint32_t>(layout.rank),
                                 const_cast<void*>(layout.base), layout.size, layout.stride_bytes, layout.box,
                                 layout.step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(layout.swizzle),
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw DeviceError(fmt::format(
        "cuTensorMapEncodeTiled refuses a tensor of rank {} with the box {}x{}x{}x{}x{} (error {})",
        layout.rank, layout.box[0], layout.box[1], layout.box[2], layout.box[3], layout.box[4],
        static_cast<int>(result)));
  return map;
}

CUtensorMap encode_pixel_map(const PixelMapLayout& layout, decltype(&cuTensorMapEncodeIm2col) encode) {
  CUtensorMap map{};
  const cuuint32_t step[4] = {1, layout.step[0], layout.step[1], 1};
  const CUresult result = encode(
      &map, data_type(layout.element), 4, const_cast<void*>(layout.base), layout.size, layout.stride_bytes,
      layout.lower, layout.upper, layout.channels, layout.pixels, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
      swizzle_of(layout.swizzle), CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw DeviceError(
        fmt::format("cuTensorMapEncodeIm2col refuses {} pixels of {} channels of images of {}x{} with the "
                    "corners ({}, {}) and ({}, {}) (error {})",
                    layout.pixels, layout.channels, layout.size[1], layout.size[2], layout.lower[0],
                    layout.lower[1], layout.upper[0], layout.upper[1], static_cast<int>(result)));
  return map;
}

CUtensorMap make_tensor_map(const TensorMapLayout& layout) {
  return encode_tensor_map(layout,
                           driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled"));
}

CUtensorMap make_pixel_map(const PixelMapLayout& layout) {
  return encode_pixel_map(layout,
                          driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col"));
}

}  // namespace convscope::cuda

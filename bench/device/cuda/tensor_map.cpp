// make_tensor_map() of hopper_intrinsics.cuh. The driver's function for it is asked for at run time, so that
// the program needs no libcuda to start.
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

decltype(&cuTensorMapEncodeTiled) encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  constexpr unsigned kSinceVersion = 12000;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kSinceVersion,
                                         cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
  if (found != cudaDriverEntryPointSuccess)
    throw DeviceError("the driver has no cuTensorMapEncodeTiled; TMA needs one of CUDA 12 or newer");
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

}  // namespace

CUtensorMap encode_tensor_map(const TensorMapLayout& layout, decltype(&cuTensorMapEncodeTiled) encode) {
  CUtensorMap map{};
  const CUresult result = encode(
      &map, data_type(layout.element), static_cast<cuuint32_t>(layout.rank), const_cast<void*>(layout.base),
      layout.size, layout.stride_bytes, layout.box, layout.step, CU_TENSOR_MAP_INTERLEAVE_NONE,
      layout.swizzle == TmaSwizzle::bytes_128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw DeviceError(fmt::format(
        "cuTensorMapEncodeTiled refuses a tensor of rank {} with the box {}x{}x{}x{}x{} (error {})",
        layout.rank, layout.box[0], layout.box[1], layout.box[2], layout.box[3], layout.box[4],
        static_cast<int>(result)));
  return map;
}

CUtensorMap make_tensor_map(const TensorMapLayout& layout) {
  return encode_tensor_map(layout, encoder());
}

}  // namespace convscope::cuda

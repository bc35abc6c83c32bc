// cuTensorMapEncodeTiled of the driver, and the runtime's function by which the program finds it. Refuses
// what the driver's documentation does not allow, and interleaved layouts and other swizzles, which the
// interpreter does not know; says why on stderr.
#include "bench/ptx/tensor_map.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "bench/standin/devices.hpp"

namespace convscope::standin {
namespace {

constexpr int kBytesOf[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};  // by CUtensorMapDataType

// Null when the dimension is allowed; puts it into the map.
const char* add_dimension(ptx::TensorMap& m, cuuint32_t d, cuuint64_t size, cuuint64_t stride, cuuint32_t box,
                          cuuint32_t step) {
  if (size == 0 || size > cuuint64_t{1} << 32) return "size";
  if (d > 0 && (stride % 16 != 0 || stride >= cuuint64_t{1} << 40))
    return "stride not a multiple of 16 below 2^40";
  if (box == 0 || box > 256) return "box";
  if (step == 0 || step > 8) return "element stride";
  m.size_less_one[d] = static_cast<ptx::u32>(size - 1);
  if (d > 0) m.stride[d - 1] = stride;
  m.box[d] = static_cast<ptx::u16>(box);
  m.step[d] = d == 0 ? 1 : static_cast<ptx::u8>(step);  // ignored in dimension 0
  return nullptr;
}

const char* check_whole(const CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, const void* base,
                        CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle) {
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0) return "the map is not aligned to 64 bytes";
  if (type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return "element type";
  if (rank == 0 || rank > 5) return "rank";
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return "interleave, which the interpreter does not know";
  if (swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return "swizzle, which the interpreter does not know";
  return reinterpret_cast<uintptr_t>(base) % 16 != 0 ? "base address not a multiple of 16" : nullptr;
}

CUresult refuse(const char* why) {
  std::fprintf(stderr, "standin: cuTensorMapEncodeTiled refuses: %s\n", why);
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                           const cuuint64_t* size, const cuuint64_t* stride, const cuuint32_t* box,
                           const cuuint32_t* step, CUtensorMapInterleave interleave,
                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  if (const char* why = check_whole(map, type, rank, base, interleave, swizzle)) return refuse(why);
  ptx::TensorMap m;
  m.magic = ptx::kTensorMapMagic;
  m.base = reinterpret_cast<uintptr_t>(base);
  m.type = static_cast<ptx::u8>(type);
  m.rank = static_cast<ptx::u8>(rank);
  m.swizzle = static_cast<ptx::u8>(swizzle);
  m.nan_fill = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  m.rounds_to_tf32 = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  m.element_bytes = static_cast<ptx::u8>(kBytesOf[type]);
  for (cuuint32_t d = 0; d < rank; ++d)
    if (const char* why = add_dimension(m, d, size[d], d > 0 ? stride[d - 1] : 0, box[d], step[d]))
      return refuse(why);
  const int line = static_cast<int>(box[0]) * m.element_bytes;
  if (line % 16 != 0) return refuse("a line of the box is not a multiple of 16 bytes");
  if (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && line > 16 << swizzle)
    return refuse("a line of the box is longer than the swizzle");
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &m, sizeof m);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  const bool known = std::strcmp(name, "cuTensorMapEncodeTiled") == 0;
  *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  *function = known ? reinterpret_cast<void*>(&encode_tensor_map) : nullptr;
  return result(cudaSuccess, __func__);
}

}  // extern "C"

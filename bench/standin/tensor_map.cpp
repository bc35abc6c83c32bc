// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col of the driver, and the runtime's function by which the
// program finds them. They refuse what the driver's documentation does not allow, and interleaved layouts and
// other swizzles, which the interpreter does not know; they say why on stderr.
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
const char* add_dimension(ptx::TensorMap& m, cuuint32_t d, cuuint64_t size, cuuint64_t stride,
                          cuuint32_t step) {
  if (size == 0 || size > cuuint64_t{1} << 32) return "size";
  if (d > 0 && (stride % 16 != 0 || stride >= cuuint64_t{1} << 40))
    return "stride not a multiple of 16 below 2^40";
  if (step == 0 || step > 8) return "element stride";
  m.size_less_one[d] = static_cast<ptx::u32>(size - 1);
  if (d > 0) m.stride[d - 1] = stride;
  m.step[d] = d == 0 ? 1 : static_cast<ptx::u8>(step);  // ignored in dimension 0
  return nullptr;
}

// Of the box of pixels, from `lower` to the tensor's last pixel plus `upper`.
const char* add_corners(ptx::TensorMap& m, cuuint32_t d, int lower, int upper) {
  const int limit = 1 << (ptx::im2col_bits(m.rank) - 1);
  for (const int corner : {lower, upper})
    if (corner < -limit || corner >= limit) return "corner";
  if (ptx::s64{m.size_less_one[d]} + upper < lower) return "empty box";
  m.lower[d - 1] = static_cast<ptx::s16>(lower);
  m.upper[d - 1] = static_cast<ptx::s16>(upper);
  return nullptr;
}

const char* check_whole(const CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                        cuuint32_t least_rank, const void* base, CUtensorMapInterleave interleave,
                        CUtensorMapSwizzle swizzle) {
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0) return "the map is not aligned to 64 bytes";
  if (type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return "element type";
  if (rank < least_rank || rank > 5) return "rank";
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return "interleave, which the interpreter does not know";
  if (swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return "swizzle, which the interpreter does not know";
  return reinterpret_cast<uintptr_t>(base) % 16 != 0 ? "base address not a multiple of 16" : nullptr;
}

const char* check_line(const ptx::TensorMap& m) {
  const int line = m.box[0] * m.element_bytes;
  if (line % 16 != 0) return "a line is not a multiple of 16 bytes";
  return m.swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && line > 16 << m.swizzle
             ? "a line is longer than the swizzle"
             : nullptr;
}

ptx::TensorMap map_of(CUtensorMapDataType type, cuuint32_t rank, const void* base, CUtensorMapSwizzle swizzle,
                      CUtensorMapFloatOOBfill fill) {
  ptx::TensorMap m;
  m.magic = ptx::kTensorMapMagic;
  m.base = reinterpret_cast<uintptr_t>(base);
  m.type = static_cast<ptx::u8>(type);
  m.rank = static_cast<ptx::u8>(rank);
  m.swizzle = static_cast<ptx::u8>(swizzle);
  m.nan_fill = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  m.rounds_to_tf32 = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  m.element_bytes = static_cast<ptx::u8>(kBytesOf[type]);
  return m;
}

CUresult give(CUtensorMap* map, const ptx::TensorMap& m) {
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &m, sizeof m);
  return CUDA_SUCCESS;
}

CUresult refuse(const char* function, const char* why) {
  std::fprintf(stderr, "standin: %s refuses: %s\n", function, why);
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                      const cuuint64_t* size, const cuuint64_t* stride, const cuuint32_t* box,
                      const cuuint32_t* step, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  constexpr const char* kName = "cuTensorMapEncodeTiled";
  if (const char* why = check_whole(map, type, rank, 1, base, interleave, swizzle)) return refuse(kName, why);
  ptx::TensorMap m = map_of(type, rank, base, swizzle, fill);
  for (cuuint32_t d = 0; d < rank; ++d) {
    if (const char* why = add_dimension(m, d, size[d], d > 0 ? stride[d - 1] : 0, step[d]))
      return refuse(kName, why);
    if (box[d] == 0 || box[d] > 256) return refuse(kName, "box");
    m.box[d] = static_cast<ptx::u16>(box[d]);
  }
  if (const char* why = check_line(m)) return refuse(kName, why);
  return give(map, m);
}

CUresult encode_im2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                       const cuuint64_t* size, const cuuint64_t* stride, const int* lower, const int* upper,
                       cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* step,
                       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                       CUtensorMapFloatOOBfill fill) {
  constexpr const char* kName = "cuTensorMapEncodeIm2col";
  if (const char* why = check_whole(map, type, rank, 3, base, interleave, swizzle)) return refuse(kName, why);
  ptx::TensorMap m = map_of(type, rank, base, swizzle, fill);
  for (cuuint32_t d = 0; d < rank; ++d) {
    const char* why = add_dimension(m, d, size[d], d > 0 ? stride[d - 1] : 0, step[d]);
    if (!why && d > 0 && d + 1 < rank) why = add_corners(m, d, lower[d - 1], upper[d - 1]);
    if (why) return refuse(kName, why);
  }
  if (channels == 0 || channels > 256) return refuse(kName, "channels per pixel");
  if (pixels == 0 || pixels > 1024) return refuse(kName, "pixels per column");
  m.box[0] = static_cast<ptx::u16>(channels);
  m.pixels = static_cast<ptx::u16>(pixels);
  if (const char* why = check_line(m)) return refuse(kName, why);
  return give(map, m);
}

void* function_of(const char* name) {
  if (std::strcmp(name, "cuTensorMapEncodeTiled") == 0) return reinterpret_cast<void*>(&encode_tiled);
  if (std::strcmp(name, "cuTensorMapEncodeIm2col") == 0) return reinterpret_cast<void*>(&encode_im2col);
  return nullptr;
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *function = function_of(name);
  *found = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return result(cudaSuccess, __func__);
}

}  // extern "C"

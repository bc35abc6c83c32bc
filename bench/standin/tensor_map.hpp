// cuTensorMapEncodeTiled of the driver.
#pragma once

#include <cuda.h>

namespace convscope::standin {

// Refuses what the documentation of the driver's function does not allow, and interleaved layouts and other
// swizzles, which the interpreter does not know; says why on stderr.
CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                           const cuuint64_t* size, const cuuint64_t* stride, const cuuint32_t* box,
                           const cuuint32_t* step, CUtensorMapInterleave interleave,
                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                           CUtensorMapFloatOOBfill fill);

}  // namespace convscope::standin

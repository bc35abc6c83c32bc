// What the program uses of NCCL's interface, which has been the same since NCCL 2.7: a build needs no header
// of it (nccl_test.cpp compares where there is one).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace convscope::cuda::nccl {

struct UniqueId {  // ncclUniqueId, passed by value
  char internal[128];
};
using Comm = void*;  // ncclComm_t

// ncclResult_t, ncclDataType_t, ncclRedOp_t
inline constexpr int kSuccess = 0, kUnhandledCudaError = 1, kInProgress = 7;
inline constexpr int kInt8 = 0, kFloat32 = 7;
inline constexpr int kSum = 0;

using GetVersion = int(int* version);
using GetUniqueId = int(UniqueId* id);
using CommInitRank = int(Comm* comm, int ranks, UniqueId id, int rank);
using CommEnd = int(Comm comm);  // ncclCommDestroy and ncclCommAbort
using CommGetAsyncError = int(Comm comm, int* error);
using GetErrorString = const char*(int result);
using GetLastError = const char*(Comm comm);  // since 2.13
using AllReduce = int(const void* from, void* to, size_t count, int type, int operation, Comm comm,
                      cudaStream_t stream);
using Send = int(const void* from, size_t count, int type, int peer, Comm comm, cudaStream_t stream);
using Receive = int(void* to, size_t count, int type, int peer, Comm comm, cudaStream_t stream);
using Group = int();  // ncclGroupStart and ncclGroupEnd

// "2.28.9" of what ncclGetVersion says.
inline constexpr int major_of(int version) {
  return version < 10'000 ? version / 1000 : version / 10'000;
}
inline constexpr int minor_of(int version) {
  return version < 10'000 ? version % 1000 / 100 : version % 10'000 / 100;
}
inline constexpr int patch_of(int version) {
  return version % 100;
}

}  // namespace convscope::cuda::nccl

// The interface of NCCL that the program has of its own, and what it says of a library that is not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "bench/device/communicator.hpp"
#include "bench/device/cuda/nccl_interface.hpp"

// Not where the stand-in is the only runtime: the header needs the real one.
#if defined(__CUDA_RUNTIME_API_H__) && __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace convscope::cuda {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

#ifdef NCCL_VERSION_CODE
TEST(NcclInterface, IsThatOfTheHeader) {
  EXPECT_EQ(nccl::kSuccess, ncclSuccess);
  EXPECT_EQ(nccl::kUnhandledCudaError, ncclUnhandledCudaError);
  EXPECT_EQ(nccl::kInProgress, ncclInProgress);
  EXPECT_EQ(nccl::kInt8, ncclInt8);
  EXPECT_EQ(nccl::kFloat32, ncclFloat32);
  EXPECT_EQ(nccl::kSum, ncclSum);
  static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));
  static_assert(sizeof(nccl::Comm) == sizeof(ncclComm_t));
  static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int) &&
                sizeof(ncclRedOp_t) == sizeof(int));
  // As many arguments of the same sizes: an enumeration is passed as an int is.
  static_assert(std::is_invocable_v<decltype(ncclAllReduce), const void*, void*, size_t, ncclDataType_t,
                                    ncclRedOp_t, ncclComm_t, cudaStream_t>);
  static_assert(std::is_invocable_v<decltype(ncclSend), const void*, size_t, ncclDataType_t, int, ncclComm_t,
                                    cudaStream_t>);
  static_assert(std::is_invocable_v<decltype(ncclCommInitRank), ncclComm_t*, int, ncclUniqueId, int>);
  EXPECT_EQ(nccl::major_of(NCCL_VERSION_CODE), NCCL_MAJOR);
  EXPECT_EQ(nccl::minor_of(NCCL_VERSION_CODE), NCCL_MINOR);
  EXPECT_EQ(nccl::patch_of(NCCL_VERSION_CODE), NCCL_PATCH);
}
#endif

TEST(NcclInterface, ReadsVersionsOfBothForms) {
  EXPECT_EQ(nccl::major_of(2708), 2);  // until 2.8
  EXPECT_EQ(nccl::minor_of(2708), 7);
  EXPECT_EQ(nccl::patch_of(2708), 8);
  EXPECT_EQ(nccl::minor_of(22809), 28);
}

TEST(Nccl, IsThereOrSaysWhatWasLookedFor) {
  EXPECT_THAT(communication_defect(),
              AnyOf(IsEmpty(), AllOf(HasSubstr("libnccl.so.2"), HasSubstr("not found"))));
  if (!communication_defect().empty()) return;
  EXPECT_THAT(communication_library(), ::testing::StartsWith("NCCL 2."));
}

}  // namespace
}  // namespace convscope::cuda

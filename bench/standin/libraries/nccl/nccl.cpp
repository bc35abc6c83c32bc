// The functions of NCCL that the program opens: sums and messages in f32 and bytes between threads or
// processes of this machine, by loops. The types are declared here, as NCCL's header is not part of the CUDA
// toolkit; they are those of its API reference. Strict: arguments, groups and the order of calls are checked.
// As with the real one, a rank that never comes is waited for in the stream, and in the init.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "bench/standin/libraries/nccl/shared_ranks.hpp"
#include "bench/standin/libraries/runtime.hpp"
#include "bench/standin/libraries/script.hpp"

struct ncclComm {
  std::shared_ptr<convscope::standin::SharedRanks> ranks;
};

namespace convscope::standin {
namespace {

enum NcclResult {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6
};
constexpr int kInt8 = 0, kFloat32 = 7, kSum = 0;

struct UniqueId {
  char internal[128];
};

// What a thread has put into its group.
struct Group {
  bool is_open = false;
  ncclComm* comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<SharedRanks::Sent> sent;
  std::vector<SharedRanks::Received> received;
};
thread_local Group group;
thread_local std::string last_words;

int failed(int result, const char* words) {
  last_words = words;
  return result;
}

int result_of(const Fault& fault) {
  return failed(fault.status, fault.words.c_str());
}

int enqueue_on(cudaStream_t stream, std::function<void()> work) {
  return enqueue(stream, std::move(work)) == cudaSuccess ? kSuccess : kUnhandledCudaError;
}

int add_to_group(ncclComm* comm, cudaStream_t stream, int peer) {
  if (comm == nullptr || peer < 0 || peer >= comm->ranks->size() || peer == comm->ranks->rank())
    return failed(kInvalidArgument, "a peer that is not there");
  if (!group.is_open) return failed(kInvalidUsage, "the stand-in has messages in groups only");
  if (group.comm != nullptr && (group.comm != comm || group.stream != stream))
    return failed(kInvalidUsage, "the stand-in has one communicator and stream a group");
  group.comm = comm;
  group.stream = stream;
  return kSuccess;
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

int ncclGetVersion(int* version) {
  if (version == nullptr) return kInvalidArgument;
  const auto part = [](int i) { return version_part("nccl", i, {2, 28, 9}); };
  const bool is_old = part(0) <= 2 && part(1) <= 8;
  *version = part(0) * (is_old ? 1000 : 10'000) + part(1) * 100 + part(2);
  return kSuccess;
}

int ncclGetUniqueId(UniqueId* id) {
  if (const Fault fault = enter("ncclGetUniqueId")) return result_of(fault);
  if (id == nullptr) return kInvalidArgument;
  static std::atomic<int> made = 0;
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "/convscope-standin-nccl-%d-%d",
                static_cast<int>(getpid()), ++made);
  return kSuccess;
}

int ncclCommInitRank(ncclComm** comm, int ranks, UniqueId id, int rank) {
  if (const Fault fault = enter("ncclCommInitRank")) return result_of(fault);
  if (comm == nullptr || ranks < 1 || ranks > kMaxRanks || rank < 0 || rank >= ranks ||
      std::strncmp(id.internal, "/convscope", 10) != 0)
    return failed(kInvalidArgument, "no such rank, or an id that ncclGetUniqueId did not make");
  if (device_error() != cudaSuccess) return kUnhandledCudaError;
  try {
    *comm = new ncclComm{std::make_shared<SharedRanks>(id.internal, rank, ranks)};
  } catch (const std::exception& error) {
    return failed(kSystemError, error.what());
  }
  return kSuccess;
}

int ncclCommDestroy(ncclComm* comm) {
  if (comm == nullptr) return kSuccess;
  delete comm;  // what is in a stream holds on to the memory
  return kSuccess;
}

int ncclCommAbort(ncclComm* comm) {
  if (comm == nullptr) return kSuccess;
  comm->ranks->abort();
  return ncclCommDestroy(comm);
}

int ncclCommGetAsyncError(ncclComm* comm, int* error) {
  if (comm == nullptr || error == nullptr) return kInvalidArgument;
  *error = kSuccess;
  if (const Fault fault = enter("ncclCommGetAsyncError")) *error = result_of(fault);
  return kSuccess;
}

const char* ncclGetErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "no error";
    case kUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case kSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case kInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case kInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case kRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "internal error - please report this issue to the NCCL developers";
  }
}

const char* ncclGetLastError(ncclComm*) {
  return last_words.c_str();
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation, ncclComm* comm,
                  cudaStream_t stream) {
  if (const Fault fault = enter("ncclAllReduce")) return result_of(fault);
  if (comm == nullptr || from == nullptr || to == nullptr || type != kFloat32 || operation != kSum)
    return failed(kInvalidArgument, "the stand-in sums f32");
  if (group.is_open) return failed(kInvalidUsage, "the stand-in has no sums in groups");
  const bool is_wrong = section("nccl").value("wrong_rank", -1) == comm->ranks->rank();
  return enqueue_on(stream, [=, ranks = comm->ranks] {
    const std::span sums(static_cast<float*>(to), count);
    ranks->sum({static_cast<const float*>(from), count}, sums);
    if (is_wrong) sums[0] += 1;
  });
}

int ncclGroupStart() {
  if (const Fault fault = enter("ncclGroupStart")) return result_of(fault);
  if (group.is_open) return failed(kInvalidUsage, "the stand-in has no groups in groups");
  group = {};
  group.is_open = true;
  return kSuccess;
}

int ncclSend(const void* from, size_t count, int type, int peer, ncclComm* comm, cudaStream_t stream) {
  if (const Fault fault = enter("ncclSend")) return result_of(fault);
  if (from == nullptr || count == 0 || type != kInt8)
    return failed(kInvalidArgument, "the stand-in sends bytes");
  if (const int result = add_to_group(comm, stream, peer)) return result;
  group.sent.push_back({peer, {static_cast<const std::byte*>(from), count}});
  return kSuccess;
}

int ncclRecv(void* to, size_t count, int type, int peer, ncclComm* comm, cudaStream_t stream) {
  if (const Fault fault = enter("ncclRecv")) return result_of(fault);
  if (to == nullptr || count == 0 || type != kInt8)
    return failed(kInvalidArgument, "the stand-in sends bytes");
  if (const int result = add_to_group(comm, stream, peer)) return result;
  group.received.push_back({peer, {static_cast<std::byte*>(to), count}});
  return kSuccess;
}

int ncclGroupEnd() {
  if (!group.is_open) return failed(kInvalidUsage, "no group is open");
  const Group ended = std::move(group);
  group = {};
  if (const Fault fault = enter("ncclGroupEnd")) return result_of(fault);
  if (ended.comm == nullptr) return kSuccess;
  return enqueue_on(ended.stream,
                    [ended, ranks = ended.comm->ranks] { ranks->exchange(ended.sent, ended.received); });
}

}  // extern "C"

// Communicator by NCCL, which is loaded at run time.
#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "bench/device/communicator.hpp"
#include "bench/device/cuda/check.hpp"
#include "bench/device/cuda/cuda_queue.hpp"
#include "bench/device/cuda/nccl_interface.hpp"
#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cuda {
namespace {

// Places in the queue of launches that one call takes, at most.
constexpr int kOperationsPerCall = 4;
// The stream is asked so often before the library is asked for errors of its own.
constexpr int kPollsBetweenChecks = 256;

constexpr const char* kFunctions[] = {"ncclGetVersion",        "ncclGetUniqueId",    "ncclCommInitRank",
                                      "ncclCommDestroy",       "ncclCommAbort",      "ncclAllReduce",
                                      "ncclCommGetAsyncError", "ncclGetErrorString", "ncclGroupStart",
                                      "ncclGroupEnd",          "ncclSend",           "ncclRecv"};

const SharedLibrary& library() {
  static const SharedLibrary loaded({"libnccl.so.2"}, "nccl");
  return loaded;
}

template <typename Function>
Function* function(const char* name) {
  return library().function<Function>(name);
}

std::string version_text(const SharedLibrary& loaded) {
  const auto ask = loaded.function<nccl::GetVersion>("ncclGetVersion");
  int version = 0;
  if (ask == nullptr || ask(&version) != nccl::kSuccess) return "";
  return fmt::format("{}.{}.{}", nccl::major_of(version), nccl::minor_of(version), nccl::patch_of(version));
}

// `comm` may be null. The library's last words often say more than the status, but are not there in all.
void check_result(int result, const char* call, nccl::Comm comm) {
  if (result == nccl::kSuccess) return;
  std::string message =
      fmt::format("{}: {}", call, function<nccl::GetErrorString>("ncclGetErrorString")(result));
  if (const auto last = function<nccl::GetLastError>("ncclGetLastError")) {
    const char* words = last(comm);
    if (words != nullptr && *words != '\0') message += fmt::format(" ({})", words);
  }
  if (result == nccl::kUnhandledCudaError) check_device_after(message);
  throw DeviceError(message + "; NCCL_DEBUG=WARN says more");
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const CommunicatorId& id, int rank, int ranks)
      : all_reduce_(function<nccl::AllReduce>("ncclAllReduce")),
        send_(function<nccl::Send>("ncclSend")),
        receive_(function<nccl::Receive>("ncclRecv")),
        begin_group_(function<nccl::Group>("ncclGroupStart")),
        end_group_(function<nccl::Group>("ncclGroupEnd")),
        ask_error_(function<nccl::CommGetAsyncError>("ncclCommGetAsyncError")) {
    nccl::UniqueId unique;
    static_assert(sizeof unique.internal == std::tuple_size_v<CommunicatorId>);
    std::memcpy(unique.internal, id.data(), id.size());
    check(function<nccl::CommInitRank>("ncclCommInitRank")(&comm_, ranks, unique, rank), "ncclCommInitRank");
  }
  ~NcclCommunicator() override {
    if (std::uncaught_exceptions() > 0)
      abort();
    else if (comm_ != nullptr)
      function<nccl::CommEnd>("ncclCommDestroy")(comm_);
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  void all_reduce(std::span<float> values, Queue& queue) override {
    check(all_reduce_(values.data(), values.data(), values.size(), nccl::kFloat32, nccl::kSum, comm_,
                      stream_of(queue)),
          "ncclAllReduce");
  }

  void exchange(std::span<const Sent> sent, std::span<const Received> received, Queue& queue) override {
    cudaStream_t stream = stream_of(queue);
    check(begin_group_(), "ncclGroupStart");
    int failed = nccl::kSuccess;
    const char* call = "";
    const auto add = [&](int result, const char* name) {
      if (failed == nccl::kSuccess && result != nccl::kInProgress) failed = result, call = name;
    };
    for (const Received& message : received)
      add(receive_(message.bytes.data(), message.bytes.size(), nccl::kInt8, message.from, comm_, stream),
          "ncclRecv");
    for (const Sent& message : sent)
      add(send_(message.bytes.data(), message.bytes.size(), nccl::kInt8, message.to, comm_, stream),
          "ncclSend");
    const int ended = end_group_();  // also after a failure: the group is the thread's
    check(failed, call);
    check(ended, "ncclGroupEnd");
  }

  void wait(Queue& queue) override {
    cudaStream_t stream = cuda_queue(queue).stream_for(0);
    for (int64_t polls = 1;; ++polls) {
      const cudaError_t state = cudaStreamQuery(stream);
      if (state == cudaSuccess) return check_error();
      if (state != cudaErrorNotReady) cuda::check(state, "cudaStreamQuery");
      if (polls % kPollsBetweenChecks == 0) check_error();
      std::this_thread::yield();  // threads of NCCL and other ranks may need the core
    }
  }

 private:
  // Where NCCL_COMM_BLOCKING=0 is set, calls return before they are done.
  void check(int result, const char* call) {
    while (result == nccl::kInProgress) {
      std::this_thread::yield();
      if (ask_error_(comm_, &result) != nccl::kSuccess) break;
    }
    end_where_bad(result, call);
  }
  void check_error() {
    int error = nccl::kSuccess;
    const int asked = ask_error_(comm_, &error);
    if (error == nccl::kInProgress) error = nccl::kSuccess;
    end_where_bad(asked == nccl::kSuccess ? error : asked, "NCCL, while its work ran");
  }
  // What waits for another rank in the stream ends with the communicator, and freeing memory waits for it.
  void end_where_bad(int result, const char* call) {
    try {
      check_result(result, call, comm_);
    } catch (...) {
      abort();
      throw;
    }
  }
  void abort() {
    if (comm_ != nullptr) function<nccl::CommEnd>("ncclCommAbort")(std::exchange(comm_, nullptr));
  }
  static cudaStream_t stream_of(Queue& queue) { return cuda_queue(queue).stream_for(kOperationsPerCall); }

  nccl::Comm comm_ = nullptr;
  nccl::AllReduce* all_reduce_;
  nccl::Send* send_;
  nccl::Receive* receive_;
  nccl::Group *begin_group_, *end_group_;
  nccl::CommGetAsyncError* ask_error_;
};

}  // namespace

std::string communication_defect() {
  static const std::string found = defect(
      library(),
      {.name = "NCCL", .versions = "NCCL 2.7 or newer", .functions = kFunctions, .version = version_text});
  return found;
}

std::string communication_library() {
  if (const std::string defect = communication_defect(); !defect.empty())
    throw DeviceError("no NCCL: " + defect);
  return "NCCL " + version_text(library());
}

CommunicatorId make_communicator_id() {
  nccl::UniqueId unique{};
  check_result(function<nccl::GetUniqueId>("ncclGetUniqueId")(&unique), "ncclGetUniqueId", nullptr);
  CommunicatorId id;
  std::memcpy(id.data(), unique.internal, id.size());
  return id;
}

std::unique_ptr<Communicator> make_communicator(const CommunicatorId& id, int rank, int ranks, Device&) {
  communication_library();
  return std::make_unique<NcclCommunicator>(id, rank, ranks);
}

}  // namespace convscope::cuda

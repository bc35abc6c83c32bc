#include "algorithms/cudnn/backend/api.hpp"

#include <fmt/format.h>

#include <new>

#include "bench/algorithm/algorithm.hpp"
#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cudnn {
namespace {

constexpr size_t kMajor = 9;

// What a major version counts for in cuDNN's numbers; the form changed with cuDNN 9.
size_t unit_of(size_t version) {
  return version < 90000 ? 1000 : 10000;
}

// What was found, where it is not what is needed.
std::string found_and_needed(const Api& api) {
  return fmt::format(
      "cuDNN {} was found; cuDNN {} is needed (this program was built with {})",
      api.version == nullptr ? "of a version that it does not tell" : version_text(api.version()), kMajor,
      version_text(CUDNN_VERSION));
}

template <typename Function>
void load(Api& api, Function*& function, const char* name) {
  function = api.library.function<Function>(name);
  if (function == nullptr && api.defect.empty())
    api.defect = fmt::format("{}: there is no function {}", found_and_needed(api), name);
}

Api load_api() {
  Api a{cuda::SharedLibrary({"libcudnn.so.9"}, "cudnn"), ""};
  a.defect = a.library.defect();
  load(a, a.version, "cudnnGetVersion");
  if (a.version != nullptr && a.version() / unit_of(a.version()) != kMajor) a.defect = found_and_needed(a);
#define CONVSCOPE_LOAD(member, function) load(a, a.member, #function);
  CONVSCOPE_CUDNN_FUNCTIONS(CONVSCOPE_LOAD)
#undef CONVSCOPE_LOAD
  return a;
}

// What went wrong last on this thread, on one line.
std::string last_words() {
  char buffer[2048] = "";
  api().last_error_string(buffer, sizeof(buffer));
  std::string words = buffer;
  while (!words.empty() && words.back() == '\n') words.pop_back();
  for (char& c : words)
    if (c == '\n') c = ' ';
  return words;
}

}  // namespace

std::string version_text(size_t version) {
  return fmt::format("{}.{}.{}", version / unit_of(version), version % unit_of(version) / 100, version % 100);
}

const Api& api() {
  static const Api loaded = load_api();
  return loaded;
}

void check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::string message = fmt::format("{}: {}", call, api().error_string(status));
  if (const std::string words = last_words(); !words.empty()) message += ": " + words;
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    throw std::bad_alloc();
  // Said of an installation that lacks something, not of the problem; perhaps one engine alone needs it.
  switch (status) {
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER:
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART:
    case CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING:
    case CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE:
      throw Refused(Reason::library_missing, message);
    default:
      break;
  }
  const int category = CUDNN_STATUS_CATEGORY(static_cast<int>(status));
  if (category == CUDNN_STATUS_NOT_SUPPORTED) throw Refused(Reason::library_refused, message);
  if (category == CUDNN_STATUS_INTERNAL_ERROR || category == CUDNN_STATUS_EXECUTION_FAILED)
    cuda::check_device_after(message);
  throw DeviceError(message);
}

Handle shared_handle() {
  static std::weak_ptr<cudnnContext> current;
  Handle handle = current.lock();
  if (handle) return handle;
  if (!api().defect.empty()) throw DeviceError("no cuDNN: " + api().defect);
  cudnnHandle_t made = nullptr;
  check(api().create(&made), "cudnnCreate");
  handle = Handle(made, api().destroy);
  current = handle;
  return handle;
}

}  // namespace convscope::cudnn

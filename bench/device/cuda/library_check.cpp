#include "bench/device/cuda/library_check.hpp"

#include <fmt/format.h>

#include "bench/device/cuda/check.hpp"

namespace convscope::cuda {
namespace {

// "13.1.0", or words where the library does not tell.
std::string version_of(const SharedLibrary& library, const char* property) {
  const auto ask = library.function<int(int kind, int* value)>(property);
  int numbers[3] = {};
  for (int kind = 0; kind < 3; ++kind)
    if (ask == nullptr || ask(kind, &numbers[kind]) != 0) return "of a version that it does not tell";
  return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
}

}  // namespace

std::string defect(const SharedLibrary& library, const LibraryNeeds& needs) {
  if (!library.defect().empty()) return library.defect();
  for (const char* function : needs.functions)
    if (library.function<void()>(function) == nullptr)
      return fmt::format("{} {} was found, which has no function {}; {} is needed", needs.name,
                         version_of(library, needs.property), function, needs.versions);
  return "";
}

void check_device_after(const std::string& message) {
  // A query does not wait for work that is held back.
  const cudaError_t state = cudaStreamQuery(nullptr);
  if (state != cudaErrorNotReady) check(state, message.c_str());
}

}  // namespace convscope::cuda

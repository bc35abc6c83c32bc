// The program for libFuzzer (scripts/fuzz): gives the reader that FUZZED_READER names whatever bytes the
// fuzzer makes. UsageError is an answer; any other exception ends the program, which the fuzzer reports.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "bench/cli/fuzz/readers.hpp"
#include "bench/core/error.hpp"

namespace {

const convscope::FuzzedReader& reader() {
  static const convscope::FuzzedReader& chosen = []() -> const convscope::FuzzedReader& {
    const char* name = std::getenv("FUZZED_READER");
    for (const convscope::FuzzedReader& one : convscope::fuzzed_readers())
      if (name != nullptr && one.name == name) return one;
    std::fprintf(stderr, "FUZZED_READER is none of:");
    for (const convscope::FuzzedReader& one : convscope::fuzzed_readers())
      std::fprintf(stderr, " %.*s", static_cast<int>(one.name.size()), one.name.data());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }();
  return chosen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    reader().read({reinterpret_cast<const char*>(data), size});
  } catch (const convscope::UsageError&) {
  }
  return 0;
}

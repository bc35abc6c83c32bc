// Every reader of text and files that a user gives, as a function of bytes, for fuzzing: whatever the bytes
// are, it takes them or throws UsageError. Any other exception, a crash or a report of a sanitizer is a fault
// of the reader. Readers that have a writer are also given what was written of what they took, which they
// must take again; std::logic_error says that one did not. No reader here touches the disk.
#pragma once

#include <span>
#include <string_view>

namespace convscope {

struct FuzzedReader {
  std::string_view name;  // of its folder of corpus/, too
  void (*read)(std::string_view bytes);
};
std::span<const FuzzedReader> fuzzed_readers();

}  // namespace convscope

// Whether a test runs under a sanitizer, which looks for faults of memory or of threads and not of rounding,
// and takes many times as long: tests over many problems or large ones take fewer or smaller ones there.
#pragma once

namespace convscope {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Of so many random problems, how many to try: a quarter of them under a sanitizer.
constexpr int problems_to_try(int usual) {
  return kSanitized ? (usual + 3) / 4 : usual;
}

}  // namespace convscope

// A library to preload (LD_PRELOAD): what the script's section "missing" names cannot be opened, or is not
// found in what was opened. So a test has a machine without a library, or with one that is too old, where
// there is one.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bench/standin/libraries/script.hpp"

namespace {

bool is_missing(const char* kind, const std::string& name) {
  const auto missing = convscope::standin::section("missing").value(kind, std::vector<std::string>());
  return std::find(missing.begin(), missing.end(), name) != missing.end();
}

#if defined(__aarch64__)
constexpr const char* kFirstGlibc = "GLIBC_2.17";
#else
constexpr const char* kFirstGlibc = "GLIBC_2.2.5";
#endif

// glibc's own; RTLD_NEXT would find dlsym by way of dlsym.
using Find = void*(void*, const char*);
Find* real_dlsym() {
  static const auto found = reinterpret_cast<Find*>(dlvsym(RTLD_NEXT, "dlsym", kFirstGlibc));
  return found;
}

}  // namespace

extern "C" {

void* dlopen(const char* file, int mode) {
  using Open = void*(const char*, int);
  static const auto open = reinterpret_cast<Open*>(real_dlsym()(RTLD_NEXT, "dlopen"));
  if (file == nullptr) return open(file, mode);
  const char* slash = std::strrchr(file, '/');
  if (!is_missing("libraries", slash == nullptr ? file : slash + 1)) return open(file, mode);
  // The words of dlerror() are glibc's, on a file that is nowhere.
  return open((std::string(file) + ".missing").c_str(), mode);
}

void* dlsym(void* library, const char* name) noexcept {
  return is_missing("functions", name) ? nullptr : real_dlsym()(library, name);
}

}  // extern "C"

// All algorithms of this build. Filled once by register_all() (generated: one add_<folder>() call per folder
// of algorithms/, in sorted order), read-only afterwards.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/algorithm/algorithm.hpp"

namespace convscope {

class Registry {
 public:
  // Throws std::logic_error when the id is taken.
  void add(std::unique_ptr<Algorithm> algorithm);
  const Algorithm* find(std::string_view id) const;  // null when unknown
  // In order of registration.
  std::vector<const Algorithm*> all() const;

 private:
  std::vector<std::unique_ptr<Algorithm>> algorithms_;
};

// True when `text` matches `glob`: the shell's `*`, `?` and `[...]`.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace convscope

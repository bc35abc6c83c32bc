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
  // Throws std::logic_error when the id is taken. A candidate for the CPU gets a form with a separate
  // epilogue (separate_epilogue.hpp).
  void add(std::unique_ptr<Algorithm> algorithm);
  // Separate forms too; null when unknown.
  const Algorithm* find(std::string_view id) const;
  // In order of registration, without separate forms.
  std::vector<const Algorithm*> all() const;
  // The separate form of an algorithm; null where there is none.
  const Algorithm* separate(const Algorithm& algorithm) const;

 private:
  std::vector<std::unique_ptr<Algorithm>> algorithms_, separate_;
};

// True when `text` matches `glob`: the shell's `*`, `?` and `[...]`.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace convscope

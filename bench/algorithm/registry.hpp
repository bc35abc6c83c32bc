// All algorithms of this build. Filled once by register_all() (generated: one add_<folder>() call per folder
// of algorithms/, in sorted order), read-only afterwards.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/algorithm/operation_algorithm.hpp"

namespace convscope {

class Registry {
 public:
  // Throws std::logic_error when the id is taken. A candidate gets a form with a separate epilogue
  // (separate_epilogue.hpp), but for those on request, which are many of a kind.
  void add(std::unique_ptr<Algorithm> algorithm);
  // Separate forms too; null when unknown.
  const Algorithm* find(std::string_view id) const;
  // In order of registration, without separate forms.
  std::vector<const Algorithm*> all() const;
  // The separate form of an algorithm; null where there is none.
  const Algorithm* separate(const Algorithm& algorithm) const;

  void add_operations(std::unique_ptr<OperationAlgorithm> operations);
  const std::vector<std::unique_ptr<OperationAlgorithm>>& operations() const { return operations_; }

 private:
  std::vector<std::unique_ptr<Algorithm>> algorithms_, separate_;
  std::vector<std::unique_ptr<OperationAlgorithm>> operations_;
};

// True when `text` matches `glob`: the shell's `*`, `?` and `[...]`.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace convscope

// The kernels of a PTX text; each is parsed on first use.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ptx/kernel.hpp"

namespace convscope::ptx {

class Module {
 public:
  // Throws Fault for device functions and global variables, which are not supported.
  explicit Module(std::string text);

  const std::vector<std::string>& kernels() const { return names_; }
  // Null where there is none of that name. Throws Fault for unknown text.
  const Kernel* kernel(const std::string& name);

 private:
  friend class KernelParser;
  void read_outer_line(std::string_view line, size_t offset, int depth);

  std::string text_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> begin_;  // offset of a kernel's parameters in the text
  std::map<int, std::string> files_;
  std::map<std::string, Variable> shared_;
  std::map<std::string, std::unique_ptr<Kernel>> parsed_;
};

}  // namespace convscope::ptx

// A thread's asynchronous operations in the order of issue, closed into groups as cp.async and wgmma do.
#pragma once

#include <cstddef>
#include <vector>

namespace convscope::emulated::executor {

template <typename Operation>
class OperationGroups {
 public:
  void issue(const Operation& operation) { issued_.push_back(operation); }
  void commit() { ends_.push_back(issued_.size()); }
  // The operations of all but the newest `keep` groups, which are then forgotten. Valid until the next
  // finish().
  const std::vector<Operation>& finish(unsigned keep) {
    const size_t groups = ends_.size() > keep ? ends_.size() - keep : 0;
    const size_t end = groups ? ends_[groups - 1] : 0;
    finished_.assign(issued_.begin(), issued_.begin() + static_cast<ptrdiff_t>(end));
    issued_.erase(issued_.begin(), issued_.begin() + static_cast<ptrdiff_t>(end));
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<ptrdiff_t>(groups));
    for (size_t& remaining : ends_) remaining -= end;
    return finished_;
  }
  void clear() {
    issued_.clear();
    ends_.clear();
  }

 private:
  std::vector<Operation> issued_, finished_;
  std::vector<size_t> ends_;
};

}  // namespace convscope::emulated::executor

// For tests that try one problem with several variants, caps, orders or numbers of threads: what the problem
// must give is computed once.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "bench/verify/verification.hpp"

namespace convscope {

class Verifications {
 public:
  explicit Verifications(const VerifyOptions& options = {}) : options_(options) {}
  Verification& of(const ConvProblem& problem) {
    std::unique_ptr<Verification>& found = all_[to_line(problem)];
    if (found == nullptr) found = std::make_unique<Verification>(problem, options_);
    return *found;
  }

 private:
  VerifyOptions options_;
  std::map<std::string, std::unique_ptr<Verification>> all_;
};

}  // namespace convscope

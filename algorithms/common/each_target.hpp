// For tests: run something once for each instruction set that was compiled and that this machine has. The
// choice is the process's, so not for code that runs beside others.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace convscope {

// Only `target` for dynamic dispatch while it lives, then all again.
class OnlyTarget {
 public:
  explicit OnlyTarget(int64_t target) { allow(target); }
  ~OnlyTarget() { allow(0); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;

 private:
  static void allow(int64_t targets) {  // 0: all
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

// Calls body() under each target, whose name failures then show. Fails when there is none.
template <typename Body>
void for_each_target(const Body& body) {
  const auto targets = hwy::SupportedAndGeneratedTargets();
  EXPECT_FALSE(targets.empty());
  for (const int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    const OnlyTarget only(target);
    body();
  }
}

}  // namespace convscope

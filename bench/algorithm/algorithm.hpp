// The contract between the harness and every algorithm, hand-written or a library's: Support, Plan,
// Algorithm. docs/adding_an_algorithm.md walks through one. The contract test
// (algorithms/contract_test.cpp) sweeps all.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/core/algorithm_info.hpp"
#include "bench/core/problem.hpp"
#include "bench/device/device.hpp"

namespace convscope {

// Yes, or a refusal: a code and one full sentence that names the limit ("stride 2x2: Winograd needs stride
// 1").
class Support {
 public:
  static Support yes() { return {}; }
  static Support no(Reason reason, std::string why) { return {reason, std::move(why)}; }
  explicit operator bool() const { return reason_ == Reason::none; }
  Reason reason() const { return reason_; }
  const std::string& why() const { return why_; }

 private:
  Support() = default;
  Support(Reason reason, std::string why) : reason_(reason), why_(std::move(why)) {}
  Reason reason_ = Reason::none;
  std::string why_;
};

// One limit of an algorithm, for supports(): yes where it holds, else the refusal.
inline Support require(bool holds, Reason reason, std::string why) {
  return holds ? Support::yes() : Support::no(reason, std::move(why));
}
// The first of several limits that does not hold. All are evaluated: a text must make sense, or be cheap,
// where its limit holds.
inline Support first_refusal(std::initializer_list<Support> limits) {
  for (const Support& limit : limits)
    if (!limit) return limit;
  return Support::yes();
}

// Thrown by plan() where only planning shows that the problem cannot be taken, as with a library that refuses
// while it builds a plan. As good a refusal as Support's. A library that chooses adds all that it said.
class Refused : public std::runtime_error {
 public:
  Refused(Reason reason, const std::string& why) : std::runtime_error(why), reason_(reason) {}
  Refused(Reason reason, const std::string& why, LibraryAnswer answer)
      : std::runtime_error(why),
        reason_(reason),
        answer_(std::make_shared<const LibraryAnswer>(std::move(answer))) {}
  Reason reason() const { return reason_; }
  const LibraryAnswer* answer() const { return answer_.get(); }  // null where there is none

 private:
  Reason reason_;
  std::shared_ptr<const LibraryAnswer> answer_;  // so that copies do not throw
};

// The user's tensors in device memory, in the problem's layout, and the plan's scratch. The tensor that the
// pass writes holds NaN or old results before run(); the other two must not be written. They start on a
// cache line (64 bytes), the workspace on a page.
struct ConvArgs {
  void* input = nullptr;
  void* filter = nullptr;
  void* output = nullptr;
  void* workspace = nullptr;  // workspace_bytes(); prepare() and run() get the same one, untouched in between
  const float* bias = nullptr;  // of an epilogue that has one, a value for each output channel; read only

  void* tensor(Role role) const {
    return role == Role::input ? input : role == Role::filter ? filter : output;
  }
};

// What a plan may use. `workspace_cap` in bytes; a plan that can trade memory for time stays under it when
// possible.
struct PlanOptions {
  int64_t workspace_cap = INT64_MAX;
  int threads = 1;  // OpenMP threads that prepare() and run() will have
  int knobs = 0;  // of a library's engines: combinations of their knobs to try besides the defaults, at most
  // To be called after each of the many things that planning may try: a planner that is silent for long
  // counts as hung.
  std::function<void()> show_life = [] {};
};

// An algorithm made ready for one problem, to run any number of times. Built outside every timing; run()
// neither allocates nor waits.
class Plan {
 public:
  virtual ~Plan() = default;
  // Everything prepare() and run() need, prepared filters included.
  virtual int64_t workspace_bytes() const { return 0; }
  // What was chosen, for the record: a library's kernel name, a tile split such as "5+4+4".
  virtual std::string implementation() const { return ""; }
  // What a library said when it was asked to choose; null where none was.
  virtual const LibraryAnswer* answer() const { return nullptr; }
  // Work that depends on the filter alone and can be done once for many runs (forward and backward-data).
  virtual bool has_prepare() const { return false; }
  virtual void prepare(const ConvArgs&, Queue&) {}
  // Computes the written tensor completely (no accumulation into it).
  virtual void run(const ConvArgs&, Queue&) = 0;
  // What prepare() and run() do, counted from the schedule that this plan chose. Nothing where a library does
  // not say what it does.
  virtual std::optional<OperationCount> operations() const { return {}; }
  // The longest chain of dependent FP32 additions from a product to a result of one run: those in registers,
  // then those in memory, of chunks and of splits. The rounding error of a sum of random terms grows with its
  // square root (predicted_error.hpp). 0: not known.
  virtual double longest_sum() const { return 0; }
  // The relative error that tensor cores' additions toward zero give the longest chain of them, in the mean
  // (predicted_error.hpp).
  virtual double truncation_error() const { return 0; }
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual const AlgorithmInfo& info() const = 0;
  // Cheap and pure. A valid problem (validate()) is either supported or refused with a reason.
  Support supports(const ConvProblem& problem, const DeviceInfo& device) const {
    const Support epilogue = supports_epilogue(problem.epilogue);
    return epilogue ? takes(problem, device) : epilogue;
  }
  // Only for supported problems. Throws Refused, std::bad_alloc or another std::runtime_error.
  virtual std::unique_ptr<Plan> plan(const ConvProblem&, Device&, const PlanOptions&) const = 0;
  // How much larger the error may be than the direct method's on the same data: 1 for direct and GEMM. Used
  // by the element-wise bound of bench/verify beside the gate on the relative L2 error.
  virtual double error_growth(const ConvProblem&) const { return 1.0; }
  // How much larger the rounding errors of the sums of Plan::longest_sum() are in the result, relative to it
  // and in the mean over its elements, than those of a direct sum of as many terms.
  virtual double sum_growth(const ConvProblem&) const { return 1.0; }

 protected:
  // supports(), of problems without an epilogue or where the algorithm says that it takes them.
  virtual Support takes(const ConvProblem&, const DeviceInfo&) const = 0;

 private:
  Support supports_epilogue(Epilogue epilogue) const {
    const bool has_one = epilogue != Epilogue::none;
    return first_refusal(
        {require(!has_one || info().takes_epilogues, Reason::unsupported_epilogue,
                 "epilogue " + std::string(name(epilogue)) + ": this algorithm stores its sums as they are"),
         require(has_one || !info().takes_only_epilogues, Reason::unsupported_epilogue,
                 "no epilogue: this algorithm is another one with a pass for the epilogue after it")});
  }
};

// Why a plan that needs so much workspace is refused.
std::string over_cap_text(int64_t needed, int64_t cap);

// Algorithm::plan(), refused where its workspace is over the cap.
std::unique_ptr<Plan> plan_within_cap(const Algorithm& algorithm, const ConvProblem& problem, Device& device,
                                      const PlanOptions& options);

}  // namespace convscope

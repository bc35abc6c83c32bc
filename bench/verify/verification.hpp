// Verification of one problem: expected values computed once in f64, then every candidate of the problem is
// run on the same data and compared. Knows no algorithm. See docs/measuring.md for what each check catches.
#pragma once

#include <memory>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/algorithm_info.hpp"
#include "bench/core/problem.hpp"
#include "bench/device/buffer.hpp"

namespace convscope {

// The user's three tensors on a device, in the problem's layout, and the bias of its epilogue, in f32.
struct Operands {
  Buffer input, filter, output, bias;
  ConvArgs args(void* workspace) const {
    const float* const values = bias.bytes() > 0 ? bias.as<const float>() : nullptr;
    return {input.data(), filter.data(), output.data(), workspace, values};
  }
};

// integers: small whole numbers whose sums are exact in f32; uniform: [-1, 1); positive: [0, 1), of which
// ReLU leaves every sum as it is.
enum class DataKind { integers, uniform, positive };
inline constexpr auto kDataKinds = enumerators<DataKind::positive>();
std::string_view name(DataKind);  // "whole-number", "uniform", "positive"

// The two tensors that the pass reads, and the bias, are filled with reproducible data of `seed`; the third
// with NaN.
Operands make_operands(const ConvProblem& problem, Device& device, DataKind kind, uint64_t seed);

// Outputs of a sample, at least.
inline constexpr int64_t kMinSample = 1024;

struct VerifyOptions {
  uint64_t seed = 1;
  // Problems with more nominal operations than this, or more than 2^20 outputs, are compared on a stratified
  // sample of their outputs, and on sums of channel blocks that cover every output.
  double full_check_flops = 2e8;
  // The GPU (or the emulator) that computes every expected value of problems of up to 2^28 outputs, which
  // then are all compared, on that device where it is also the candidate's; null: the CPU does it. Where its
  // memory does not suffice, the CPU does it too.
  Device* reference_device = nullptr;
  int64_t sampled_outputs = 4096;  // at most; fewer, but kMinSample, where one costs many multiply-adds
};

// `accuracy` is filled in as far as the check came. A failed one says in `note` which check, where and by how
// much.
struct Verdict {
  Reason reason = Reason::none;
  std::string note;
  Accuracy accuracy;
  // False where the plan wrote outside its output and workspace: it must not run beside others again.
  bool contained = true;
  bool passed() const { return reason == Reason::none; }
};

// Bytes that verifying a problem takes besides the workspace of the plan.
struct VerificationMemory {
  int64_t held = 0;      // by a Verification as long as it lives
  int64_t in_check = 0;  // by one check, while it runs
};
VerificationMemory verification_memory(const ConvProblem& problem);

// relative L2 error against f64 that a math mode allows: fp32 and 3xtf32 2e-5, tf32 and fp16 1e-3, bf16 8e-3.
double accuracy_gate(MathMode math);

class Verification {
 public:
  Verification(const ConvProblem& problem, const VerifyOptions& options);
  ~Verification();

  // The whole check, before timing: integer data where the algorithm promises to be exact on it, uniform data
  // against f64, and positive data where ReLU keeps the sums over blocks from covering uniform data; output
  // and workspace NaN-filled before; guards intact, read tensors unchanged; a second run on the uniform data,
  // without prepare, agrees within the gate.
  Verdict check(const Algorithm& algorithm, Plan& plan, Device& device, Queue& queue);
  // After timing: one more run of the same plan, on uniform data.
  Verdict check_again(const Algorithm& algorithm, Plan& plan, Device& device, Queue& queue);
  // Frees what it keeps in the reference device's memory, which the next check uploads again.
  void release_device();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace convscope

// What an algorithm is, why it refuses, what it does for a problem, what a library that chose for it said,
// and how accurate its result was. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/device_info.hpp"

namespace convscope {

// Why a candidate has no valid time: a code for programs beside the sentence for people.
enum class Reason {
  none,
  unsupported_pass,
  unsupported_math,
  unsupported_layout,
  unsupported_filter,
  unsupported_stride,
  unsupported_dilation,
  unsupported_groups,
  unsupported_size,
  unsupported_epilogue,
  library_missing,
  library_refused,
  device_missing,
  workspace_over_cap,
  out_of_memory,
  accuracy,
  timeout,
  crashed,
  throttled,
  disturbed,
  failed,
  left_out_after_failures
};

inline constexpr auto kReasons = enumerators<Reason::left_out_after_failures>();
std::string_view name(Reason);  // as spelled above

// What an algorithm is. `id` is unique and ends in the device kind: "winograd.f4x4_3x3.cpu".
struct AlgorithmInfo {
  std::string id;
  std::string family;    // "reference", "direct", "gemm", "implicit_gemm", "fft", "winograd", "library"
  std::string provider;  // "convscope", or the library whose code does the arithmetic: "onednn", "openblas"
  std::string version;   // the provider's version; empty for our own
  DeviceKind device = DeviceKind::cpu;
  std::string summary;                // one line for `list algorithms`
  bool exact_on_integers = false;     // direct and GEMM: small integers must come out exactly
  bool candidate = true;              // false: never timed against others (the reference)
  bool emulated = true;               // of device kind cuda: whether the emulator can run it too
  bool on_request = false;            // many of a kind: the pattern * alone does not mean it
  bool takes_epilogues = false;       // others are not asked for problems that have one
  bool takes_only_epilogues = false;  // a problem without one is another algorithm's
};

// Operations that an algorithm really does, padding to tile multiples included. A multiply-add counts 2. All
// zero in the record of a library that does not say what it does; its columns are then null.
struct OperationCount {
  double product_flops = 0;    // the multiply-adds of the convolution, GEMM or batched product
  double transform_flops = 0;  // transforms of input, filter and output; 0 for direct and GEMM
  double bytes = 0;  // `bytes_algo`: tensors and intermediate buffers read and written, reuse assumed perfect
  // `bytes_cached`, not in `bytes`. CPU: intermediate buffers written and read that stay in a core's private
  // caches. GPU: operands that blocks bring to shared memory for the products, mostly from L2, as many
  // times as they do.
  double cached_bytes = 0;
  double executed_flops() const { return product_flops + transform_flops; }
};

// One thing that a library can run for a problem, as the library itself describes it.
struct Offer {
  std::string name;                // "WINOGRAD_NONFUSED", "engine 34 k2=5"
  std::vector<std::string> notes;  // the library's words on it: "TENSOR_CORE", "RUNTIME_COMPILATION"
  std::string refusal;             // why it cannot be run or may not be; empty where it may
  int64_t workspace_bytes = 0;
  std::optional<double> seconds;  // one run, where asking for the offers timed them; never a result
};

// What a library that chooses said of one problem, and what was chosen. Times are host times of planning.
struct LibraryAnswer {
  std::string asked;                      // the function or mode: "cudnnGetConvolutionForwardAlgorithm_v7"
  std::vector<Offer> offers;              // in the library's order, the last ones perhaps never looked at
  std::optional<int64_t> chosen;          // index into offers; null where nothing could be run
  std::vector<std::string> repeats;       // names chosen when asked again, the first time included
  double descriptor_seconds = 0;          // describing the problem to the library
  double heuristic_seconds = 0;           // asking: the heuristic, or the library's own profiling
  double build_seconds = 0;               // building what was chosen, and what was tried before it
  std::optional<double> compile_seconds;  // of that, plans whose kernels were compiled at run time
};

struct Accuracy {
  std::optional<double> relative_l2;   // ||y - y64|| / ||y64||, what the gate is on
  std::optional<double> max_abs;       // largest |y - y64|
  std::optional<double> max_relative;  // largest |y - y64| over the largest |y64|
  std::optional<bool> integers_exact;  // null where the algorithm does not promise it
  int64_t checked_outputs = 0;         // how many outputs were compared
  int64_t total_outputs = 0;
  double gate = 0;  // relative_l2 allowed
};

}  // namespace convscope

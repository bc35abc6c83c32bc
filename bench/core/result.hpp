// What is known about one candidate after it ran: plain data from the core outwards. The column table
// (bench/report/columns) says how each field is shown; nothing here computes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/core/sampling_rule.hpp"

namespace convscope {

enum class DeviceKind { cpu, cuda, emulator };

// One device of the machine. `index` counts those of its kind from 0; only CUDA has more than one.
struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  DeviceId() = default;
  DeviceId(DeviceKind the_kind, int the_index = 0) : kind(the_kind), index(the_index) {}
  auto operator<=>(const DeviceId&) const = default;
};

// Exactly one per candidate. Only `measured` can be best.
enum class Outcome {
  measured,
  verified_only,
  unsupported,
  over_workspace,
  out_of_memory,
  wrong,
  timeout,
  crashed,
  failed
};

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
  library_missing,
  library_refused,
  device_missing,
  workspace_over_cap,
  out_of_memory,
  accuracy,
  timeout,
  crashed,
  throttled,
  failed,
  left_out_after_failures
};

// cold: every tensor comes from memory; hot: the same tensors again and again; weights_cold: as inside a
// network.
enum class CacheState { cold, hot, weights_cold };

// The parts of one execution. Prepare is Plan::prepare (the filter transform); layout moves between the
// caller's layout and the kernel's own; transform, product and inverse are the arithmetic: im2col | GEMM |
// col2im, or transform | batched product | inverse transform.
enum class Phase { prepare, layout, transform, product, inverse };
inline constexpr size_t kPhaseCount = 5;

inline constexpr std::array kDeviceKinds{DeviceKind::cpu, DeviceKind::cuda, DeviceKind::emulator};
inline constexpr std::array kOutcomes{Outcome::measured,       Outcome::verified_only, Outcome::unsupported,
                                      Outcome::over_workspace, Outcome::out_of_memory, Outcome::wrong,
                                      Outcome::timeout,        Outcome::crashed,       Outcome::failed};
inline constexpr std::array kReasons{Reason::none,
                                     Reason::unsupported_pass,
                                     Reason::unsupported_math,
                                     Reason::unsupported_layout,
                                     Reason::unsupported_filter,
                                     Reason::unsupported_stride,
                                     Reason::unsupported_dilation,
                                     Reason::unsupported_groups,
                                     Reason::unsupported_size,
                                     Reason::library_missing,
                                     Reason::library_refused,
                                     Reason::device_missing,
                                     Reason::workspace_over_cap,
                                     Reason::out_of_memory,
                                     Reason::accuracy,
                                     Reason::timeout,
                                     Reason::crashed,
                                     Reason::throttled,
                                     Reason::failed,
                                     Reason::left_out_after_failures};
inline constexpr std::array kCacheStates{CacheState::cold, CacheState::hot, CacheState::weights_cold};
inline constexpr std::array kPhases{Phase::prepare, Phase::layout, Phase::transform, Phase::product,
                                    Phase::inverse};

std::string_view name(DeviceKind);  // "cpu", "cuda", "emulator"
std::string name(DeviceId);         // "cpu", "cuda" for the first, "cuda:1" for the second
std::string_view name(Outcome);     // as spelled above
std::string_view name(Reason);      // as spelled above
std::string_view name(CacheState);  // "cold", "hot", "weights-cold"
std::string_view name(Phase);       // as spelled above
std::optional<DeviceKind> device_kind_from_name(std::string_view);
std::optional<DeviceId> device_from_name(std::string_view);  // a kind is its first device
std::optional<CacheState> cache_state_from_name(std::string_view);

// What an algorithm is. `id` is unique and ends in the device kind: "winograd.f4x4_3x3.cpu".
struct AlgorithmInfo {
  std::string id;
  std::string family;    // "reference", "direct", "gemm", "implicit_gemm", "fft", "winograd", "library"
  std::string provider;  // "convscope", or the library whose code does the arithmetic: "onednn", "openblas"
  std::string version;   // the provider's version; empty for our own
  DeviceKind device = DeviceKind::cpu;
  std::string summary;             // one line for `list algorithms`
  bool exact_on_integers = false;  // direct and GEMM: small integers must come out exactly
  bool candidate = true;           // false: never timed against others (the reference)
  bool emulated = true;            // of device kind cuda: whether the emulator can run it too
  bool on_request = false;         // many of a kind: the pattern * alone does not mean it
};

// One cache of the machine; `shared_by` counts the cores of it that share it.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;          // the processor's own name
  std::string instructions;  // the widest vector set in use: "AVX3", "AVX2"
  int cores = 1;             // usable by this process
  int64_t l1_bytes = 0;      // data cache of one core
  int64_t l2_bytes = 0;      // of one core
  int64_t llc_bytes = 0;     // last level, all of them that this process's cores have
  int64_t memory_bytes = 0;  // usable by this process
  bool virtualised = false;
  int index = 0;  // among those of its kind

  DeviceId id() const { return {kind, index}; }
};

// Operations that an algorithm really does, padding to tile multiples included. A multiply-add counts 2. All
// zero in the record of a library that does not say what it does; its columns are then null.
struct OperationCount {
  double product_flops = 0;    // the multiply-adds of the convolution, GEMM or batched product
  double transform_flops = 0;  // transforms of input, filter and output; 0 for direct and GEMM
  double bytes = 0;  // `bytes_algo`: tensors and intermediate buffers read and written, reuse assumed perfect
  // `bytes_cached`: intermediate buffers written and read that stay in a core's private caches; not in
  // `bytes`
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

// What a library that chooses said of one problem, and what became the row. Times are host times of planning.
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

// Seconds, except n. The confidence interval is for the median, 95%, distribution-free; NaN where there are
// too few samples for one.
struct Statistics {
  int64_t n = 0;
  double median = 0, ci_low = 0, ci_high = 0;
  double min = 0, q1 = 0, q3 = 0, iqr = 0, mean = 0, stddev = 0;
};

// One of the three totals. Seconds per run, one entry a sample, in the order taken.
struct Series {
  std::vector<double> samples;
  Statistics statistics;
  // On a GPU: samples whose work began before all of it was enqueued; null elsewhere.
  std::optional<int64_t> not_held;
};

struct Measurement {
  Series full;                      // everything, from the user's tensors to the user's tensor; the headline
  std::optional<Series> inference;  // filters prepared once; null where it equals full
  std::optional<Series> kernel;     // without layout reorders; null where it equals inference (or full)
  std::optional<Series> single;     // one launch alone, where `full` is the mean of a batch on a GPU
  std::array<std::optional<double>, kPhaseCount>
      phase_seconds;        // medians inside full; null where not separable
  double plan_seconds = 0;  // building the plan once, outside every total
  int64_t iterations_per_sample = 1;
  int64_t warmup_runs = 0;       // those of the verification not counted
  int64_t rounds = 0;            // how often the group was visited until this candidate converged
  int64_t tensor_copies = 1;     // rotated through for a cold cache
  std::string stop_reason;       // "converged", "noise_plateau", "time_limit", "max_samples"
  std::optional<Series> repeat;  // --aa: the same candidate's second, independent series of `full`
};

struct Health {
  std::string governor;    // CPU frequency governor, "unknown" when not readable
  double load_before = 0;  // 1-minute load average
  double load_after = 0;
  std::optional<double> clock_mhz;  // median over the samples, where readable
  // Of a CPU, likewise: the threads' multiply-add rate over the best one, and the time a cache line takes
  // from one to the next.
  std::optional<double> core_share;
  std::optional<double> signal_seconds;
  std::optional<double> power_watts;           // likewise, of a GPU
  std::optional<double> temperature_celsius;   // the highest over the samples, of a GPU
  std::string throttle_reasons;                // all that the driver named while measuring, with commas
  std::optional<double> involuntary_switches;  // context switches forced on us while measuring
  int64_t discarded_samples = 0;
  bool throttled = false;
};

// The measured ceilings of one device and thread count; per second, 0 where unknown. See
// bench/measure/ceilings.
struct Ceilings {
  int threads = 1;
  double fma_flops = 0;   // FP32 multiply-adds, 2 a multiply-add
  double copy_bytes = 0;  // read + written
  double read_bytes = 0;
  double cache_read_bytes = 0;  // from the last private cache level; of a GPU from L2
  // Multiply-adds of the tensor cores by operand type, sums in FP32.
  double tf32_flops = 0, bf16_flops = 0, fp16_flops = 0;
  // A cache line from one thread of a CPU to the next; 0 with one thread, or if they never had cores of their
  // own.
  double signal_seconds = 0;
  DeviceKind device = DeviceKind::cpu;
  int device_index = 0;
};

// What identifies a candidate inside one run of the program, besides the problem.
struct CaseKey {
  std::string network;
  std::string layer;
  int64_t count = 1;  // how often the network has this layer
  ConvProblem problem;
  std::string algorithm;  // id
  DeviceKind device = DeviceKind::cpu;
  int threads = 1;
  CacheState cache = CacheState::cold;
  std::optional<int64_t> workspace_cap;  // bytes; null is no cap
  uint64_t seed = 1;
  int knobs = 0;  // combinations of a library's knobs to try besides its defaults, at most
  int device_index = 0;

  DeviceId device_id() const { return {device, device_index}; }
};

// One row. `note` is the sentence behind `reason`, or a remark (the library's implementation name is in
// `implementation`, not here).
struct ResultRecord {
  CaseKey key;
  SamplingRule sampling;
  AlgorithmInfo algorithm;
  DeviceInfo device;
  Outcome outcome = Outcome::failed;
  Reason reason = Reason::none;
  std::string note;
  std::string implementation;  // what the plan chose: a library's kernel name, a tile split such as "5+4+4"
  int64_t workspace_bytes = 0;
  std::optional<LibraryAnswer> answer;  // of a library that was asked to choose; null elsewhere
  OperationCount operations;
  Accuracy accuracy;
  std::optional<Measurement> time;  // kept for wrong rows too
  Health health;
  Ceilings ceilings;  // of this device and thread count
};

}  // namespace convscope

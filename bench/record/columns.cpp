// The column table.
#include "bench/record/columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <tuple>
#include <vector>

#include "bench/record/bound.hpp"

namespace convscope {
namespace {

using R = ResultRecord;  // named in every line of the table

// A count or rate that is 0 when nobody knows it.
Cell unless_zero(double value) {
  return value == 0 ? Cell{} : cell(value);
}
Cell scaled(double factor, const std::optional<double>& value) {
  return value ? cell(factor * *value) : Cell{};
}
Cell joined(const std::vector<std::string>& words, std::string_view separator) {
  return cell(fmt::format("{}", fmt::join(words, separator)));
}

template <typename T>
const T* pointer_to(const T& value) {
  return &value;
}
template <typename T>
const T* pointer_to(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

// A member of the record or of one of its parts, which its type names; null where the record lacks the part.
template <typename Part, typename T>
Cell cell_of(const R& r, T Part::*member) {
  const std::tuple parts(&r, &r.key, &r.key.problem, &r.device, &r.algorithm, &r.health, &r.accuracy,
                         pointer_to(r.time), pointer_to(r.answer), pointer_to(r.ranking));
  const auto* part = std::get<const Part*>(parts);
  return part == nullptr ? Cell{} : cell(part->*member);
}
template <auto member>
Cell of(const R& r) {
  return cell_of(r, member);
}
template <auto extent, auto axis>
Cell of(const R& r) {
  return cell(r.key.problem.*extent.*axis);
}
template <auto member>
Cell if_timed(const R& r) {
  return r.time ? cell_of(r, member) : Cell{};
}
template <auto member>
Cell of_operations(const R& r) {
  return unless_zero(r.operations.*member);
}
template <auto member>
Cell ceiling(const R& r) {
  return unless_zero(r.ceilings.*member / 1e9);
}

// One statistic of a total; null where there is no such total.
template <auto total, auto statistic>
Cell milliseconds(const R& r) {
  const Series* series = r.time ? pointer_to((*r.time).*total) : nullptr;
  return series == nullptr || series->statistics.n == 0 ? Cell{} : cell(1e3 * series->statistics.*statistic);
}
template <Phase phase>
Cell phase_milliseconds(const R& r) {
  return r.time ? scaled(1e3, r.time->phase_seconds[static_cast<size_t>(phase)]) : Cell{};
}
template <auto seconds>
Cell answer_milliseconds(const R& r) {
  return r.answer ? scaled(1e3, (*r.answer).*seconds) : Cell{};
}

// The second series of --aa over the first.
Cell aa_ratio(const R& r) {
  if (!r.time || !r.time->repeat) return {};
  return cell(r.time->repeat->statistics.median / r.time->full.statistics.median);
}

// `flops` over the median of full; null without a time or a count.
Cell gflops(const R& r, double flops) {
  if (!r.time || r.time->full.statistics.n == 0 || flops <= 0) return {};
  return cell(flops / r.time->full.statistics.median / 1e9);
}

Cell intensity(const R& r) {
  return unless_zero(r.operations.executed_flops() / static_cast<double>(r.key.problem.total_bytes()));
}

// The plan's workspace; null where no plan was built.
Cell workspace(const R& r) {
  const bool planned = r.outcome == Outcome::measured || r.outcome == Outcome::verified_only ||
                       r.outcome == Outcome::wrong || r.outcome == Outcome::over_workspace;
  return planned || r.workspace_bytes > 0 ? cell(r.workspace_bytes) : Cell{};
}

Cell bound_kind(const R& r) {
  const auto limit = bound(r);
  return limit ? cell(limit->kind()) : Cell{};
}
Cell bound_milliseconds(const R& r) {
  const auto limit = bound(r);
  return limit ? cell(1e3 * limit->seconds()) : Cell{};
}

const Offer* chosen(const R& r) {
  return r.answer && r.answer->chosen ? &r.answer->offers[static_cast<size_t>(*r.answer->chosen)] : nullptr;
}

constexpr Column kColumns[] = {
    // What was run: the layer, the problem, the device and the algorithm, and how that ended.
    {"network", "", "The config's name.", of<&CaseKey::network>},
    {"layer", "", "The layer's name in the config.", of<&CaseKey::layer>},
    {"count", "", "How often the network has this layer; the roll-up multiplies by it.", of<&CaseKey::count>},
    {"pass", "", "forward, backward_data or backward_filter.", of<&ConvProblem::pass>},
    {"math", "", "The arithmetic class; records of different classes are never compared.",
     of<&ConvProblem::math>},
    {"layout", "", "Memory order of the user's tensors.", of<&ConvProblem::layout>},
    {"epilogue", "",
     "What forward applies to every output before it is stored: none, relu, bias or bias+relu.",
     of<&ConvProblem::epilogue>},
    {"batch", "", "Images.", of<&ConvProblem::batch>},
    {"in_channels", "", "Channels of the input, all groups together.", of<&ConvProblem::in_channels>},
    {"input_h", "", "Input height.", of<&ConvProblem::input, &Extent2::h>},
    {"input_w", "", "Input width.", of<&ConvProblem::input, &Extent2::w>},
    {"out_channels", "", "Channels of the output, all groups together.", of<&ConvProblem::out_channels>},
    {"output_h", "", "Output height.", [](const R& r) { return cell(r.key.problem.output().h); }},
    {"output_w", "", "Output width.", [](const R& r) { return cell(r.key.problem.output().w); }},
    {"filter_h", "", "Filter height.", of<&ConvProblem::filter, &Extent2::h>},
    {"filter_w", "", "Filter width.", of<&ConvProblem::filter, &Extent2::w>},
    {"stride_h", "", "Stride along the height.", of<&ConvProblem::stride, &Extent2::h>},
    {"stride_w", "", "Stride along the width.", of<&ConvProblem::stride, &Extent2::w>},
    {"pad_h", "", "Zeros above, and as many below.", of<&ConvProblem::pad, &Extent2::h>},
    {"pad_w", "", "Zeros at the left, and as many at the right.", of<&ConvProblem::pad, &Extent2::w>},
    {"dilation_h", "", "Distance of filter taps along the height; 1 is dense.",
     of<&ConvProblem::dilation, &Extent2::h>},
    {"dilation_w", "", "Distance of filter taps along the width; 1 is dense.",
     of<&ConvProblem::dilation, &Extent2::w>},
    {"groups", "", "Groups that the channels are split into.", of<&ConvProblem::groups>},
    {"problem", "", "The whole problem on one line, as --case, explain and exec read it.",
     [](const R& r) { return cell(to_line(r.key.problem)); }},
    {"benchdnn", "", "The same shape as oneDNN benchdnn's descriptor.",
     [](const R& r) { return cell(to_benchdnn(r.key.problem)); }},
    {"device", "", "The kind of device.", of<&CaseKey::device>},
    {"device_index", "", "Which of that kind, from 0: 1 is cuda:1.", of<&CaseKey::device_index>},
    {"device_name", "", "The processor's own name.", of<&DeviceInfo::name>},
    {"machine_class", "",
     "What decides the machine's speed, as a label and a hash: of a CPU its family, model, stepping, "
     "microcode, cores, hyper-threads, caches and hypervisor; of a GPU its driver, clocks and limits. "
     "Machines of one class are alike; null is unknown.",
     of<&DeviceInfo::machine_class>},
    {"machine_unit", "",
     "Which machine of its class, as a hash of its GPU's UUID or its machine id; null is unknown.",
     of<&DeviceInfo::machine_unit>},
    {"instructions", "", "The widest vector set in use.", of<&DeviceInfo::instructions>},
    {"virtualised", "", "Whether the machine is a virtual one.", of<&DeviceInfo::virtualised>},
    {"threads", "", "OpenMP threads, each pinned to a core.", of<&CaseKey::threads>},
    {"cache", "", "Where the tensors are when a run starts: cold, hot or weights-cold.", of<&CaseKey::cache>},
    {"workspace_cap_bytes", "bytes", "The workspace that an algorithm may use; null is no cap.",
     of<&CaseKey::workspace_cap>},
    {"seed", "", "Of the random data and of the interleaving.",
     [](const R& r) { return cell(std::to_string(r.key.seed)); }},
    {"knobs", "", "Combinations of a library's knobs that may be tried besides its defaults.",
     of<&CaseKey::knobs>},
    {"algorithm", "", "The algorithm's id.", of<&CaseKey::algorithm>},
    {"family", "", "The algorithm's family: direct, gemm, fft, winograd, library.",
     of<&AlgorithmInfo::family>},
    {"provider", "", "Whose code does the arithmetic: convscope or a library.", of<&AlgorithmInfo::provider>},
    {"version", "", "The provider's version; null for our own code.", of<&AlgorithmInfo::version>},
    {"implementation", "", "What the plan chose: a library's kernel name, a tile split.",
     of<&R::implementation>},
    {"outcome", "",
     "measured, verified_only, unsupported, over_workspace, out_of_memory, wrong, timeout, crashed or "
     "failed; only measured records can be best.",
     of<&R::outcome>},
    {"reason", "", "Why there is no valid time, as a code; null for a good record.",
     [](const R& r) { return r.reason == Reason::none ? Cell{} : cell(r.reason); }},
    {"note", "", "The sentence behind the reason, or a remark.", of<&R::note>},

    // Time: the three totals, the phases, and how the samples were taken.
    {"full_median_ms", "ms",
     "Median time of one run, everything included: from the user's tensors to the user's tensor. The "
     "headline.",
     milliseconds<&Measurement::full, &Statistics::median>},
    {"full_ci_low_ms", "ms",
     "Lower end of the 95% confidence interval of that median (distribution-free); null below 6 samples.",
     milliseconds<&Measurement::full, &Statistics::ci_low>},
    {"full_ci_high_ms", "ms", "Upper end of that interval.",
     milliseconds<&Measurement::full, &Statistics::ci_high>},
    {"full_min_ms", "ms", "Shortest sample.", milliseconds<&Measurement::full, &Statistics::min>},
    {"full_q1_ms", "ms", "First quartile.", milliseconds<&Measurement::full, &Statistics::q1>},
    {"full_q3_ms", "ms", "Third quartile.", milliseconds<&Measurement::full, &Statistics::q3>},
    {"full_iqr_ms", "ms", "Interquartile range.", milliseconds<&Measurement::full, &Statistics::iqr>},
    {"full_mean_ms", "ms", "Mean.", milliseconds<&Measurement::full, &Statistics::mean>},
    {"full_stddev_ms", "ms", "Standard deviation.", milliseconds<&Measurement::full, &Statistics::stddev>},
    {"full_samples", "", "Samples behind the statistics of full.",
     [](const R& r) { return r.time ? cell(r.time->full.statistics.n) : Cell{}; }},
    {"not_held_samples", "",
     "Samples of full on a GPU that began before all of their work was enqueued, so that gaps of the host "
     "may be in their time: 0 is as it should be; null elsewhere.",
     [](const R& r) { return r.time ? cell(r.time->full.not_held) : Cell{}; }},
    {"inference_median_ms", "ms", "Median with the filters prepared once; null where it equals full.",
     milliseconds<&Measurement::inference, &Statistics::median>},
    {"inference_ci_low_ms", "ms", "Lower end of its 95% confidence interval.",
     milliseconds<&Measurement::inference, &Statistics::ci_low>},
    {"inference_ci_high_ms", "ms", "Upper end of that interval.",
     milliseconds<&Measurement::inference, &Statistics::ci_high>},
    {"kernel_median_ms", "ms",
     "Median without layout reorders, filters prepared: the arithmetic alone; null where it equals "
     "inference (or full).",
     milliseconds<&Measurement::kernel, &Statistics::median>},
    {"kernel_ci_low_ms", "ms", "Lower end of its 95% confidence interval.",
     milliseconds<&Measurement::kernel, &Statistics::ci_low>},
    {"kernel_ci_high_ms", "ms", "Upper end of that interval.",
     milliseconds<&Measurement::kernel, &Statistics::ci_high>},
    {"single_median_ms", "ms",
     "Median of one launch alone, its overhead included, where full is the mean of a batch of short runs "
     "on a GPU; null elsewhere.",
     milliseconds<&Measurement::single, &Statistics::median>},
    {"prepare_ms", "ms",
     "Median time inside full of preparing the filter; null where it cannot be told apart.",
     phase_milliseconds<Phase::prepare>},
    {"layout_ms", "ms", "The same of moving between the user's layout and the kernel's own.",
     phase_milliseconds<Phase::layout>},
    {"transform_ms", "ms",
     "The same of the first part of the arithmetic: im2col, or the transform of the input.",
     phase_milliseconds<Phase::transform>},
    {"product_ms", "ms", "The same of the GEMM or batched product.", phase_milliseconds<Phase::product>},
    {"inverse_ms", "ms", "The same of the last part: col2im, or the inverse transform.",
     phase_milliseconds<Phase::inverse>},
    {"plan_ms", "ms", "Building the plan once, outside every total.",
     [](const R& r) { return r.time ? cell(1e3 * r.time->plan_seconds) : Cell{}; }},
    {"iterations_per_sample", "", "Runs that one sample is the mean of.",
     of<&Measurement::iterations_per_sample>},
    {"warmup_runs", "", "Untimed runs before the first sample, those of the verification not counted.",
     of<&Measurement::warmup_runs>},
    {"rounds", "", "How often the group of candidates was visited until this one had converged.",
     of<&Measurement::rounds>},
    {"tensor_copies", "", "Copies of the tensors rotated through, so that each run finds them cold.",
     of<&Measurement::tensor_copies>},
    {"stop_reason", "",
     "Why sampling ended: converged, max_samples, time_limit or, in older runs, noise_plateau.",
     of<&Measurement::stop_reason>},
    {"aa_ratio", "",
     "With --aa, the median of a second series of the same candidate over full_median_ms: the noise floor.",
     aa_ratio},
    {"governor", "", "The CPU frequency governor.", of<&Health::governor>},
    {"load_before", "", "1-minute load average when measuring began.", if_timed<&Health::load_before>},
    {"load_after", "", "1-minute load average when it ended.", if_timed<&Health::load_after>},
    {"clock_mhz", "MHz", "Median processor clock over the samples, where it can be read.",
     of<&Health::clock_mhz>},
    {"core_share", "",
     "Median over the samples of the threads' multiply-add rate over the best one seen: about 1 where each "
     "has a core of its own, 0.5 where two share one.",
     of<&Health::core_share>},
    {"signal_ns", "ns", "Median over the samples of the time a cache line takes from one thread to the next.",
     [](const R& r) { return scaled(1e9, r.health.core_to_core_latency_seconds); }},
    {"power_watts", "W", "Median power of a GPU over the samples, where it can be read.",
     of<&Health::power_watts>},
    {"temperature_celsius", "C", "Highest temperature of a GPU over the samples, where it can be read.",
     of<&Health::temperature_celsius>},
    {"throttle_reasons", "", "Why the driver held a GPU's clock down while it measured.",
     of<&Health::throttle_reasons>},
    {"involuntary_switches", "", "Context switches forced on the program while it measured.",
     of<&Health::involuntary_switches>},
    {"discarded_samples", "",
     "Samples thrown away, and taken again, because the clock was throttled, threads were badly placed or "
     "lost time.",
     if_timed<&Health::discarded_samples>},
    {"throttled", "",
     "Whether the samples kept are, in the median, those of a throttled clock or of badly placed threads: "
     "the record is suspect.",
     if_timed<&Health::throttled>},
    {"lost_share", "",
     "Median over the samples of the share of its time in which a thread could not run: other programs or "
     "the hypervisor had its core, or the process was stopped.",
     of<&Health::lost_share>},
    {"disturbed_samples", "", "Samples kept that lost more than 3% of their time that way.",
     if_timed<&Health::disturbed_samples>},
    {"disturbed", "",
     "Whether more than a quarter of the samples kept are disturbed, so that the median may be: the record "
     "is "
     "suspect.",
     if_timed<&Health::disturbed>},
    {"disturbed_by", "", "Who took the time of a disturbed record.", of<&Health::disturbed_by>},

    // Work and worth: operations, bytes, rates, the measured ceilings, accuracy, and the rerun line.
    {"gflops_nominal", "GFLOP/s", "flops_nominal over full_median_ms; the figure to compare algorithms by.",
     [](const R& r) { return gflops(r, r.key.problem.nominal_flops()); }},
    {"gflops_effective", "GFLOP/s", "flops_effective over full_median_ms.",
     [](const R& r) { return gflops(r, r.key.problem.effective_flops()); }},
    {"gflops_executed", "GFLOP/s", "flops_executed over full_median_ms: how busy the arithmetic units are.",
     [](const R& r) { return gflops(r, r.operations.executed_flops()); }},
    {"flops_nominal", "flop",
     "2 N K C R S P Q / groups: the seven loops, the same for every algorithm and pass.",
     [](const R& r) { return cell(r.key.problem.nominal_flops()); }},
    {"flops_effective", "flop", "The same with the taps on padding left out.",
     [](const R& r) { return cell(r.key.problem.effective_flops()); }},
    {"flops_executed", "flop", "What the algorithm does: transforms and the waste of partial tiles included.",
     [](const R& r) { return unless_zero(r.operations.executed_flops()); }},
    {"bytes_min", "bytes", "The three tensors, each once.",
     [](const R& r) { return cell(r.key.problem.total_bytes()); }},
    {"bytes_algo", "bytes",
     "Tensors and intermediate buffers that the algorithm reads and writes, perfect reuse assumed.",
     of_operations<&OperationCount::bytes>},
    {"bytes_cached", "bytes",
     "Intermediate buffers that the algorithm writes and reads in a core's private caches, not in "
     "bytes_algo; null where there are none or none are counted.",
     of_operations<&OperationCount::cached_bytes>},
    {"arithmetic_intensity", "flop/byte", "flops_executed over bytes_min.", intensity},
    {"workspace_bytes", "bytes",
     "The plan's scratch memory, prepared filters included; null where no plan was built.", workspace},
    {"ceiling_gflops", "GFLOP/s",
     "Measured multiply-add rate of these threads or this GPU: FP32, or the tensor cores' in the math "
     "mode.",
     [](const R& r) { return unless_zero(multiply_add_rate(r.key.problem.math, r.ceilings) / 1e9); }},
    {"ceiling_read_gbs", "GB/s", "Measured bandwidth of reading memory.", ceiling<&Ceilings::read_bytes>},
    {"ceiling_copy_gbs", "GB/s", "Measured bandwidth of copying memory, bytes read plus bytes written.",
     ceiling<&Ceilings::copy_bytes>},
    {"ceiling_cache_gbs", "GB/s", "Measured bandwidth of reading the last private cache.",
     ceiling<&Ceilings::cache_read_bytes>},
    {"bound", "",
     "The ceiling that binds: compute (flops_executed at the multiply-add rate) or memory (bytes_min at "
     "the larger of read and copy bandwidth; tensors that the cache state keeps hot, if all three fit the "
     "last-level cache, at the cache bandwidth).",
     bound_kind},
    {"bound_ms", "ms", "The time that this ceiling allows at best.", bound_milliseconds},
    {"percent_of_ceiling", "%", "100 bound_ms / full_median_ms.",
     [](const R& r) { return cell(percent_of_ceiling(r)); }},
    {"relative_l2", "",
     "||y - y64|| / ||y64|| over the checked outputs, against a reference in f64; what the gate is on.",
     of<&Accuracy::relative_l2>},
    {"max_abs", "", "Largest |y - y64|.", of<&Accuracy::max_abs>},
    {"max_relative", "", "Largest |y - y64| over the largest |y64|.", of<&Accuracy::max_relative>},
    {"integers_exact", "",
     "Whether integer data came out exactly; null where the algorithm does not promise it.",
     of<&Accuracy::integers_exact>},
    {"checked_outputs", "", "Outputs compared with the reference; large problems are sampled.",
     of<&Accuracy::checked_outputs>},
    {"total_outputs", "", "Outputs that there are.", of<&Accuracy::total_outputs>},
    {"gate", "", "The largest relative_l2 that passes.",
     [](const R& r) { return unless_zero(r.accuracy.gate); }},
    {"rerun", "", "The command that measures this record alone again.",
     [](const R& r) { return cell(rerun_command(r)); }},

    // What a library said when it was asked to choose; its own timing is never the result.
    {"library_asked", "", "The function or mode by which a library was asked what to run; null elsewhere.",
     of<&LibraryAnswer::asked>},
    {"library_offers", "", "How many ways to run the problem it named.",
     [](const R& r) { return r.answer ? cell(r.answer->offers.size()) : Cell{}; }},
    {"library_notes", "", "Its notes on what was chosen, with spaces: TENSOR_CORE, WINOGRAD, FFT.",
     [](const R& r) { return chosen(r) != nullptr ? joined(chosen(r)->notes, " ") : Cell{}; }},
    {"library_repeats", "", "What it chose each time, with semicolons, where it was asked several times.",
     [](const R& r) { return r.answer ? joined(r.answer->repeats, ";") : Cell{}; }},
    {"library_ms", "ms",
     "The library's own time of what was chosen, or autotuning's; for comparison, never the result.",
     [](const R& r) { return chosen(r) != nullptr ? scaled(1e3, chosen(r)->seconds) : Cell{}; }},
    {"descriptor_ms", "ms", "Host time of describing the problem to the library; part of plan_ms.",
     answer_milliseconds<&LibraryAnswer::descriptor_seconds>},
    {"heuristic_ms", "ms", "Host time of asking it: its heuristic, or its own profiling; part of plan_ms.",
     answer_milliseconds<&LibraryAnswer::heuristic_seconds>},
    {"build_ms", "ms", "Host time of building plans until one could be run, or all of them; part of plan_ms.",
     answer_milliseconds<&LibraryAnswer::build_seconds>},
    {"compile_ms", "ms", "Of build_ms, plans whose kernels were compiled at run time; null where none was.",
     answer_milliseconds<&LibraryAnswer::compile_seconds>},

    // Who wins, as bench/ranking decides from all records together; null in a record that was not ranked.
    {"contest", "",
     "Which records were ranked together: one problem and the same circumstances; a number from 1.",
     of<&Ranking::contest>},
    {"rank", "", "Place by time among those of the contest that can win: 1 is the winner; null for others.",
     of<&Ranking::rank>},
    {"in_doubt", "",
     "Whether its 95% interval overlaps the winner's, so that it is not shown to be slower; null without a "
     "rank or an interval.",
     of<&Ranking::in_doubt>},
    {"standing", "",
     "good; throttled and disturbed rank behind all others; virtual_time means nothing; and without a rank "
     "repeat "
     "(another record of the candidate stands for it), wrong, wrong_repeat (the candidate is wrong in "
     "another record), untimed, refused or failed.",
     of<&Ranking::standing>},
    {"is_baseline", "",
     "Whether others are compared with it: the best-ranked of a library's own convolutions.",
     of<&Ranking::is_baseline>},
    {"on_front", "",
     "Whether no ranked record of the same problem beats it in both time and workspace, whatever the cap; "
     "throttled and disturbed ones are left out.",
     of<&Ranking::on_front>},
    {"over_winner", "", "Its median over the winner's; null without a rank.", of<&Ranking::over_winner>},
    {"speed_up", "", "The baseline's median over its own; null without a rank or a baseline.",
     of<&Ranking::speed_up>},
};

}  // namespace

std::span<const Column> columns() {
  return kColumns;
}

}  // namespace convscope

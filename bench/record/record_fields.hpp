// The fields of each part of a ResultRecord, written once for reader and writer (record_json.cpp):
// fields(visitor, part) calls visitor(name, member) for each, or visitor.added(name, member) for one that the
// oldest files do not have. The name in JSON is the member's; those that differ are written out, and a member
// that gets another name in C++ keeps its name in JSON that way. Not here: how a value looks in JSON. Times
// are seconds, sizes bytes, rates per second.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "bench/record/result.hpp"

// Visits these members of `part`, in this order.
#define CONVSCOPE_FIELD(member) field(#member, part.member);
#define CONVSCOPE_ADDED_FIELD(member) field.added(#member, part.member);
#define CONVSCOPE_FIELDS(...) NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(CONVSCOPE_FIELD, __VA_ARGS__))
#define CONVSCOPE_ADDED_FIELDS(...) \
  NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(CONVSCOPE_ADDED_FIELD, __VA_ARGS__))

namespace convscope {

// T is U, or const U: one list of fields serves the reader and the writer.
template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

void fields(auto& field, Is<AlgorithmInfo> auto& part) {
  CONVSCOPE_FIELDS(id, family, provider, version, device, summary, exact_on_integers, candidate)
  CONVSCOPE_ADDED_FIELDS(emulated, on_request)
}

void fields(auto& field, Is<DeviceInfo> auto& part) {
  CONVSCOPE_FIELDS(kind, name, instructions, cores, l1_bytes, l2_bytes, llc_bytes, memory_bytes, virtualised)
  CONVSCOPE_ADDED_FIELDS(index, machine_class, machine_unit)
}

void fields(auto& field, Is<Offer> auto& part) {
  CONVSCOPE_FIELDS(name, notes, refusal, workspace_bytes, seconds)
}

void fields(auto& field, Is<LibraryAnswer> auto& part) {
  CONVSCOPE_FIELDS(asked, offers, chosen, repeats, descriptor_seconds, heuristic_seconds, build_seconds,
                   compile_seconds)
}

void fields(auto& field, Is<OperationCount> auto& part) {
  CONVSCOPE_FIELDS(product_flops, transform_flops, bytes)
  CONVSCOPE_ADDED_FIELDS(cached_bytes)
}

void fields(auto& field, Is<Accuracy> auto& part) {
  CONVSCOPE_FIELDS(relative_l2, max_abs, max_relative, integers_exact, checked_outputs, total_outputs, gate)
}

// A series is one flat object: its statistics, then its raw samples.
void fields(auto& field, Is<Series> auto& part) {
  auto& s = part.statistics;
  field("n", s.n);
  field("median_seconds", s.median);
  field("ci_low_seconds", s.ci_low);
  field("ci_high_seconds", s.ci_high);
  field("min_seconds", s.min);
  field("q1_seconds", s.q1);
  field("q3_seconds", s.q3);
  field("iqr_seconds", s.iqr);
  field("mean_seconds", s.mean);
  field("stddev_seconds", s.stddev);
  field("samples_seconds", part.samples);
  CONVSCOPE_ADDED_FIELDS(at_seconds, speeds, not_held)
}

void fields(auto& field, Is<Measurement> auto& part) {
  CONVSCOPE_FIELDS(full, inference, kernel)
  CONVSCOPE_ADDED_FIELDS(single)
  CONVSCOPE_FIELDS(phase_seconds, plan_seconds, iterations_per_sample, warmup_runs, rounds, tensor_copies,
                   stop_reason, repeat)
  CONVSCOPE_ADDED_FIELDS(protocol)
}

void fields(auto& field, Is<Health> auto& part) {
  CONVSCOPE_FIELDS(governor, load_before, load_after, clock_mhz)
  CONVSCOPE_ADDED_FIELDS(core_share)
  field.added("signal_seconds", part.core_to_core_latency_seconds);
  CONVSCOPE_ADDED_FIELDS(power_watts, temperature_celsius, throttle_reasons)
  CONVSCOPE_FIELDS(involuntary_switches, discarded_samples, throttled)
  CONVSCOPE_ADDED_FIELDS(lost_share, disturbed_samples, disturbed, disturbed_by)
}

void fields(auto& field, Is<Ceilings> auto& part) {
  CONVSCOPE_ADDED_FIELDS(device, device_index)
  CONVSCOPE_FIELDS(threads, fma_flops, copy_bytes, read_bytes, cache_read_bytes)
  field.added("signal_seconds", part.core_to_core_latency_seconds);
  CONVSCOPE_ADDED_FIELDS(tf32_flops, bf16_flops, fp16_flops)
}

void fields(auto& field, Is<CaseKey> auto& part) {
  CONVSCOPE_FIELDS(network, layer, count, problem, algorithm, device)
  CONVSCOPE_ADDED_FIELDS(device_index)
  CONVSCOPE_FIELDS(threads, cache)
  field("workspace_cap_bytes", part.workspace_cap);
  CONVSCOPE_FIELDS(seed)
  CONVSCOPE_ADDED_FIELDS(knobs)
}

void fields(auto& field, Is<SamplingRule> auto& part) {
  CONVSCOPE_FIELDS(time_limit_seconds, min_samples, max_samples, confidence_width, repeat)
  CONVSCOPE_ADDED_FIELDS(stage_limit_seconds)
}

void fields(auto& field, Is<Ranking> auto& part) {
  CONVSCOPE_FIELDS(contest, rank, in_doubt, standing, is_baseline, on_front, over_winner, speed_up)
}

void fields(auto& field, Is<ResultRecord> auto& part) {
  CONVSCOPE_FIELDS(key)
  CONVSCOPE_ADDED_FIELDS(sampling)
  CONVSCOPE_FIELDS(algorithm, device, outcome, reason, note, implementation, workspace_bytes)
  CONVSCOPE_ADDED_FIELDS(answer)
  CONVSCOPE_FIELDS(operations, accuracy, time, health, ceilings)
}

}  // namespace convscope

#undef CONVSCOPE_ADDED_FIELDS
#undef CONVSCOPE_FIELDS
#undef CONVSCOPE_ADDED_FIELD
#undef CONVSCOPE_FIELD

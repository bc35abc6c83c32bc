// The fields of each part of a ResultRecord with their names in JSON, written once: fields(visitor, part)
// calls visitor(name, member) for each, and visitor.added(name, member) for one that files written before
// it came do not have. record_json.cpp reads and writes through it, so that both sides
// agree. Not here: how a value looks in JSON. Times are seconds, sizes bytes, rates per second.
#pragma once

#include <concepts>
#include <type_traits>

#include "bench/record/result.hpp"

namespace convscope {

// T is U, or const U: one list of fields serves the reader and the writer.
template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <typename Visitor>
void fields(Visitor& field, Is<AlgorithmInfo> auto& info) {
  field("id", info.id);
  field("family", info.family);
  field("provider", info.provider);
  field("version", info.version);
  field("device", info.device);
  field("summary", info.summary);
  field("exact_on_integers", info.exact_on_integers);
  field("candidate", info.candidate);
  field.added("emulated", info.emulated);
  field.added("on_request", info.on_request);
}

template <typename Visitor>
void fields(Visitor& field, Is<DeviceInfo> auto& device) {
  field("kind", device.kind);
  field("name", device.name);
  field("instructions", device.instructions);
  field("cores", device.cores);
  field("l1_bytes", device.l1_bytes);
  field("l2_bytes", device.l2_bytes);
  field("llc_bytes", device.llc_bytes);
  field("memory_bytes", device.memory_bytes);
  field("virtualised", device.virtualised);
  field.added("index", device.index);
}

template <typename Visitor>
void fields(Visitor& field, Is<Offer> auto& offer) {
  field("name", offer.name);
  field("notes", offer.notes);
  field("refusal", offer.refusal);
  field("workspace_bytes", offer.workspace_bytes);
  field("seconds", offer.seconds);
}

template <typename Visitor>
void fields(Visitor& field, Is<LibraryAnswer> auto& answer) {
  field("asked", answer.asked);
  field("offers", answer.offers);
  field("chosen", answer.chosen);
  field("repeats", answer.repeats);
  field("descriptor_seconds", answer.descriptor_seconds);
  field("heuristic_seconds", answer.heuristic_seconds);
  field("build_seconds", answer.build_seconds);
  field("compile_seconds", answer.compile_seconds);
}

template <typename Visitor>
void fields(Visitor& field, Is<OperationCount> auto& count) {
  field("product_flops", count.product_flops);
  field("transform_flops", count.transform_flops);
  field("bytes", count.bytes);
  field.added("cached_bytes", count.cached_bytes);
}

template <typename Visitor>
void fields(Visitor& field, Is<Accuracy> auto& accuracy) {
  field("relative_l2", accuracy.relative_l2);
  field("max_abs", accuracy.max_abs);
  field("max_relative", accuracy.max_relative);
  field("integers_exact", accuracy.integers_exact);
  field("checked_outputs", accuracy.checked_outputs);
  field("total_outputs", accuracy.total_outputs);
  field("gate", accuracy.gate);
}

// A series is one flat object: its statistics, then its raw samples.
template <typename Visitor>
void fields(Visitor& field, Is<Series> auto& series) {
  auto& s = series.statistics;
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
  field("samples_seconds", series.samples);
  field.added("not_held", series.not_held);
}

template <typename Visitor>
void fields(Visitor& field, Is<Measurement> auto& time) {
  field("full", time.full);
  field("inference", time.inference);
  field("kernel", time.kernel);
  field.added("single", time.single);
  field("phase_seconds", time.phase_seconds);
  field("plan_seconds", time.plan_seconds);
  field("iterations_per_sample", time.iterations_per_sample);
  field("warmup_runs", time.warmup_runs);
  field("rounds", time.rounds);
  field("tensor_copies", time.tensor_copies);
  field("stop_reason", time.stop_reason);
  field("repeat", time.repeat);
}

template <typename Visitor>
void fields(Visitor& field, Is<Health> auto& health) {
  field("governor", health.governor);
  field("load_before", health.load_before);
  field("load_after", health.load_after);
  field("clock_mhz", health.clock_mhz);
  field.added("core_share", health.core_share);
  field.added("signal_seconds", health.core_to_core_latency_seconds);
  field.added("power_watts", health.power_watts);
  field.added("temperature_celsius", health.temperature_celsius);
  field.added("throttle_reasons", health.throttle_reasons);
  field("involuntary_switches", health.involuntary_switches);
  field("discarded_samples", health.discarded_samples);
  field("throttled", health.throttled);
}

template <typename Visitor>
void fields(Visitor& field, Is<Ceilings> auto& ceilings) {
  field.added("device", ceilings.device);
  field.added("device_index", ceilings.device_index);
  field("threads", ceilings.threads);
  field("fma_flops", ceilings.fma_flops);
  field("copy_bytes", ceilings.copy_bytes);
  field("read_bytes", ceilings.read_bytes);
  field("cache_read_bytes", ceilings.cache_read_bytes);
  field.added("signal_seconds", ceilings.core_to_core_latency_seconds);
  field.added("tf32_flops", ceilings.tf32_flops);
  field.added("bf16_flops", ceilings.bf16_flops);
  field.added("fp16_flops", ceilings.fp16_flops);
}

template <typename Visitor>
void fields(Visitor& field, Is<CaseKey> auto& key) {
  field("network", key.network);
  field("layer", key.layer);
  field("count", key.count);
  field("problem", key.problem);
  field("algorithm", key.algorithm);
  field("device", key.device);
  field.added("device_index", key.device_index);
  field("threads", key.threads);
  field("cache", key.cache);
  field("workspace_cap_bytes", key.workspace_cap);
  field("seed", key.seed);
  field.added("knobs", key.knobs);
}

template <typename Visitor>
void fields(Visitor& field, Is<SamplingRule> auto& rule) {
  field("time_limit_seconds", rule.time_limit_seconds);
  field("min_samples", rule.min_samples);
  field("max_samples", rule.max_samples);
  field("confidence_width", rule.confidence_width);
  field("repeat", rule.repeat);
  field.added("stage_limit_seconds", rule.stage_limit_seconds);
}

template <typename Visitor>
void fields(Visitor& field, Is<Ranking> auto& ranking) {
  field("contest", ranking.contest);
  field("rank", ranking.rank);
  field("in_doubt", ranking.in_doubt);
  field("standing", ranking.standing);
  field("is_baseline", ranking.is_baseline);
  field("on_front", ranking.on_front);
  field("over_winner", ranking.over_winner);
  field("speed_up", ranking.speed_up);
}

template <typename Visitor>
void fields(Visitor& field, Is<ResultRecord> auto& record) {
  field("key", record.key);
  field.added("sampling", record.sampling);
  field("algorithm", record.algorithm);
  field("device", record.device);
  field("outcome", record.outcome);
  field("reason", record.reason);
  field("note", record.note);
  field("implementation", record.implementation);
  field("workspace_bytes", record.workspace_bytes);
  field.added("answer", record.answer);
  field("operations", record.operations);
  field("accuracy", record.accuracy);
  field("time", record.time);
  field("health", record.health);
  field("ceilings", record.ceilings);
}

}  // namespace convscope

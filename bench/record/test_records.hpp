// Hand-made records for the tests of this folder. Their figures are inventions, chosen to be easy to check.
#pragma once

#include <string>

#include "bench/record/result.hpp"

namespace convscope {

inline ConvProblem conv2() {
  return parse_problem("forward fp32 nchw n=16 c=96 hw=27x27 k=256 rs=5x5 pad=2x2");
}

inline Series series(double median) {
  Series s;
  s.samples = {median, median * 0.5, median * 2};
  s.at_seconds = {0.25, 0.5, 0.75};
  s.speeds = {400, 400, 390.5};
  s.statistics = {3,           median,      median * 0.9, median * 1.1, median * 0.5,
                  median * .6, median * .7, median * 0.1, median * 1.2, median * 0.2};
  return s;
}

// A measured record of conv2: `seconds` is the median of full.
inline ResultRecord measured(const std::string& algorithm, double seconds) {
  ResultRecord r;
  r.key = {"alexnet",          "conv2", 1, conv2(), algorithm, DeviceKind::cpu, 2, CacheState::cold,
           int64_t{256} << 20, 1};
  r.algorithm = {algorithm,
                 "direct",
                 algorithm.starts_with("onednn.") ? "onednn" : "convscope",
                 "",
                 DeviceKind::cpu,
                 "for tests",
                 true,
                 true};
  r.device = {DeviceKind::cpu,
              "Test processor",
              "AVX3",
              2,
              32 << 10,
              1 << 20,
              32 << 20,
              int64_t{24} << 30,
              true,
              0,
              "amd-f25m17s1-1234abcd",
              "0123456789ab"};
  r.outcome = Outcome::measured;
  r.workspace_bytes = 3 << 20;
  r.operations = {conv2().nominal_flops(), 0, 4e7};
  r.accuracy = {1.2e-6, 3e-5, 2e-6, true, 4096, conv2().elements(Role::output), 2e-5};
  r.time.emplace();
  r.time->full = series(seconds);
  r.time->plan_seconds = 0.25;
  r.time->warmup_runs = 3;
  r.time->rounds = 2;
  r.time->tensor_copies = 4;
  r.time->protocol = kProtocol;
  r.time->stop_reason = "converged";
  r.health.governor = "performance";
  r.health.load_before = 0.5;
  r.health.load_after = 1.5;
  r.ceilings = {2, 2e11, 2e10, 2.5e10, 2e11};
  return r;
}

inline ResultRecord refused(const std::string& algorithm, Outcome outcome, Reason reason,
                            const std::string& note) {
  ResultRecord r = measured(algorithm, 1);
  r.outcome = outcome;
  r.reason = reason;
  r.note = note;
  r.time.reset();
  r.workspace_bytes = 0;
  r.operations = {};
  r.accuracy = {};
  return r;
}

// Every optional field has a value, and no two fields of a kind have the same.
inline ResultRecord complete_record() {
  ResultRecord r = measured("winograd.f4x4_5x5.cpu", 0.016);
  r.key.count = 2;
  r.sampling = {2.5, 20, 300, 0.02, true, 90};
  r.key.cache = CacheState::weights_cold;
  r.key.seed = 18446744073709551615u;
  r.reason = Reason::throttled;
  r.note = "a \"quoted\" note, with a comma\nand a second line";
  r.implementation = "5+4+4";
  r.algorithm.version = "2.6.3";
  r.key.knobs = 40;
  r.key.device_index = r.device.index = r.ceilings.device_index = 1;
  r.answer = {"cudnnFindConvolutionForwardAlgorithm",
              {{"FFT", {"FMA_MATH"}, "not supported", 512, std::nullopt},
               {"GEMM", {"TENSOR_CORE", "NONDETERMINISTIC"}, "", 1024, 0.015}},
              1,
              {"GEMM", "FFT", "GEMM"},
              0.001,
              0.021,
              0.31,
              0.29};
  r.operations = {1e9, 2e8, 3e8, 4e8};
  r.time->inference = series(0.012);
  r.time->kernel = series(0.008);
  r.time->repeat = series(0.020);
  r.time->phase_seconds = {0.001, 0.002, 0.003, 0.004, 0.005};
  r.time->iterations_per_sample = 7;
  r.health = {"powersave",   0.25,  0.75,  3400.5,
              0.875,         25e-9, 312.5, 65.0,
              "hw_slowdown", 12.0,  5,     true,
              0.0625,        7,     true,  "other programs had a core for 40% of the time"};
  return r;
}

}  // namespace convscope

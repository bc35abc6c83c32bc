// Google Benchmark behind a small interface: registers series, lets the library run their repetitions in
// random order with manual time, and collects what its reporter is told. No other file knows the library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace convscope {

// One sample: seconds of all its iterations, and further values by name (per iteration, as they appear in
// Google Benchmark's JSON as counters).
struct BenchmarkSample {
  double seconds = 0;
  std::map<std::string, double> values;
};

struct BenchmarkSeries {
  std::string name;        // unique within a round; the same in every round
  int64_t iterations = 1;  // that one sample covers
  int64_t repetitions = 1;
  std::function<BenchmarkSample()> take;  // throws to give the rest of the round up; the driver skips it
};

class BenchmarkDriver {
 public:
  BenchmarkDriver();
  ~BenchmarkDriver();

  // Takes `repetitions` samples of every series, interleaved in random order. Returns the samples of each, as
  // reported, in the order taken. Google Benchmark draws the order itself and cannot be given a seed, so each
  // sample carries its place in the order as the value "order".
  std::vector<std::vector<BenchmarkSample>> run_round(const std::vector<BenchmarkSeries>& series);

  // Google Benchmark's JSON report of every sample so far, as its tools/compare.py reads it.
  std::string json() const;

 private:
  class Reporter;
  std::unique_ptr<Reporter> reporter_;
  int64_t order_ = 0;
};

}  // namespace convscope

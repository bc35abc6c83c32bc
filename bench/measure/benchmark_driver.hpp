// Google Benchmark behind a small interface: registers every repetition of every series in a random order of
// our own, lets the library run them with manual time, and collects what its reporter is told. (The library's
// own random interleaving cannot be given a seed.) No other file knows the library.
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
  std::function<BenchmarkSample()> take;  // not called again in the round once it threw
};

class BenchmarkDriver {
 public:
  explicit BenchmarkDriver(uint64_t seed);  // of the order
  ~BenchmarkDriver();

  // Takes `repetitions` samples of every series, interleaved in an order that follows from the seed and the
  // rounds before. Returns the samples of each, as reported, in the order taken; each carries its place in
  // the order as the value "order".
  std::vector<std::vector<BenchmarkSample>> run_round(const std::vector<BenchmarkSeries>& series);

  // Google Benchmark's JSON report of every sample so far, as its tools/compare.py reads it.
  std::string json() const;

 private:
  class Reporter;
  std::vector<size_t> shuffled_entries(const std::vector<BenchmarkSeries>& series);
  std::unique_ptr<Reporter> reporter_;
  uint64_t seed_;
  uint64_t draws_ = 0;
  int64_t order_ = 0;
};

}  // namespace convscope

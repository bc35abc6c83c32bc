// Google Benchmark behind a small interface: registers every repetition of every series in a random order of
// our own, lets the library run them with manual time, and writes the library's JSON report from the samples
// that were taken. (The library's own random interleaving cannot be given a seed.) No other file knows the
// library.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/measure/sample_series.hpp"

namespace convscope {

struct BenchmarkSeries {
  std::string name;              // unique within a round; the same in every round
  int64_t iterations = 1;        // runs that one sample covers
  int64_t repetitions = 1;       // samples of this round
  std::function<Sample()> take;  // not called again in the round once it threw
};

class BenchmarkDriver {
 public:
  explicit BenchmarkDriver(uint64_t seed);  // of the order
  ~BenchmarkDriver();

  // Takes `repetitions` samples of every series, interleaved in an order that follows from the seed and the
  // rounds before. Returns the samples of each series in the order taken.
  std::vector<std::vector<Sample>> run_round(const std::vector<BenchmarkSeries>& series);

  // Google Benchmark's JSON report of every sample so far, as its tools/compare.py reads it. Counters: the
  // sample's place in the order of all as "order", and whatever else the sample knows.
  std::string json() const;

 private:
  class Reporter;
  std::vector<size_t> shuffled_entries(const std::vector<BenchmarkSeries>& series);
  std::unique_ptr<Reporter> reporter_;
  uint64_t seed_;
  uint64_t draws_ = 0;
};

}  // namespace convscope

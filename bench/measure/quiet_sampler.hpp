// QuietSampler: takes a sample again that other programs disturbed, for measurements that are not those of
// the sampler of run (sampler.hpp).
#pragma once

#include <cstdint>

#include "bench/measure/lost_time.hpp"
#include "bench/measure/watches.hpp"

namespace convscope {

class QuietSampler {
 public:
  // `known`: the best that is known of the threads' cores, 0 where nothing is. All samples together wait for
  // cores of their own for about `patience_seconds` at most.
  QuietSampler(const CoreReading& known, double patience_seconds)
      : cores_(read_cores, known, patience_seconds) {}

  // What `sample` returns, taken again where it lost more time to other programs than a sample may or threads
  // that had cores of their own shared one after it; of a second such one that. `prepare` comes before each.
  template <typename Prepare, typename Sample>
  auto take(Prepare prepare, Sample sample) {
    for (int tries = 0;; ++tries) {
      cores_.wait();
      prepare();
      const ThreadReading before = read_threads();
      auto taken = sample();
      const double lost = lost_time(before, read_threads()).share();
      const std::optional<CoreReading> cores = cores_.read();
      const bool is_disturbed = lost > kDisturbedShare || (cores && cores_.is_slow(*cores));
      if (is_disturbed && tries == 0) continue;
      disturbed_ += is_disturbed;
      return taken;
    }
  }

  // Samples that were disturbed twice and kept.
  int64_t disturbed() const { return disturbed_; }

 private:
  CoreWatch cores_;
  int64_t disturbed_ = 0;
};

}  // namespace convscope

#include "bench/parallel/measure_reduction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/core/random.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/parallel/slowest_rank.hpp"

namespace convscope {
namespace {

constexpr double kShortestSample = 1e-3;            // seconds; shorter all-reduces are repeated in a sample
constexpr int64_t kMostChecked = int64_t{1} << 22;  // values compared with sums in f64; more are sampled

// Random values of each rank that any rank can compute.
float integer_value(uint64_t seed, int rank, size_t i) {
  return static_cast<float>(random_below(seed + static_cast<uint64_t>(rank), i, 2001) - 1000);
}
float random_value(uint64_t seed, int rank, size_t i) {
  return random_uniform(seed + 1000 + static_cast<uint64_t>(rank), i);
}

uint64_t hash_of(std::span<const float> values) {
  uint64_t hash = 0;
  for (float value : values) hash = random_bits(hash, std::bit_cast<uint32_t>(value));
  return hash;
}

// Bytes that programs can still have, pages of files that can be given up included; 0 where it cannot be
// read.
double free_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    double kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return 1024 * kibibytes;
  }
  return 0;
}

struct Check {
  double wrong = 0;               // values
  double error = 0, squares = 0;  // sums of squares
};

// One row's all-reduce of one set of values on one rank.
class Candidate {
 public:
  Candidate(ReductionRow& row, Fabric& fabric, LibraryFabric* library, std::span<float> values,
            std::span<float> scratch)
      : row_(row), fabric_(fabric), library_(library), values_(values), scratch_(scratch) {
    const auto reduction = reduction_from_name(row.reduce);
    if (reduction) reduction_ = *reduction;
    is_library_ = !reduction;
  }

  void run() {
    if (is_library_)
      library_->library_all_reduce(values_);
    else
      all_reduce(reduction_, fabric_, values_, scratch_, row_.fleet.ranks);
  }

  // Everything of the row but its time.
  void verify(uint64_t seed) {
    fill([&](size_t i) { return integer_value(seed, fabric_.rank(), i); });
    run();
    Check check = compare([&](int rank, size_t i) { return integer_value(seed, rank, i); }, 0);
    row_.exact = largest_over_ranks(fabric_, check.wrong) == 0;

    const auto random = [&](size_t i) { return random_value(seed, fabric_.rank(), i); };
    fill(random);
    run();
    const uint64_t first = hash_of(values_);
    check = compare([&](int rank, size_t i) { return random_value(seed, rank, i); },
                    (fabric_.size() - 1) * 0x1p-24);
    const double outside = largest_over_ranks(fabric_, check.wrong);
    row_.relative_l2 =
        largest_over_ranks(fabric_, check.squares > 0 ? std::sqrt(check.error / check.squares) : 0);
    row_.identical_bits = same_on_all_ranks(fabric_, first);
    fill(random);
    run();
    row_.repeatable = largest_over_ranks(fabric_, hash_of(values_) == first ? 0 : 1) == 0;
    settle(outside);
  }

  void prepare_timing() {
    fill([](size_t) { return 0.0F; });
    run();
    row_.iterations = 1;
    const double once = sample();
    row_.disturbed = 0;
    row_.iterations =
        std::clamp<int64_t>(static_cast<int64_t>(kShortestSample / std::max(once, 1e-9)), 1, 10'000);
  }

  // Seconds of one all-reduce, of the slowest rank.
  double sample() {
    const auto work = [&] {
      for (int64_t i = 0; i < row_.iterations; ++i) run();
    };
    return quiet_slowest_rank(fabric_, work, row_.disturbed) / static_cast<double>(row_.iterations);
  }

  // Whether this series needs no more samples, as rank 0 decides for all.
  bool is_done(const SamplingRule& rule) {
    const double next = samples.empty() ? 0 : samples.back() * static_cast<double>(row_.iterations);
    const bool done = stop_reason(samples, rule, rule.time_limit_seconds - spent, next).has_value();
    return largest_over_ranks(fabric_, fabric_.rank() == 0 && done ? 1 : 0) > 0;
  }

  ReductionRow& row() { return row_; }

  std::vector<double> samples;
  double spent = 0;

 private:
  template <typename Value>
  void fill(const Value& value) {
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = value(i);
  }

  // Against sums in f64; a value is wrong where it is farther off than `bound` times the sum of magnitudes.
  Check compare(const std::function<float(int, size_t)>& value, double bound) const {
    Check check;
    const size_t step = std::max<size_t>(1, values_.size() / static_cast<size_t>(kMostChecked));
    for (size_t i = 0; i < values_.size(); i += step) {
      double sum = 0, magnitudes = 0;
      for (int rank = 0; rank < fabric_.size(); ++rank) {
        const double summand = value(rank, i);
        sum += summand;
        magnitudes += std::abs(summand);
      }
      const double difference = std::abs(double{values_[i]} - sum);
      if (!(difference <= bound * magnitudes)) ++check.wrong;
      check.error += difference * difference;
      check.squares += sum * sum;
    }
    return check;
  }

  void settle(double outside) {
    const auto wrong = [&](const char* reason, const char* note) {
      row_.outcome = RowOutcome::wrong;
      row_.reason = reason;
      row_.note = note;
    };
    if (!*row_.exact)
      wrong("inexact_integers", "sums of small integers are wrong");
    else if (outside > 0)
      wrong("too_large_error", "sums of random values are farther from those in f64 than any order explains");
    else if (!*row_.identical_bits)
      wrong("ranks_differ", "the ranks ended with different bits, so that their weights would drift apart");
  }

  ReductionRow& row_;
  Fabric& fabric_;
  LibraryFabric* library_;
  std::span<float> values_, scratch_;
  Reduction reduction_ = Reduction::tree;
  bool is_library_ = false;
};

void refuse(ReductionRow& row, std::string reason, std::string note) {
  row.outcome = RowOutcome::refused;
  row.reason = std::move(reason);
  row.note = std::move(note);
}

// Refuses what cannot be run here; the values of scratch memory that the others need.
size_t refuse_rows(LibraryFabric* library, std::span<ReductionRow> rows) {
  size_t scratch = 0;
  for (ReductionRow& row : rows) {
    if (row.outcome == RowOutcome::refused) continue;
    const auto reduction = reduction_from_name(row.reduce);
    if (!reduction && library == nullptr) {
      refuse(row, "library_missing", "this fabric has no library with an all-reduce of its own");
    } else if (reduction) {
      if (const auto refused = refusal(*reduction, row.fleet.ranks))
        refuse(row, refused->reason, refused->note);
      else
        scratch = std::max(scratch,
                           scratch_values(*reduction, static_cast<size_t>(row.bytes) / 4, row.fleet.ranks));
    }
  }
  return scratch;
}

}  // namespace

void measure_reductions(Fabric& fabric, LibraryFabric* library, const SamplingRule& rule, uint64_t seed,
                        std::span<ReductionRow> rows) {
  if (rows.empty()) return;
  const size_t size = static_cast<size_t>(rows.front().bytes) / 4, scratch_size = refuse_rows(library, rows);
  // As if all ranks were on this machine. MPI may need as much again for messages on their way.
  const double needed = 4.0 * static_cast<double>(2 * size + scratch_size) * fabric.size();
  if (largest_over_ranks(fabric, needed > free_memory() ? 1 : 0) > 0) {
    for (ReductionRow& row : rows)
      if (row.outcome != RowOutcome::refused)
        refuse(row, "out_of_memory", "the ranks need more memory than is free");
    return;
  }
  std::vector<float> values(size), scratch(scratch_size);
  std::vector<Candidate> candidates;
  candidates.reserve(rows.size());
  for (ReductionRow& row : rows) {
    if (row.outcome == RowOutcome::refused) continue;
    Candidate candidate(row, fabric, library, values, scratch);
    candidate.verify(seed);
    if (const auto reduction = reduction_from_name(row.reduce))
      row.busiest_bytes =
          all_reduce_cost(*reduction, static_cast<double>(row.bytes), row.fleet.ranks, {{1, 0}, {1, 0}})
              .busiest_bytes;
    if (row.outcome == RowOutcome::good) candidates.push_back(std::move(candidate));
  }
  std::vector<Candidate*> left;
  for (Candidate& candidate : candidates) {
    candidate.prepare_timing();
    left.push_back(&candidate);
  }
  while (!left.empty()) {
    for (Candidate* candidate : left) {
      const auto begin = Clock::now();
      candidate->samples.push_back(candidate->sample());
      candidate->spent += seconds_since(begin);
    }
    std::erase_if(left, [&](Candidate* candidate) { return candidate->is_done(rule); });
  }
  for (Candidate& candidate : candidates) candidate.row().time = summarise(candidate.samples);
}

void model_reduction(ReductionRow& row, NetworkModel& network) {
  const auto reduction = reduction_from_name(row.reduce);
  if (!reduction)
    return refuse(row, "no_model", row.reduce + " chooses its algorithm itself, so there is no model of it");
  if (const auto refused = refusal(*reduction, row.fleet.ranks))
    return refuse(row, refused->reason, refused->note);
  if (const auto refused = network.refusal(*reduction, row.fleet.ranks))
    return refuse(row, refused->reason, refused->note);
  const Cost cost = network.all_reduce(*reduction, static_cast<double>(row.bytes), row.fleet.ranks);
  row.time.median = cost.seconds;
  row.busiest_bytes = cost.busiest_bytes;
}

}  // namespace convscope

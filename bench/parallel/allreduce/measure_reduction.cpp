#include "bench/parallel/allreduce/measure_reduction.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bench/core/random.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/cpu/system_files.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/parallel/allreduce/summands.hpp"
#include "bench/parallel/fabric/slowest_rank.hpp"

namespace convscope {
namespace {

constexpr int64_t kMaxChecked = int64_t{1} << 22;  // values compared with sums in f64; more are sampled

// A random value of a rank that any rank can compute.
float random_value(uint64_t seed, int rank, size_t i) {
  return random_uniform(seed + 1000 + static_cast<uint64_t>(rank), i);
}

struct Check {
  double wrong = 0;               // values
  double error = 0, squares = 0;  // sums of squares
};

// The values in host memory, summed over a fabric.
class HostValues final : public RankValues {
 public:
  // Waits for all ranks, so that none has values of an earlier size any more.
  explicit HostValues(Fabric& fabric) : fabric_(fabric), places_(gathered_places(fabric)) {}

  bool has_library() const override { return fabric_.has_all_reduce(); }
  bool allocate(size_t values, size_t scratch) override {
    const int64_t free_there = available_memory("").value_or(std::numeric_limits<int64_t>::max());
    const bool is_short = !has_room(places_, static_cast<size_t>(fabric_.rank()), values, scratch,
                                    allowed_memory(""), free_there);
    // Before any rank takes its part, by which the others would find less and count it again.
    if (largest_over_ranks(fabric_, is_short ? 1 : 0) > 0) return false;
    try {
      values_.resize(values);
      scratch_.resize(scratch);
    } catch (const std::bad_alloc&) {  // a limit of this process's own
      values_ = {};
      return false;
    }
    return true;
  }
  std::span<float> host() override { return values_; }
  void all_reduce(const ReductionRow& row) override {
    if (const auto reduction = from_name(kReductions, row.reduce))
      convscope::all_reduce(*reduction, fabric_, values_, scratch_, row.fleet.ranks);
    else
      fabric_.library_all_reduce(values_);
  }

 private:
  Fabric& fabric_;
  std::vector<RankPlace> places_;
  std::vector<float> values_, scratch_;
};

// One row's all-reduce of one set of values on one rank.
class Candidate {
 public:
  Candidate(ReductionRow& row, Fabric& fabric, RankValues& values)
      : row_(row), fabric_(fabric), values_(values) {}

  // Everything of the row but its time.
  void verify(uint64_t seed) {
    sum([&](size_t i) { return integer_summand(seed, fabric_.rank(), i); });
    Check check = compare([&](int rank, size_t i) { return integer_summand(seed, rank, i); }, 0);
    row_.exact = largest_over_ranks(fabric_, check.wrong) == 0;

    const auto random = [&](size_t i) { return random_value(seed, fabric_.rank(), i); };
    sum(random);
    const uint64_t first = hash_of_bits(values_.host());
    check = compare([&](int rank, size_t i) { return random_value(seed, rank, i); },
                    (fabric_.size() - 1) * 0x1p-24);
    const double outside = largest_over_ranks(fabric_, check.wrong);
    row_.relative_l2 =
        largest_over_ranks(fabric_, check.squares > 0 ? std::sqrt(check.error / check.squares) : 0);
    row_.identical_bits = same_on_all_ranks(fabric_, first);
    sum(random);
    row_.repeatable = largest_over_ranks(fabric_, hash_of_bits(values_.host()) == first ? 0 : 1) == 0;
    const bool is_intact = largest_over_ranks(fabric_, values_.is_intact() ? 0 : 1) == 0;
    settle(outside, is_intact);
  }

  void prepare_timing() {
    sum([](size_t) { return 0.0F; });
    row_.iterations = 1;
    // The fastest of a few: one that was held up would make samples too short.
    const double once = std::min({sample(), sample(), sample()});
    row_.disturbed = 0;
    row_.iterations = std::clamp<int64_t>(
        static_cast<int64_t>(values_.shortest_sample() / std::max(once, 1e-9)), 1, 10'000);
  }

  // Seconds of one all-reduce, of the slowest rank.
  double sample() {
    const auto work = [&] {
      for (int64_t i = 0; i < row_.iterations; ++i) values_.all_reduce(row_);
      values_.finish();
    };
    const auto taken = [&] {
      const bool was_slowed = values_.is_slowed();
      const std::pair<double, bool> seconds_and_loss = slowest_rank_and_loss(fabric_, work);
      return std::pair(seconds_and_loss.first, was_slowed || seconds_and_loss.second);
    };
    return quiet_slowest(fabric_, taken, row_.disturbed) / static_cast<double>(row_.iterations);
  }

  // Whether this series needs no more samples, as rank 0 decides for all.
  bool is_done(const SamplingRule& rule) {
    const double next = samples.empty() ? 0 : samples.back() * static_cast<double>(row_.iterations);
    return as_rank_0(fabric_, stop_reason(samples, rule, rule.time_limit_seconds - spent, next).has_value());
  }

  ReductionRow& row() { return row_; }

  std::vector<double> samples;
  double spent = 0;

 private:
  // Of these values; the sums are on the host afterwards.
  template <typename Value>
  void sum(const Value& value) {
    const std::span<float> host = values_.host();
    for (size_t i = 0; i < host.size(); ++i) host[i] = value(i);
    values_.upload();
    values_.all_reduce(row_);
    values_.finish();
    values_.download();
  }

  // Against sums in f64; a value is wrong where it is farther off than `bound` times the sum of magnitudes.
  Check compare(const std::function<float(int, size_t)>& value, double bound) {
    Check check;
    const std::span<const float> sums = values_.host();
    const size_t step = std::max<size_t>(1, sums.size() / static_cast<size_t>(kMaxChecked));
    for (size_t i = 0; i < sums.size(); i += step) {
      double sum = 0, magnitudes = 0;
      for (int rank = 0; rank < fabric_.size(); ++rank) {
        const double summand = value(rank, i);
        sum += summand;
        magnitudes += std::abs(summand);
      }
      const double difference = std::abs(double{sums[i]} - sum);
      if (!(difference <= bound * magnitudes)) ++check.wrong;
      check.error += difference * difference;
      check.squares += sum * sum;
    }
    return check;
  }

  void settle(double outside, bool is_intact) {
    if (!*row_.exact)
      call_wrong(row_, {"inexact_integers", "sums of small integers are wrong"});
    else if (outside > 0)
      call_wrong(row_, {"too_large_error",
                        "sums of random values are farther from those in f64 than any order explains"});
    else if (!*row_.identical_bits)
      call_wrong(row_, {"ranks_differ",
                        "the ranks ended with different bits, so that their weights would drift apart"});
    else if (!is_intact)
      call_wrong(row_, {"written_outside", "something was written beside the values"});
  }

  ReductionRow& row_;
  Fabric& fabric_;
  RankValues& values_;
};

// Refuses what cannot be run here; the values of scratch memory that the others need.
size_t refuse_what_cannot_run(bool has_library, std::span<ReductionRow> rows) {
  size_t scratch = 0;
  for (ReductionRow& row : rows) {
    if (row.outcome == RowOutcome::refused) continue;
    const auto reduction = from_name(kReductions, row.reduce);
    if (!reduction && !has_library) {
      refuse(row, {"library_missing", "this fabric has no library with an all-reduce of its own"});
    } else if (reduction) {
      if (const auto refused = refusal(*reduction, row.fleet.ranks))
        refuse(row, *refused);
      else
        scratch = std::max(scratch,
                           scratch_values(*reduction, static_cast<size_t>(row.bytes) / 4, row.fleet.ranks));
    }
  }
  return scratch;
}

}  // namespace

void measure_reductions(Fabric& fabric, RankValues& values, const SamplingRule& rule, uint64_t seed,
                        std::span<ReductionRow> rows) {
  if (rows.empty()) return;
  const size_t size = static_cast<size_t>(rows.front().bytes) / 4;
  const size_t scratch = refuse_what_cannot_run(values.has_library(), rows);
  if (largest_over_ranks(fabric, values.allocate(size, scratch) ? 0 : 1) > 0)
    return refuse_all(rows, {"out_of_memory",
                             "the ranks need more memory than is free where they are; take fewer --bytes, or "
                             "fewer ranks of a machine"});
  std::vector<Candidate> candidates;
  candidates.reserve(rows.size());
  for (ReductionRow& row : rows) {
    if (row.outcome == RowOutcome::refused) continue;
    Candidate candidate(row, fabric, values);
    candidate.verify(seed);
    if (const auto reduction = from_name(kReductions, row.reduce))
      row.busiest_bytes = busiest_bytes(*reduction, static_cast<double>(row.bytes), row.fleet.ranks);
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

void measure_reductions(Fabric& fabric, const SamplingRule& rule, uint64_t seed,
                        std::span<ReductionRow> rows) {
  HostValues values(fabric);
  measure_reductions(fabric, values, rule, seed, rows);
}

bool has_room(std::span<const RankPlace> ranks, size_t rank, size_t values, size_t scratch,
              int64_t of_container, int64_t free_on_machine) {
  const auto needed = [&](bool (*share)(const RankPlace&, const RankPlace&)) {
    const auto sharing =
        std::ranges::count_if(ranks, [&](const RankPlace& other) { return share(other, ranks[rank]); });
    return static_cast<double>(sharing) * static_cast<double>((2 * values + scratch) * sizeof(float));
  };
  return needed(is_beside) <= static_cast<double>(of_container) &&
         needed(is_on_one_machine) <= static_cast<double>(free_on_machine);
}

void model_reduction(ReductionRow& row, NetworkModel& network) {
  const auto reduction = from_name(kReductions, row.reduce);
  if (!reduction)
    return refuse(row,
                  {"no_model", row.reduce + " chooses its algorithm itself, so there is no model of it"});
  if (const auto refused = refusal(*reduction, row.fleet.ranks)) return refuse(row, *refused);
  if (const auto refused = network.refusal(*reduction, row.fleet.ranks)) return refuse(row, *refused);
  const Cost cost = network.all_reduce(*reduction, static_cast<double>(row.bytes), row.fleet.ranks);
  row.time.median = cost.seconds;
  row.busiest_bytes = cost.busiest_bytes;
}

}  // namespace convscope

#include "bench/step/ranked_step_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <new>
#include <numeric>

#include "bench/core/random.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/parallel/allreduce/device_values.hpp"
#include "bench/parallel/allreduce/summands.hpp"
#include "bench/parallel/allreduce/threads_communicator_test.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"
#include "bench/step/gradient_sum.hpp"

namespace convscope {
namespace {

TEST(RankedStep, RunsVerifiesAndTimesEveryReductionAlikeOnAllRanks) {
  for (int ranks : {2, 3}) {
    std::mutex mutex;
    std::vector<std::vector<StepRow>> of_ranks;
    run_ranks(ranks, [&](Fabric& fabric) {
      CpuDevice device;
      const Registry registry = testing::step_registry();
      TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
      std::vector<StepRow> rows{row_of(Reduction::tree, ranks), row_of(Reduction::ring, ranks),
                                row_of(Reduction::striped, ranks)};
      rows[2].of.compression = Compression::one_bit;
      measure_on_cpus(step, registry, device, fabric, rows);
      const std::lock_guard lock(mutex);
      of_ranks.push_back(rows);
    });
    for (const auto& rows : of_ranks)
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].outcome, RowOutcome::good) << rows[i].note;
        EXPECT_TRUE(*rows[i].identical_bits);
        EXPECT_EQ(rows[i].exact, i < 2 ? std::optional(true) : std::nullopt);
        EXPECT_EQ(rows[i].repeatable, i < 2 ? std::optional(true) : std::nullopt);
        ASSERT_EQ(rows[i].codec_relative_l2.has_value(), i == 2);
        if (i < 2) {
          EXPECT_LT(*rows[i].reduce_relative_l2, 1e-6);
        } else {
          EXPECT_GT(*rows[i].codec_relative_l2, 0.1);
          EXPECT_LT(*rows[i].codec_relative_l2, 1) << "means of both sides are nearer than 0";
        }
        EXPECT_GT(rows[i].schedule.step_seconds, 0);
        EXPECT_GE(*rows[i].samples, 6);
        EXPECT_TRUE(rows[i].disturbed.has_value());
        EXPECT_EQ(rows[i].schedule.step_seconds, of_ranks.front()[i].schedule.step_seconds);
      }
    EXPECT_NE(of_ranks.front()[0].busiest_bytes, 0);
    EXPECT_GT(*of_ranks.front()[2].reduce_relative_l2, 0.1) << "one bit a value";
    EXPECT_EQ(of_ranks.front()[0].codec_seconds, 0);
    EXPECT_GT(of_ranks.front()[2].codec_seconds, 0);
    EXPECT_LT(of_ranks.front()[2].busiest_bytes, of_ranks.front()[0].busiest_bytes);
  }
}

TEST(RankedStep, LeavesAllRanksWithTheSameWeights) {
  run_ranks(2, [](Fabric& fabric) {
    CpuDevice device;
    const Registry registry = testing::step_registry();
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    const std::vector<float> before = step.read_parameters();
    std::vector<StepRow> rows{row_of(Reduction::ring, 2), row_of(Reduction::striped, 2),
                              row_of(Reduction::tree, 2, {OverlapKind::layer})};
    rows[1].of.compression = Compression::one_bit;
    measure_on_cpus(step, registry, device, fabric, rows);
    const std::vector<float> after = step.read_parameters();
    EXPECT_NE(after, before);
    EXPECT_TRUE(same_on_all_ranks(fabric, hash_of_bits(after)));
  });
}

class FaultyFabric final : public Fabric {
 public:
  enum class Fault { none, last_is_not_added, third_sum_is_rounded_up, rank_1_receives_a_wrong_bit };
  FaultyFabric(Fabric& fabric, Fault fault) : fabric_(fabric), fault_(fault) {}
  int rank() const override { return fabric_.rank(); }
  int size() const override { return fabric_.size(); }
  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override {
    fabric_.exchange(sent, received);
    if (fault_ != Fault::rank_1_receives_a_wrong_bit || rank() != 1) return;
    // Gradients only: the choice of algorithms and the barriers are shorter.
    for (const Incoming& message : received)
      if (message.bytes.size() == 768) message.bytes[3] ^= std::byte{0x40};
  }
  void add(std::span<const float> from, std::span<float> to) override {
    const float last = to.back();
    fabric_.add(from, to);
    if (fault_ == Fault::last_is_not_added) to.back() = last;
    if (fault_ == Fault::third_sum_is_rounded_up && ++additions_ == 3)
      for (float& value : to) value = std::nextafter(value, 1e9F);
  }
  bool has_all_reduce() const override { return true; }
  void library_all_reduce(std::span<float> values) override {
    std::vector<float> scratch(values.size());
    all_reduce(Reduction::tree, *this, values, scratch, {size(), size()});
  }

 private:
  Fabric& fabric_;
  Fault fault_;
  int additions_ = 0;
};

TEST(RankedStep, SaysWhetherSumsAreExactAndRepeatable) {
  using Fault = FaultyFabric::Fault;
  for (auto [fault, by_library] :
       {std::pair(Fault::last_is_not_added, false), std::pair(Fault::third_sum_is_rounded_up, false),
        std::pair(Fault::last_is_not_added, true), std::pair(Fault::third_sum_is_rounded_up, true)}) {
    run_ranks(2, [&, fault = fault, by_library = by_library](Fabric& right) {
      CpuDevice device;
      FaultyFabric fabric(right, fault);
      const Registry registry = testing::step_registry();
      TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
      std::vector<StepRow> rows{row_of(Reduction::tree, 2)};
      rows[0].of.by_library = by_library;
      measure_on_cpus(step, registry, device, fabric, rows);
      const bool is_exact = fault != FaultyFabric::Fault::last_is_not_added;
      EXPECT_EQ(rows[0].exact, std::optional(is_exact));
      EXPECT_EQ(rows[0].repeatable, std::optional(!is_exact));
      EXPECT_EQ(rows[0].reason, is_exact ? "" : "inexact_integers");
      EXPECT_EQ(rows[0].outcome, is_exact ? RowOutcome::good : RowOutcome::wrong) << rows[0].note;
    });
  }
}

// The sum of all ranks is posted while the layers before are still computed: under the thread sanitizer this
// shows that nothing is shared.
TEST(RankedStep, SumsBehindTheBackwardPassByLayerAndByBucket) {
  const std::vector<Overlap> overlaps{{}, {OverlapKind::layer}, {OverlapKind::bucket, 256}};
  std::mutex mutex;
  std::vector<std::vector<StepRow>> of_ranks;
  run_ranks(2, [&](Fabric& threads) {
    CpuDevice device;
    FaultyFabric fabric(threads, FaultyFabric::Fault::none);  // it has an all-reduce of its own
    const Registry registry = testing::step_registry();
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    std::vector<StepRow> rows;
    for (const Overlap& overlap : overlaps) {
      rows.push_back(row_of(Reduction::ring, 2, overlap));
      rows.push_back(rows.back());
      rows.back().of.by_library = true;
      rows.push_back(row_of(Reduction::striped, 2, overlap));
      rows.back().of.compression = Compression::one_bit;
    }
    measure_on_cpus(step, registry, device, fabric, rows);
    const std::lock_guard lock(mutex);
    of_ranks.push_back(rows);
  });
  for (const auto& rows : of_ranks)
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].outcome, RowOutcome::good) << i << ": " << rows[i].note;
      EXPECT_TRUE(*rows[i].identical_bits);
      EXPECT_EQ(rows[i].schedule.reductions, i < 3 ? 1 : 2) << "two layers, each of 256 bytes or more";
      ASSERT_EQ(rows[i].compute_beside_seconds.has_value(), i >= 3);
      if (i >= 3) {
        EXPECT_GT(*rows[i].compute_beside_seconds, 0);
        EXPECT_LE(*rows[i].compute_beside_seconds, *rows[i].highest);
      }
      if (rows[i].of.compression == Compression::none) {
        EXPECT_EQ(rows[i].gradient_bytes, 768);
      }
    }
}

// Sums of a job whose sums of codes are made otherwise.
class OtherCodes final : public RankSums {
 public:
  using Make = std::function<std::unique_ptr<GradientSum>()>;
  OtherCodes(std::unique_ptr<RankSums> sums, Make make_codes)
      : sums_(std::move(sums)), make_codes_(std::move(make_codes)) {}
  Fabric& fabric() override { return sums_->fabric(); }
  Queue& queue() override { return sums_->queue(); }
  std::unique_ptr<GradientSum> make(const StepCase& of, const TrainingStep& step) override {
    return of.compression == Compression::none ? sums_->make(of, step) : make_codes_();
  }
  void begin_after(Queue& compute, std::function<void()> sum) override {
    sums_->begin_after(compute, std::move(sum));
  }
  void finish() override { sums_->finish(); }
  double slowest(const std::function<void()>& work, int64_t& disturbed) override {
    return sums_->slowest(work, disturbed);
  }

 private:
  std::unique_ptr<RankSums> sums_;
  Make make_codes_;
};

TEST(RankedStep, RefusesASumThatARankHasNoMemoryForAndMeasuresTheOthers) {
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    std::vector<StepRow> rows{row_of(Reduction::striped, 2), row_of(Reduction::ring, 2)};
    rows[0].of.compression = Compression::one_bit;
    OtherCodes sums(sums_on_cpus(fabric, device, 1), [&] {
      if (fabric.rank() == 1) throw std::bad_alloc();
      return gradient_sum_by({});
    });
    measure_ranked_step(step, testing::step_registry(), device, fabric, sums, short_options(), rows);
    EXPECT_EQ(rows[0].outcome, RowOutcome::refused);
    EXPECT_EQ(rows[0].reason, "out_of_memory");
    EXPECT_EQ(rows[1].outcome, RowOutcome::good) << rows[1].note;
    EXPECT_GT(rows[1].schedule.step_seconds, 0);
  });
}

TEST(RankedStep, ARowWhoseCodesLeaveNoNumbersIsWrong) {
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    std::vector<StepRow> rows{row_of(Reduction::striped, 2)};
    rows[0].of.compression = Compression::one_bit;
    OtherCodes sums(sums_on_cpus(fabric, device, 1), [] {
      return gradient_sum_by([](std::span<float> values) { std::ranges::fill(values, NAN); });
    });
    measure_ranked_step(step, testing::step_registry(), device, fabric, sums, short_options(), rows);
    EXPECT_TRUE(*rows[0].identical_bits);
    EXPECT_EQ(rows[0].reason, "wrong_sums");
  });
}

TEST(RankedStep, HasASpeedUpOverTheStepOfOneProcess) {
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    const Registry registry = testing::step_registry();
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    std::optional<TrainingStep> whole;
    if (fabric.rank() == 0) whole.emplace(network_of(testing::small_suite(), 4), device, 1);
    std::vector<StepRow> rows{row_of(Reduction::tree, 2)};
    std::vector<double> paces;
    RankedStepCalls calls;
    calls.paced = [&](double seconds) {
      EXPECT_FALSE(rows[0].samples) << "before anything is timed";
      paces.push_back(seconds);
    };
    measure_on_cpus(step, registry, device, fabric, rows, whole ? &*whole : nullptr, calls);
    ASSERT_EQ(paces.size(), 1u);
    EXPECT_GT(paces[0], 0);
    EXPECT_EQ(largest_over_ranks(fabric, paces[0]), paces[0]) << "the same on both";
    ASSERT_TRUE(rows[0].alone_seconds);
    EXPECT_DOUBLE_EQ(*rows[0].speed_up(), *rows[0].alone_seconds / rows[0].schedule.step_seconds);
  });
}

TEST(SummedTogether, AreTheLayersOfEachBucketFromTheLastOn) {
  CpuDevice device;
  const TrainingStep step(network_of(testing::small_suite(), 2), device, 1);
  const auto ranges = [&](const Overlap& overlap) {
    std::vector<std::pair<size_t, size_t>> all;
    for (const LayerRange& one : summed_together(step, overlap)) all.emplace_back(one.begin, one.end);
    return all;
  };
  using Ranges = std::vector<std::pair<size_t, size_t>>;
  EXPECT_EQ(ranges({}), (Ranges{{0, 2}}));
  EXPECT_EQ(ranges({OverlapKind::layer}), (Ranges{{1, 2}, {0, 1}}));
  EXPECT_EQ(ranges({OverlapKind::bucket, 1 << 20}), (Ranges{{0, 2}}));
}

// Runs all tasks but the update.
void compute_gradients(TrainingStep& step, Device& device) {
  const Registry registry = testing::step_registry();
  const auto queue = device.make_queue();
  Buffer workspace(device, 4096);
  for (size_t task = 0; task < step.tasks().size(); ++task) {
    const StepTask& of = step.tasks()[task];
    if (of.kind == TaskKind::update) continue;
    const auto plan =
        of.problem ? registry.find("exact.cpu")->plan(*of.problem, device, {}) : std::unique_ptr<Plan>();
    step.run(task, plan.get(), workspace.data(), *queue);
  }
}

TEST(RankedStep, TheRanksMeanGradientIsThatOfTheWholeBatch) {
  CpuDevice device;
  TrainingStep whole(network_of(testing::small_suite(), 6), device, 4);
  compute_gradients(whole, device);
  std::vector<double> mean(whole.gradients().size());
  for (int64_t rank = 0; rank < 3; ++rank) {
    TrainingStep part(network_of(testing::small_suite(), 2), device, 4, 2 * rank);
    compute_gradients(part, device);
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += part.gradients()[i] / 3.0;
  }
  double largest = 0;
  for (size_t i = 0; i < mean.size(); ++i) {
    EXPECT_NEAR(whole.gradients()[i], mean[i], 1e-6) << i;
    largest = std::max(largest, std::abs(mean[i]));
  }
  EXPECT_GT(largest, 1e-2);
}

TEST(RankedStep, EachRankNormalisesItsOwnShare) {
  CpuDevice device;
  TrainingStep whole(network_of(testing::residual_suite(), 4), device, 4);
  compute_gradients(whole, device);
  std::vector<double> mean(whole.gradients().size());
  for (int64_t rank = 0; rank < 2; ++rank) {
    TrainingStep part(network_of(testing::residual_suite(), 2), device, 4, 2 * rank);
    compute_gradients(part, device);
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += part.gradients()[i] / 2.0;
  }
  double farthest = 0;
  for (size_t i = 0; i < mean.size(); ++i)
    farthest = std::max(farthest, std::abs(whole.gradients()[i] - mean[i]));
  EXPECT_GT(farthest, 1e-3) << "the statistics of four images are not those of two and two";
}

TEST(RankedStep, SumsTheGradientsOfScalesAndShiftsToo) {
  std::mutex mutex;
  std::vector<std::vector<float>> own, sums;
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    TrainingStep step(network_of(testing::residual_suite(), 2), device, 1, 2 * fabric.rank());
    for (Compression compression : {Compression::none, Compression::one_bit}) {
      compute_gradients(step, device);
      const size_t scale = step.parameters_of(3).first + 4 * 4 * 9 + 4;  // of b, behind filter and biases
      const auto of_b = [&] {
        const std::span<float> values = step.gradients().subspan(scale, 8);
        return std::vector<float>(values.begin(), values.end());
      };
      const std::vector<float> mine = of_b();
      StepCase of = row_of(Reduction::striped, 2).of;
      of.compression = compression;
      const auto queue = device.make_queue();
      gradient_sum(of, step, fabric.rank(), device, *queue)
          ->run(fabric, step, {0, step.network().layers.size()});
      const std::lock_guard lock(mutex);
      own.push_back(mine);
      sums.push_back(of_b());
    }
  });
  ASSERT_EQ(sums.size(), 4U);
  std::vector<double> sum(8);
  for (const auto& one : own)
    for (size_t i = 0; i < 8; ++i) sum[i] += one[i] / 2;  // each rank's is there twice
  for (const auto& one : sums)
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(one[i], sum[i], 1e-6) << i;
}

TEST(RankedStep, RunsAGraphWithNormalisationBehindItsBackwardPass) {
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    const Registry registry = testing::step_registry();
    TrainingStep step(network_of(testing::residual_suite(), 2), device, 1, 2 * fabric.rank());
    std::vector<StepRow> rows{row_of(Reduction::ring, 2, {OverlapKind::layer})};
    measure_on_cpus(step, registry, device, fabric, rows);
    EXPECT_EQ(rows[0].outcome, RowOutcome::good) << rows[0].note;
    EXPECT_TRUE(*rows[0].identical_bits);
    EXPECT_EQ(rows[0].schedule.reductions, 5);
  });
}

TEST(GradientSum, WhatCodesKeepIsPassedOnInLaterSteps) {
  constexpr int kSteps = 30;
  std::mutex mutex;
  std::vector<double> sent, given, kept_at_the_end;
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    StepCase of = row_of(Reduction::striped, 2).of;
    of.compression = Compression::one_bit;
    const auto queue = device.make_queue();
    const auto sum = gradient_sum(of, step, fabric.rank(), device, *queue);
    std::vector<size_t> places(step.gradients().size());
    for (size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::vector<double> mine(places.size()), sums(places.size());
    for (int round = 0; round < kSteps; ++round) {
      for (size_t i = 0; i < places.size(); ++i) {
        step.gradients()[i] = random_uniform(static_cast<uint64_t>(2 * round + fabric.rank()), i);
        mine[i] += step.gradients()[i];
      }
      sum->run(fabric, step, {0, step.network().layers.size()});
      for (size_t i = 0; i < places.size(); ++i) sums[i] += step.gradients()[i];
    }
    const std::vector<float> kept = sum->kept(places);
    const std::lock_guard lock(mutex);
    given.resize(places.size());
    kept_at_the_end.resize(places.size());
    for (size_t i = 0; i < places.size(); ++i) {
      given[i] += mine[i];
      kept_at_the_end[i] += kept[i];
    }
    sent = sums;
  });
  for (size_t i = 0; i < sent.size(); ++i) EXPECT_NEAR(sent[i] + kept_at_the_end[i], given[i], 1e-4) << i;
}

// What the ranks have after two sums of coded gradients, layer by layer as they become ready.
std::vector<std::vector<float>> coded_sums(Device& device, Queue& queue, Fabric& fabric) {
  TrainingStep step(network_of(testing::small_suite(), 2), device, 1);
  StepCase of = row_of(Reduction::striped, 2).of;
  of.compression = Compression::one_bit;
  const auto sum = gradient_sum(of, step, fabric.rank(), device, queue);
  std::vector<float> gradients(step.gradients().size());
  std::vector<std::vector<float>> sums;
  for (uint64_t round = 0; round < 2; ++round) {
    for (size_t i = 0; i < gradients.size(); ++i)
      gradients[i] = random_uniform(2 * round + static_cast<uint64_t>(fabric.rank()), i);
    step.write_gradients(gradients);
    for (const LayerRange& layers : summed_together(step, {OverlapKind::layer}))
      sum->run(fabric, step, layers);
    queue.synchronize();
    sums.push_back(step.read_gradients());
  }
  std::vector<size_t> places(gradients.size());
  std::iota(places.begin(), places.end(), size_t{0});
  sums.push_back(sum->kept(places));
  EXPECT_GT(sum->own_kept_squares(), 0);
  return sums;
}

TEST(GradientSum, OfCodesIsInDeviceMemoryWhatItIsInTheHosts) {
  run_ranks(2, [&](Fabric& threads) {
    CpuDevice cpu;
    const auto expected = coded_sums(cpu, *cpu.make_queue(), threads);
    EmulatorDevice gpu;
    const auto queue = gpu.make_queue();
    ThreadsCommunicator communicator(threads, gpu, ThreadsCommunicator::Fault::none);
    DeviceFabric fabric(threads.rank(), 2, communicator, gpu, *queue);
    const auto found = coded_sums(gpu, *queue, fabric);
    for (size_t part = 0; part < expected.size(); ++part)
      for (size_t i = 0; i < expected[part].size(); ++i)
        ASSERT_NEAR(found[part][i], expected[part][i], 1e-5) << i;
  });
}

TEST(RankedStep, ARowWhoseRanksDifferIsWrongAndHasNoTime) {
  run_ranks(2, [&](Fabric& inner) {
    FaultyFabric fabric(inner, FaultyFabric::Fault::rank_1_receives_a_wrong_bit);
    CpuDevice device;
    const Registry registry = testing::step_registry();
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    ASSERT_EQ(step.gradients().size_bytes(), 768U);
    std::vector<StepRow> rows{row_of(Reduction::tree, 2)};
    measure_on_cpus(step, registry, device, fabric, rows);
    EXPECT_EQ(rows[0].outcome, RowOutcome::wrong);
    EXPECT_EQ(rows[0].reason, "ranks_differ");
    EXPECT_EQ(rows[0].schedule.step_seconds, 0);
  });
}

}  // namespace
}  // namespace convscope

// Sums in device memory, on the emulator, whose memory is the host's: the messages go by threads.
#include "bench/parallel/allreduce/device_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/device/forwarding_device_test.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/parallel/allreduce/measure_reduction.hpp"
#include "bench/parallel/allreduce/threads_communicator_test.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"
#include "bench/parallel/reductions/cuda/add.hpp"

namespace convscope {
namespace {

// To the thread sanitizer each thread of a block is a fiber of its own, which takes a while to make.
#if defined(__SANITIZE_THREAD__)
constexpr int kDeviceRanks[] = {2};
constexpr int64_t kDeviceSizes[] = {20};
constexpr size_t kAddedCounts[] = {1, 255};
#else
constexpr int kDeviceRanks[] = {1, 2, 3};
constexpr int64_t kDeviceSizes[] = {4, 20, 4100};  // bytes: chunks may be empty, and begin anywhere
constexpr size_t kAddedCounts[] = {1, 255, 1023, 1025, 2048 * 1024 + 5000};
#endif

using Fault = ThreadsCommunicator::Fault;

std::vector<ReductionRow> device_rows(int n, int64_t bytes) {
  std::vector<std::string> reductions{std::string(kNccl)};
  for (Reduction reduction : kReductions) reductions.emplace(reductions.end() - 1, name(reduction));
  std::vector<ReductionRow> rows;
  for (const std::string& reduce : reductions) {
    ReductionRow& row = rows.emplace_back();
    row.fleet = {{n, n}, Basis::measured, "nccl", "", {}};
    row.reduce = reduce;
    row.bytes = bytes;
  }
  return rows;
}

// Another program uses the device of `shared_rank`.
std::vector<ReductionRow> measured_rows(int n, int64_t bytes, Fault fault, int shared_rank = -1) {
  constexpr SamplingRule kTwo{.time_limit_seconds = 0.02, .min_samples = 2, .max_samples = 2};
  std::vector<ReductionRow> rows = device_rows(n, bytes);
  run_ranks(n, [&](Fabric& fabric) {
    EmulatorDevice emulator;
    testing::SharedDevice device(emulator, fabric.rank() == shared_rank);
    const auto queue = device.make_queue();
    ThreadsCommunicator communicator(fabric, device, fault);
    DeviceValues values(fabric.rank(), n, communicator, device, *queue);
    std::vector<ReductionRow> mine = device_rows(n, bytes);
    measure_reductions(fabric, values, kTwo, 1, mine);
    if (fabric.rank() == 0) rows = mine;
  });
  return rows;
}

TEST(SumsInDeviceMemory, AreRightByEveryReductionAndTheLibrary) {
  for (int n : kDeviceRanks)
    for (int64_t bytes : kDeviceSizes)
      for (const ReductionRow& row : measured_rows(n, bytes, Fault::none)) {
        SCOPED_TRACE(row.reduce + " of " + std::to_string(bytes) + " bytes on " + std::to_string(n));
        if (row.reduce == "halving" && n == 3) {
          EXPECT_EQ(row.reason, "not_power_of_two");
          continue;
        }
        EXPECT_EQ(row.outcome, RowOutcome::good) << row.note;
        EXPECT_TRUE(*row.exact && *row.identical_bits && *row.repeatable);
        EXPECT_GT(row.time.n, 0);
        EXPECT_EQ(row.busiest_bytes.has_value(), row.reduce != kNccl);
      }
}

TEST(SumsInDeviceMemory, AreWrongWhereTheLibraryOrAMessageIs) {
  for (const ReductionRow& row : measured_rows(2, 4096, Fault::sum_of_rank_1))
    EXPECT_EQ(row.reason, row.reduce == kNccl ? "inexact_integers" : "") << row.reduce;
  for (const ReductionRow& row : measured_rows(2, 4096, Fault::lost_message)) {
    EXPECT_EQ(row.outcome == RowOutcome::wrong, row.reduce != kNccl) << row.reduce;
    EXPECT_EQ(row.has_time(), row.reduce == kNccl);
  }
}

TEST(SumsInDeviceMemory, AreWrongWhereSomethingIsWrittenBesideThem) {
  EXPECT_EQ(measured_rows(2, 4096, Fault::outside).back().reason, "written_outside");
}

TEST(SumsInDeviceMemory, AreDisturbedOnAllRanksWhereAnotherProgramUsesTheGpuOfOne) {
  for (const ReductionRow& row : measured_rows(2, 20, Fault::none, 1)) {
    EXPECT_EQ(row.outcome, RowOutcome::good) << row.note;
    EXPECT_EQ(row.disturbed, row.time.n) << row.reduce;
  }
}

TEST(SumsInDeviceMemory, EndWithTheWordsOfALibraryThatFails) {
  EXPECT_THAT([] { measured_rows(2, 4096, Fault::refuses); },
              ::testing::ThrowsMessage<std::runtime_error>(::testing::HasSubstr("ncclAllReduce")));
}

TEST(AddInDeviceMemory, AddsEveryValueAndNothingBesideInAnyOrderOfThreads) {
  for (EmulatorOrder order : kEveryOrder)
    for (size_t n : kAddedCounts) {
      if (n > 2000 && order != EmulatorOrder::forward) continue;
      EmulatorDevice device({.order = order, .seed = 7});
      const auto queue = device.make_queue();
      std::vector<float> from(n + 1), before(n + 2), after(n + 2);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i % 97);
      for (size_t i = 0; i < before.size(); ++i) before[i] = static_cast<float>(i % 13) - 5;
      Buffer in(device, from.size() * sizeof(float)), out(device, before.size() * sizeof(float));
      in.upload(from.data(), in.bytes());
      out.upload(before.data(), out.bytes());
      emulated::enqueue_add({in.as<float>() + 1, n}, {out.as<float>() + 1, n}, *queue);
      queue->synchronize();
      out.download(after.data(), out.bytes());
      EXPECT_EQ(after.front(), before.front());
      EXPECT_EQ(after.back(), before.back());
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(after[i + 1], before[i + 1] + from[i + 1]) << i;
    }
}

}  // namespace
}  // namespace convscope

// 1-bit codes in device memory, on the emulator, held against those of the CPU: the codec by itself, then the
// reduction over it, whose messages go by threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/core/random.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/parallel/allreduce/device_values.hpp"
#include "bench/parallel/allreduce/threads_communicator_test.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"
#include "bench/parallel/reductions/one_bit_reduction.hpp"

namespace convscope {
namespace {

// Of levels and errors, whose sums the device makes in another order: of values below 1 in magnitude.
constexpr float kRounding = 2e-6F;

// To the thread sanitizer each thread of a block is a fiber of its own, which takes a while to make.
#if defined(__SANITIZE_THREAD__)
constexpr int64_t kColumnSizes[] = {33, 1024};
constexpr int kRankCounts[] = {2};
#else
constexpr int64_t kColumnSizes[] = {1, 31, 32, 33, 100, 1023, 1024, 1100};  // from 1024 on a block's
constexpr int kRankCounts[] = {2, 3};
#endif

std::vector<float> uniform_values(uint64_t seed, size_t count) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(random_uniform(seed, i));
  return values;
}

// Values in device memory that begin on no multiple of 8 bytes, as a stripe may.
template <typename T>
class OnDevice {
 public:
  OnDevice(Device& device, const std::vector<T>& values)
      : buffer_(device, (values.size() + 1) * sizeof(T)), size_(values.size()) {
    device.copy_to_device(buffer_.as<T>() + 1, values.data(), size_ * sizeof(T));
  }
  std::span<T> span() const { return {buffer_.as<T>() + 1, size_}; }
  std::vector<T> read() const {
    EXPECT_TRUE(buffer_.guards_intact());
    std::vector<T> values(size_);
    buffer_.device()->copy_to_host(values.data(), buffer_.as<T>() + 1, size_ * sizeof(T));
    return values;
  }

 private:
  Buffer buffer_;
  size_t size_;
};

void expect_near(const std::vector<float>& found, const std::vector<float>& expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << i;
}

TEST(OneBitInDeviceMemory, HasTheBitsOfTheCpuAndItsLevelsButForRoundingInAnyOrderOfThreads) {
  for (EmulatorOrder order : kEveryOrder)
    for (int64_t values : kColumnSizes) {
      SCOPED_TRACE(values);
      const Columns columns{9, values};  // more than the warps of a block
      EmulatorDevice device({.order = order, .seed = 7});
      const auto queue = device.make_queue();
      const std::vector<float> gradient = uniform_values(1, columns.elements());
      std::vector<float> error = uniform_values(2, columns.elements());
      const OnDevice<float> own_gradient(device, gradient), own_error(device, error);
      std::vector<uint32_t> codes(columns.encoded_words());
      const OnDevice<uint32_t> own_codes(device, codes);
      encode(columns, gradient, error, codes);
      OneBitCodec(DeviceKind::emulator, *queue)
          .encode(columns, own_gradient.span(), own_error.span(), own_codes.span());
      queue->synchronize();
      EXPECT_EQ(own_gradient.read(), gradient) << "only read";
      expect_near(own_error.read(), error, kRounding);
      const std::vector<uint32_t> found = own_codes.read();
      for (size_t i = 0; i < codes.size(); ++i) {
        if (i % columns.words_of_column() < 2)
          ASSERT_NEAR(std::bit_cast<float>(found[i]), std::bit_cast<float>(codes[i]), kRounding);
        else
          ASSERT_EQ(found[i], codes[i]) << i;
      }
    }
}

TEST(OneBitInDeviceMemory, IsDecodedToTheBitsOfTheCpuInAnyOrderOfThreads) {
  for (EmulatorOrder order : kEveryOrder)
    for (int64_t values : kColumnSizes) {
      SCOPED_TRACE(values);
      const Columns columns{9, values};
      EmulatorDevice device({.order = order, .seed = 7});
      const auto queue = device.make_queue();
      std::vector<float> error(columns.elements()), decoded = uniform_values(3, columns.elements());
      std::vector<uint32_t> codes(columns.encoded_words());
      encode(columns, uniform_values(1, columns.elements()), error, codes);
      const OnDevice<uint32_t> own_codes(device, codes);
      const OnDevice<float> added(device, decoded), replaced(device, decoded);
      OneBitCodec codec(DeviceKind::emulator, *queue);
      codec.decode(columns, own_codes.span(), added.span(), true);
      codec.decode(columns, own_codes.span(), replaced.span());
      queue->synchronize();
      decode(columns, codes, decoded, true);
      EXPECT_EQ(added.read(), decoded);
      decode(columns, codes, decoded);
      EXPECT_EQ(replaced.read(), decoded);
    }
}

// --- The reduction ---

enum class Where { cpu, device };
enum class Errors { fed_back, dropped };
constexpr Columns kReducedColumns{
    7, 45};  // columns that no number of ranks divides, and fewer than nine ranks have
constexpr int kStepsReduced = 5;

std::vector<float> gradient_with_mean(int step, int rank) {
  std::vector<float> values =
      uniform_values(static_cast<uint64_t>(100 * step + rank), kReducedColumns.elements());
  for (float& value : values) value += 0.25F;  // so that what is lost adds up
  return values;
}

// What one rank has of some steps.
struct ReducedSteps {
  std::vector<std::vector<float>> returned;
  std::vector<float> kept;  // at the end
};

// A reduction whose errors are dropped is one that begins anew with each step.
ReducedSteps steps_of(Fabric& fabric, Device& device, Queue& queue, Errors errors) {
  ReducedSteps steps;
  std::optional<OneBitReduction> reduction;
  Buffer memory(device, kReducedColumns.elements() * sizeof(float));
  for (int step = 0; step < kStepsReduced; ++step) {
    std::vector<float> gradient = gradient_with_mean(step, fabric.rank());
    memory.upload(gradient.data(), memory.bytes());
    if (!reduction || errors == Errors::dropped)
      reduction.emplace(kReducedColumns, fabric.size(), fabric.rank(), device, queue);
    reduction->all_reduce(fabric, {memory.as<float>(), gradient.size()});
    queue.synchronize();
    memory.download(gradient.data(), memory.bytes());
    steps.returned.push_back(gradient);
  }
  for (size_t i = 0; i < kReducedColumns.elements(); ++i) steps.kept.push_back(reduction->kept(i));
  EXPECT_TRUE(memory.guards_intact());
  return steps;
}

std::vector<ReducedSteps> reduced(int ranks, Where where, Errors errors = Errors::fed_back) {
  std::vector<ReducedSteps> all(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](Fabric& threads) {
    ReducedSteps& own = all[static_cast<size_t>(threads.rank())];
    if (where == Where::cpu) {
      CpuDevice device;
      own = steps_of(threads, device, *device.make_queue(), errors);
      return;
    }
    EmulatorDevice device;
    const auto queue = device.make_queue();
    ThreadsCommunicator communicator(threads, device, ThreadsCommunicator::Fault::none);
    DeviceFabric fabric(threads.rank(), ranks, communicator, device, *queue);
    own = steps_of(fabric, device, *queue, errors);
  });
  return all;
}

// The largest of |what was returned + what is kept - what was given|, over all steps and ranks.
double largest_loss(const std::vector<ReducedSteps>& ranks) {
  double largest = 0;
  for (size_t i = 0; i < kReducedColumns.elements(); ++i) {
    double loss = 0;
    for (const std::vector<float>& step : ranks.front().returned) loss += double{step[i]};
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      loss += double{ranks[rank].kept[i]};
      for (int step = 0; step < kStepsReduced; ++step)
        loss -= double{gradient_with_mean(step, static_cast<int>(rank))[i]};
    }
    largest = std::max(largest, std::abs(loss));
  }
  return largest;
}

TEST(OneBitReductionInDeviceMemory, ReturnsWhatTheCpuDoesWithTheSameBitsOnAllRanksAndAgain) {
  for (int n : kRankCounts) {
    SCOPED_TRACE(n);
    const std::vector<ReducedSteps> found = reduced(n, Where::device), again = reduced(n, Where::device),
                                    expected = reduced(n, Where::cpu);
    for (size_t rank = 0; rank < found.size(); ++rank) {
      EXPECT_EQ(found[rank].returned, found.front().returned);
      EXPECT_EQ(found[rank].returned, again[rank].returned);
      EXPECT_EQ(found[rank].kept, again[rank].kept);
      expect_near(found[rank].kept, expected[rank].kept, 10 * kRounding);
      for (size_t step = 0; step < kStepsReduced; ++step)
        expect_near(found[rank].returned[step], expected[rank].returned[step], 10 * kRounding);
    }
  }
}

TEST(OneBitReductionInDeviceMemory, PassesOnAllThatItWasGivenLessWhatItKeeps) {
  for (int n : kRankCounts) EXPECT_LT(largest_loss(reduced(n, Where::device)), 1e-4) << n;
}

TEST(OneBitReductionInDeviceMemory, WithoutFeedbackIsCaughtByWhatWasGiven) {
  EXPECT_GT(largest_loss(reduced(2, Where::device, Errors::dropped)), 0.1);
}

TEST(OneBitReductionInDeviceMemory, TakesRanksThatOwnNoColumn) {
  constexpr int kRanks = 3;
  std::vector<std::vector<float>> sums(kRanks);
  run_ranks(kRanks, [&](Fabric& threads) {
    EmulatorDevice device;
    const auto queue = device.make_queue();
    ThreadsCommunicator communicator(threads, device, ThreadsCommunicator::Fault::none);
    DeviceFabric fabric(threads.rank(), kRanks, communicator, device, *queue);
    OneBitReduction reduction({2, 4}, kRanks, threads.rank(), device, *queue);
    const OnDevice<float> gradient(device, {1, 2, 3, 2, -1, -2, -3, -2});
    reduction.all_reduce(fabric, gradient.span());
    queue->synchronize();
    sums[static_cast<size_t>(threads.rank())] = gradient.read();
  });
  for (const std::vector<float>& sum : sums) EXPECT_EQ(sum, (std::vector<float>{6, 6, 6, 6, -6, -6, -6, -6}));
}

}  // namespace
}  // namespace convscope

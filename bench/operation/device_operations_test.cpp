// Every kernel of cuda/ on the emulator, against the definition in f64: whole quads and tails, planes that
// begin anywhere, single pixels, several pieces and slices; in every order of threads, with the same bits.
#include "bench/operation/cuda/device_operations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "bench/core/every_operation_test.hpp"
#include "bench/core/random.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/operation/operations.hpp"
#include "bench/operation/own_operations.hpp"
#include "bench/verify/operation_reference.hpp"

namespace convscope {
namespace {

// To the thread sanitizer each thread of a block is a fiber of its own, which takes a while to make.
#if defined(__SANITIZE_THREAD__)
const Activations kDeviceShapes[] = {{2, 3, 5, 7}, {2, 9, 3, 3}};
#else
const Activations kDeviceShapes[] = {
    {2, 3, 5, 7},     // planes that begin inside a quad
    {3, 37, 3, 3},    // planes smaller than a warp; several threads share the channels of a pixel
    {33, 300, 1, 1},  // the columns of a fully-connected layer
    {1, 2, 71, 67},   // planes of two pieces
    {2, 6, 20, 16},   // whole quads
    {1, 1, 1, 3},     // less than a quad
    {9, 33, 8, 4},    // planes of a warp; more channels than one block adds up
    {19, 1, 1, 1},    // columns of one value, one side of whose code is empty
};
#endif

std::vector<OperationProblem> device_problems() {
  std::vector<OperationProblem> all;
  for (const Activations& shape : kDeviceShapes)
    for (const OperationProblem& problem :
         testing::every_operation(shape, {"3x3/2", "2x2/2", "3x3/2 pad 1", "2x2/1", "3x2/2 pad 1",
                                          "3x3/1 pad 1", "2x5/3x1 pad 1x2", "1x1/2", "17x17/5 pad 16"}))
      all.push_back(problem);
  return all;
}

// What a run leaves in the tensors, checked.
BySlot<float> checked_result(const OperationProblem& problem, EmulatorOrder order) {
  EmulatorDevice device({.order = order, .seed = 7});
  const auto queue = device.make_queue();
  const auto plan = own_operations()->plan(problem, device);
  const BySlot<float> data = operation_data(problem, 1);
  OperationBuffers buffers(data, device);
  const Buffer kept(device, static_cast<size_t>(plan->kept_bytes()));
  const OperationCheck check =
      check_operation(problem, *plan, buffers, kept, data, operation_reference(problem, data), *queue);
  EXPECT_EQ(check.fault.value_or(""), "") << to_text(problem);
  EXPECT_LT(check.relative_l2, 2e-6) << to_text(problem);
  BySlot<float> result;
  for (Slot slot : kSlots) {
    std::vector<float>& values = result[static_cast<size_t>(slot)];
    values.resize(buffers[slot].bytes() / sizeof(float));
    buffers[slot].download(values.data(), buffers[slot].bytes());
  }
  return result;
}

TEST(DeviceOperations, AreRightInEveryOrderOfThreadsWithTheSameBits) {
  for (const OperationProblem& problem : device_problems()) {
    const BySlot<float> first = checked_result(problem, EmulatorOrder::forward);
    for (EmulatorOrder order : {EmulatorOrder::reverse, EmulatorOrder::random}) {
      const BySlot<float> again = checked_result(problem, order);
      for (Slot slot : kSlots) {
        const auto &one = first[static_cast<size_t>(slot)], &other = again[static_cast<size_t>(slot)];
        if (one.empty()) continue;
        EXPECT_EQ(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)), 0)
            << to_text(problem) << ", " << name(slot);
      }
    }
  }
}

TEST(DeviceOperations, ReachEveryWayOfSummingABias) {
  const BiasSums columns({33, 300, 1, 1}), planes({9, 33, 8, 4}), pieces({1, 2, 71, 67});
  EXPECT_TRUE(columns.by_columns);
  EXPECT_EQ(columns.slices, 33);
  EXPECT_FALSE(planes.by_columns);
  EXPECT_EQ(planes.slices, 2);
  EXPECT_EQ(pieces.pieces, 2);
  // As many sums as images at most, and no more blocks than keep a GPU busy.
  EXPECT_EQ(BiasSums({1, 100000, 1, 1}).slices, 1);
  EXPECT_EQ(BiasSums({256, 96, 55, 55}).slices, 21);
}

TEST(DeviceOperations, CutTheSumsOfBatchNormalisationIntoSlices) {
  const auto slices = [](const Activations& shape) { return BatchNormSums(shape).slices; };
  EXPECT_EQ(slices({1, 2, 71, 67}), 5);
  EXPECT_EQ(slices({33, 300, 1, 1}), 1);
  // No more blocks than keep a GPU busy, and a block for each channel at least.
  EXPECT_EQ(slices({256, 64, 112, 112}), 32);
  EXPECT_EQ(slices({256, 4096, 7, 7}), 1);
}

OperationCheck checked(const OperationProblem& problem, const BySlot<float>& data, Device& device) {
  const auto queue = device.make_queue();
  const auto plan = own_operations()->plan(problem, device);
  OperationBuffers buffers(data, device);
  const Buffer kept(device, static_cast<size_t>(plan->kept_bytes()));
  return check_operation(problem, *plan, buffers, kept, data, operation_reference(problem, data), *queue);
}

TEST(DeviceOperations, NormaliseValuesFarFromZero) {
  const OperationProblem forward{OperationSort::batch_norm, false, {4, 2, 9, 9}, {}};
  BySlot<float> data = operation_data(forward, 1);
  for (float& value : data[static_cast<size_t>(Slot::x)]) value = 1000 + 3 * value;
  EmulatorDevice device;
  const OperationCheck check = checked(forward, data, device);
  EXPECT_EQ(check.fault.value_or(""), "");
  EXPECT_LT(check.relative_l2, 1e-4);  // of which 1000 rounded to f32 has the most
}

TEST(DeviceOperations, GiveTheGradientToTheFirstOfEqualMaximaAndSoDoesTheCpu) {
  CpuDevice cpu;
  EmulatorDevice emulator;
  for (const char* pool : {"pool 3x3/2", "pool 3x3/1 pad 1", "pool 2x5/3x1 pad 1x2", "pool 17x17/5 pad 16"})
    for (Device* device : {static_cast<Device*>(&cpu), static_cast<Device*>(&emulator)}) {
      const OperationProblem backward{OperationSort::pool, true, {1, 2, 20, 19}, *operation_from_text(pool)};
      BySlot<float> data = operation_data(backward, 1);
      for (float& value : data[Slot::x]) value = std::round(2 * value);
      EXPECT_EQ(checked(backward, data, *device).fault.value_or(""), "") << pool;
    }
}

TEST(DeviceOperations, PointIntoTheWindowWhateverTheValuesAre) {
  const OperationProblem forward{
      OperationSort::pool, false, {1, 1, 3, 3}, *operation_from_text("pool 2x2/2 pad 1")};
  EmulatorDevice device;
  const auto queue = device.make_queue();
  for (float value : {NAN, -INFINITY}) {
    BySlot<float> data = operation_data(forward, 1);
    data[static_cast<size_t>(Slot::x)].assign(9, value);
    const OperationBuffers buffers(data, device);
    const Buffer kept(device, 4);
    own_operations()->plan(forward, device)->run(buffers.tensors(), kept.data(), *queue);
    unsigned char winners[4];
    kept.download(winners, sizeof(winners));
    // The first cell of each window that is not padding.
    EXPECT_EQ(std::vector<int>(winners, winners + 4), (std::vector<int>{3, 2, 1, 0}));
  }
}

TEST(DeviceOperations, KeepAByteOfEachWinnerWhereThatIsEnough) {
  EmulatorDevice device;
  const auto kept_bytes = [&](const char* pool) {
    const OperationProblem problem{OperationSort::pool, false, {1, 1, 20, 20}, *operation_from_text(pool)};
    return own_operations()->plan(problem, device)->kept_bytes();
  };
  EXPECT_EQ(kept_bytes("pool 16x16/16"), 1);
  EXPECT_EQ(kept_bytes("pool 17x17/17"), 4);
}

TEST(DeviceOperations, TakeTheLossOfTheMeanOverPixels) {
  struct Case {
    Activations shape;
    double reach;  // of the activations
  };
  // Planes smaller than a warp and larger, fewer channels than threads and more, large exponents.
  for (const auto& [shape, reach] :
       {Case{{3, 5, 1, 1}, 1}, Case{{2, 300, 1, 1}, 3}, Case{{2, 7, 5, 4}, 1}, Case{{2, 11, 7, 9}, 4},
        Case{{1, 300, 6, 6}, 1}, Case{{2, 4, 2, 2}, 2000}})
    for (EmulatorOrder order : {EmulatorOrder::forward, EmulatorOrder::reverse, EmulatorOrder::random}) {
      EmulatorDevice device({.order = order, .seed = 7});
      const auto queue = device.make_queue();
      std::vector<float> x(static_cast<size_t>(shape.elements()));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(reach) * random_uniform(1, i);
      std::vector<int32_t> labels(static_cast<size_t>(shape.n));
      for (size_t n = 0; n < labels.size(); ++n)
        labels[n] = static_cast<int32_t>(n == 0 ? shape.c - 1 : random_below(2, n, shape.c));
      std::vector<double> expected(labels.size()), losses(labels.size());
      std::vector<float> expected_dx(x.size()), dx(x.size());
      softmax_loss(shape, x.data(), labels.data(), expected.data(), expected_dx.data());
      const auto on_device = [&](const auto& values) {
        Buffer buffer(device, values.size() * sizeof(values[0]));
        buffer.upload(values.data(), buffer.bytes());
        return buffer;
      };
      const Buffer of_x = on_device(x), of_labels = on_device(labels);
      Buffer of_losses = on_device(losses), of_dx = on_device(dx);
      of_losses.fill_with_nan();
      of_dx.fill_with_nan();
      enqueue_softmax_loss(DeviceKind::emulator, shape, of_x.as<float>(), of_labels.as<int32_t>(),
                           of_losses.as<double>(), of_dx.as<float>(), *queue);
      of_losses.download(losses.data(), of_losses.bytes());
      of_dx.download(dx.data(), of_dx.bytes());
      for (size_t n = 0; n < losses.size(); ++n) EXPECT_NEAR(losses[n], expected[n], 1e-6 * reach) << n;
      const double largest = 1 / static_cast<double>(shape.n * shape.pixels());
      for (size_t i = 0; i < dx.size(); ++i) ASSERT_NEAR(dx[i], expected_dx[i], 1e-6 * reach * largest) << i;
      EXPECT_TRUE(of_dx.guards_intact() && of_losses.guards_intact());
    }
}

TEST(DeviceOperations, RefuseAPlaneThatTheirNumbersDoNotHold) {
  EmulatorDevice emulator;
  CpuDevice cpu;
  const auto refusal = [](const OperationProblem& problem, Device& device) -> std::string {
    try {
      own_operations()->plan(problem, device);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  const auto pool = *operation_from_text("pool 3x3/1 pad 2");
  EXPECT_EQ(refusal({OperationSort::relu, true, {1, 1, 65536, 65536}, {}}, emulator),
            "1 channels of 4294967296 pixels: our kernels for GPUs take fewer than 2^30 of each; take a "
            "smaller image");
  EXPECT_NE(refusal({OperationSort::pool, false, {1, 1, 1, 1 << 29}, pool}, emulator), "") << "of its output";
  EXPECT_EQ(refusal({OperationSort::pool, false, {1, 1, 1 << 16, 1 << 15}, pool}, cpu),
            "images of 2147483648 pixels: max pooling keeps places below 2^31; take a smaller image");
  EXPECT_EQ(refusal({OperationSort::pool, false, {4096, 1, 1 << 15, 1 << 15}, pool}, cpu), "");
}

}  // namespace
}  // namespace convscope

#include "bench/device/buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

// A CPU that counts what it is asked for.
class CountingDevice : public Device {
 public:
  int copies = 0, fills = 0;

  const DeviceInfo& info() const override { return cpu_.info(); }
  std::unique_ptr<Queue> make_queue() override { return cpu_.make_queue(); }
  void* allocate(size_t bytes) override { return cpu_.allocate(bytes); }
  void release(void* data) noexcept override { cpu_.release(data); }
  void copy_to_device(void* to, const void* from, size_t bytes) override {
    ++copies;
    cpu_.copy_to_device(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override { cpu_.copy_to_host(to, from, bytes); }
  void fill(void* data, unsigned char byte, size_t bytes) override {
    ++fills;
    Device::fill(data, byte, bytes);
  }

 private:
  CpuDevice cpu_;
};

TEST(Buffer, AsksTheDeviceOnceToFillIt) {
  CountingDevice device;
  Buffer buffer(device, size_t{5} << 20);
  buffer.fill_with_nan();
  EXPECT_EQ(device.fills, 1);
  Buffer empty(device, 0);
  empty.fill_with_nan();
  EXPECT_EQ(device.fills, 1);
}

TEST(Device, FillsEveryByteAndNoOther) {
  CountingDevice device;
  for (const size_t bytes : {size_t{1}, size_t{1} << 20, (size_t{3} << 20) + 5}) {
    Buffer buffer(device, bytes);
    device.fill(buffer.data(), 0xa5, bytes);
    const auto* data = buffer.as<unsigned char>();
    EXPECT_TRUE(std::all_of(data, data + bytes, [](unsigned char byte) { return byte == 0xa5; })) << bytes;
    EXPECT_TRUE(buffer.guards_intact()) << bytes;
  }
}

TEST(CpuQueue, CopiesEveryByteAndNoOther) {
  CpuDevice device;
  const auto queue = device.make_queue();
  for (const size_t bytes : {size_t{0}, size_t{5}, size_t{64} << 10, (size_t{3} << 20) + 5}) {
    Buffer from(device, bytes), to(device, bytes);
    for (size_t i = 0; i < bytes; ++i) from.as<unsigned char>()[i] = static_cast<unsigned char>(i % 251);
    queue->copy(to.data(), from.data(), bytes);
    EXPECT_TRUE(std::equal(from.as<char>(), from.as<char>() + bytes, to.as<char>())) << bytes;
    EXPECT_TRUE(to.guards_intact()) << bytes;
  }
}

TEST(CpuQueue, CopiesRowsAndNothingBetweenThem) {
  CpuDevice device;
  const auto queue = device.make_queue();
  for (const size_t bytes : {size_t{5}, (size_t{64} << 10) + 3}) {
    Buffer from(device, 3 * bytes), to(device, 3 * (bytes + 7));
    for (size_t i = 0; i < 3 * bytes; ++i) from.as<unsigned char>()[i] = static_cast<unsigned char>(i % 251);
    device.fill(to.data(), 0xff, to.bytes());
    queue->copy_rows(to.as<char>() + 2, bytes + 7, from.data(), bytes, bytes, 3);
    for (size_t i = 0; i < to.bytes(); ++i) {
      const size_t row = i / (bytes + 7), at = i % (bytes + 7);
      const bool is_copied = at >= 2 && at < bytes + 2;
      ASSERT_EQ(to.as<unsigned char>()[i], is_copied ? (row * bytes + at - 2) % 251 : 0xff) << i;
    }
  }
}

TEST(CpuQueue, TakesLapsOfATimingAlone) {
  CpuDevice device;
  const auto queue = device.make_queue();
  queue->lap();
  for (int timing = 0; timing < 2; ++timing) {
    queue->begin_timing();
    queue->lap();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    queue->lap();
    const Timing timed = queue->end_timing();
    ASSERT_EQ(timed.lap_seconds.size(), 2U);
    EXPECT_GE(timed.lap_seconds[1], 2e-3);
    EXPECT_GE(timed.seconds, timed.lap_seconds[0] + timed.lap_seconds[1]);
  }
}

}  // namespace
}  // namespace convscope

#include "bench/device/buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace convscope

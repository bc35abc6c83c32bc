// The launches of every plan of every shipped layer on a GPU, without running a kernel: hardware's limits
// (the emulator's queue refuses what a GPU would), how many there are, and that a run neither allocates nor
// copies nor waits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "algorithms/catalog.hpp"
#include "bench/device/device_error.hpp"
#include "bench/real_sizes/shipped_cases.hpp"
#include "bench/real_sizes/watched_device.hpp"

namespace convscope::real_sizes {
namespace {

constexpr int64_t kMaxLaunches = 2000;

// Counts, and runs nothing.
class Counter final : public emulated::LaunchWatch {
 public:
  std::vector<size_t> blocks(const CallSite&, const emulated::dim3&) override {
    ++launches;
    return {};
  }
  bool computes(const char*) override {
    ++launches;
    return false;
  }
  void waited() override { ++waits; }

  int64_t launches = 0, waits = 0;
};

// Plain memory for the tables of plans; every address counts as the device's.
class AnyMemory final : public emulated::DeviceMemory {
 public:
  void* allocate(size_t bytes) override { return std::aligned_alloc(4096, (bytes + 4096) / 4096 * 4096); }
  void release(void* data) noexcept override { std::free(data); }
  bool contains(const void*, size_t) const override { return true; }
};

// Never touched.
void* address(size_t number) {
  return reinterpret_cast<void*>((number + 1) << 44);
}

TEST(LaunchTrace, OfEveryShippedLayerIsWithinTheLimitsOfAGpuAndShort) {
  Registry registry;
  register_all(registry);
  AnyMemory memory;
  Counter counter;
  WatchedDevice device(memory, counter);
  const auto queue = device.make_queue();
  const ConvArgs args{address(0), address(1), address(2), address(3)};
  size_t plans = 0;
  std::map<std::string, std::pair<size_t, std::string>> faults;  // by row
  const auto fault = [&](const Case& what, const std::string& text) {
    auto& [count, first] = faults[what.algorithm->info().id];
    if (++count == 1) first = what.text() + ": " + text;
  };
  const auto trace = [&](const Case& what, Plan& plan) {
    ++plans;
    try {
      if (plan.has_prepare()) plan.prepare(args, *queue);
      const int64_t allocations = device.allocations(), copies = device.copies(), waits = counter.waits;
      counter.launches = 0;
      plan.run(args, *queue);
      if (counter.launches == 0) fault(what, "no launch");
      if (counter.launches > kMaxLaunches) fault(what, std::to_string(counter.launches) + " launches");
      if (device.allocations() != allocations) fault(what, "run() allocates");
      if (device.copies() != copies) fault(what, "run() copies");
      if (counter.waits != waits) fault(what, "run() waits");
    } catch (const DeviceError& error) {
      fault(what, error.what());
    }
  };
  for_each_plan(registry, device, 1, trace);
  for (const auto& [id, count_and_first] : faults)
    ADD_FAILURE() << count_and_first.first << " plans, the first " << count_and_first.second;
  EXPECT_GT(plans, 500u);
  RecordProperty("plans", static_cast<int>(plans));
}

}  // namespace
}  // namespace convscope::real_sizes

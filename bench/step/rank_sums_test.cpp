#include "bench/step/rank_sums.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "bench/emulator/emulator_device.hpp"
#include "bench/parallel/allreduce/threads_communicator_test.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"

namespace convscope {
namespace {

// The emulator as a GPU that other programs may use.
class SharedGpu final : public Device {
 public:
  explicit SharedGpu(bool is_shared) : is_shared_(is_shared) {}
  const DeviceInfo& info() const override { return emulator_.info(); }
  std::unique_ptr<Queue> make_queue() override { return emulator_.make_queue(); }
  void* allocate(size_t bytes) override { return emulator_.allocate(bytes); }
  void release(void* data) noexcept override { emulator_.release(data); }
  void copy_to_device(void* to, const void* from, size_t bytes) override {
    emulator_.copy_to_device(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    emulator_.copy_to_host(to, from, bytes);
  }
  DeviceState state() override {
    DeviceState state;
    if (is_shared_) state.others = OthersUse{0.5, "python (pid 4242) 50%"};
    return state;
  }

 private:
  EmulatorDevice emulator_;
  bool is_shared_;
};

TEST(SumsOnGpus, TakesASampleAgainOnAllRanksWhereOtherProgramsUseTheGpuOfOne) {
  for (const bool is_shared : {false, true})
    run_ranks(2, [&](Fabric& fabric) {
      SharedGpu gpu(is_shared && fabric.rank() == 1);
      const auto queue = gpu.make_queue();
      ThreadsCommunicator communicator(fabric, gpu, ThreadsCommunicator::Fault::none);
      const auto sums = sums_on_gpus(fabric, gpu, {communicator, *queue});
      int runs = 0;
      int64_t disturbed = 0;
      EXPECT_GT(sums->slowest([&] { ++runs; }, disturbed), 0);
      EXPECT_EQ(runs, is_shared ? 2 : 1);
      EXPECT_EQ(disturbed, is_shared ? 1 : 0);
      // Whoever uses the GPU of a rank that only waits disturbs nothing.
      const auto work_of_rank_0 = fabric.rank() == 0 ? std::function([&] { ++runs; }) : nullptr;
      sums->slowest(work_of_rank_0, disturbed);
      EXPECT_EQ(disturbed, is_shared ? 1 : 0);
    });
}

}  // namespace
}  // namespace convscope

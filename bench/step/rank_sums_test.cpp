#include "bench/step/rank_sums.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "bench/device/forwarding_device_test.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/parallel/allreduce/threads_communicator_test.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"

namespace convscope {
namespace {

TEST(SumsOnGpus, TakesASampleAgainOnAllRanksWhereOtherProgramsUseTheGpuOfOne) {
  for (const bool is_shared : {false, true})
    run_ranks(2, [&](Fabric& fabric) {
      EmulatorDevice emulator;
      testing::SharedDevice gpu(emulator, is_shared && fabric.rank() == 1);
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

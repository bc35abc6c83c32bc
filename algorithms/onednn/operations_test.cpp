// oneDNN's operations against the definition. Where the build has no oneDNN they are refused (unavailable/).
#include "algorithms/onednn/operations.hpp"

#include <gtest/gtest.h>

#include "bench/core/every_operation_test.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/operation_reference.hpp"

namespace convscope {
namespace {

TEST(OneDnnOperations, AreRightInEveryShapeAndDirectionOrRefuseAsASentence) {
  CpuDevice device;
  const auto queue = device.make_queue();
  const auto library = onednn::operations();
  int right = 0;
  for (const Activations& shape : {Activations{2, 3, 5, 7}, {3, 37, 3, 3}, {2, 16, 20, 17}})
    for (const OperationProblem& problem :
         testing::every_operation(shape, {"3x2/2", "3x3/2 pad 1", "3x3/1 pad 1"})) {
      if (const auto refusal = library->refusal(problem)) {
        EXPECT_GT(refusal->size(), 12U);
        continue;
      }
      const auto plan = library->plan(problem, device);
      const BySlot<float> data = operation_data(problem, 1);
      OperationBuffers buffers(data, device);
      const Buffer kept(device, static_cast<size_t>(plan->kept_bytes()));
      const OperationCheck check =
          check_operation(problem, *plan, buffers, kept, data, operation_reference(problem, data), *queue);
      EXPECT_EQ(check.fault.value_or(""), "") << to_text(problem);
      ++right;
    }
  EXPECT_TRUE(right == 93 || library->version().empty()) << right;
}

}  // namespace
}  // namespace convscope

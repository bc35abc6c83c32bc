#include "bench/core/device_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "bench/core/algorithm_info.hpp"

namespace convscope {
namespace {

TEST(DeviceId, IsNamedByItsKindAndFromTheSecondOnByItsIndex) {
  EXPECT_EQ(name(DeviceId(DeviceKind::cpu)), "cpu");
  EXPECT_EQ(name(DeviceId(DeviceKind::cuda)), "cuda");
  EXPECT_EQ(name(DeviceId(DeviceKind::cuda, 3)), "cuda:3");
}

TEST(DeviceId, IsReadFromItsName) {
  EXPECT_EQ(device_from_name("cpu"), DeviceId(DeviceKind::cpu));
  EXPECT_EQ(device_from_name("emulator"), DeviceId(DeviceKind::emulator));
  EXPECT_EQ(device_from_name("cuda"), DeviceId(DeviceKind::cuda, 0));
  EXPECT_EQ(device_from_name("cuda:0"), DeviceId(DeviceKind::cuda, 0));
  EXPECT_EQ(device_from_name("cuda:12"), DeviceId(DeviceKind::cuda, 12));
}

TEST(DeviceId, IsNotReadFromOtherNames) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda:1:2", "cuda: 1", "cpu:0",
                           "emulator:1", "cuda:99999999999", ":1", "CUDA"})
    EXPECT_EQ(device_from_name(text), std::nullopt) << text;
}

TEST(Reasons, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (Reason reason : kReasons) EXPECT_TRUE(names.insert(name(reason)).second) << name(reason);
  EXPECT_EQ(name(Reason::left_out_after_failures), "left_out_after_failures");
}

}  // namespace
}  // namespace convscope

// Each test writes the part of /proc and /sys that it is about into a folder of its own.
#include "bench/device/cpu/system_files.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

class SystemFiles : public ::testing::Test {
 protected:
  SystemFiles()
      : root_(fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~SystemFiles() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void add_cache(int core, int index, const std::string& level, const std::string& type,
                 const std::string& size, const std::string& shared) {
    const std::string folder =
        "sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index" + std::to_string(index) + "/";
    write(folder + "level", level);
    write(folder + "type", type);
    write(folder + "size", size);
    write(folder + "shared_cpu_list", shared);
  }
  // Four cores, two of them to a last-level cache.
  void add_four_cores() {
    for (int core = 0; core < 4; ++core) {
      add_cache(core, 0, "1", "Data", "32K", std::to_string(core));
      add_cache(core, 1, "1", "Instruction", "64K", std::to_string(core));
      add_cache(core, 2, "2", "Unified", "1M", std::to_string(core));
      add_cache(core, 3, "3", "Unified", "16M", core < 2 ? "0-1" : "2-3");
    }
  }
  std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

TEST_F(SystemFiles, AddUpTheLastLevelCachesOfTheAllowedCores) {
  add_four_cores();
  const CacheSizes all = cache_sizes(root(), {0, 1, 2, 3});
  EXPECT_EQ(all.l1, 32 << 10);
  EXPECT_EQ(all.l2, 1 << 20);
  EXPECT_EQ(all.last_level, 32 << 20);
  EXPECT_EQ(cache_sizes(root(), {2, 3}).last_level, 16 << 20);
  EXPECT_EQ(cache_sizes(root(), {1, 2}).last_level, 32 << 20);
}

TEST_F(SystemFiles, TakeTheSecondLevelForTheLastWhereThereIsNoThird) {
  for (int core = 0; core < 2; ++core) add_cache(core, 0, "2", "Unified", "512K", std::to_string(core));
  EXPECT_EQ(cache_sizes(root(), {0, 1}).last_level, 1 << 20);
  EXPECT_EQ(cache_sizes(root(), {7}).last_level, 0) << "a core without any";
}

TEST_F(SystemFiles, HaveNoLimitWithoutControlGroups) {
  EXPECT_EQ(control_group_memory(root()), kNoLimit);
  write("proc/self/cgroup", "0::/user.slice");
  write("sys/fs/cgroup/user.slice/memory.max", "max");
  EXPECT_EQ(control_group_memory(root()), kNoLimit);
}

TEST_F(SystemFiles, TakeTheLowestLimitOfTheGroupsAbove) {
  write("proc/self/cgroup", "0::/a/b/c");
  write("sys/fs/cgroup/a/memory.max", "3000");
  write("sys/fs/cgroup/a/b/memory.max", "2000");
  write("sys/fs/cgroup/a/b/c/memory.max", "max");
  EXPECT_EQ(control_group_memory(root()), 2000);
}

TEST_F(SystemFiles, SeeAContainersOwnLimitAtTheTop) {
  write("proc/self/cgroup", "0::/../../somewhere/else");
  write("sys/fs/cgroup/memory.max", "4096");
  EXPECT_EQ(control_group_memory(root()), 4096);
}

TEST_F(SystemFiles, ReadTheFirstVersionOfControlGroupsToo) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/fast\n3:hugetlb,memory:/docker/x\n2:freezer:/");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "1234");
  write("sys/fs/cgroup/memory/fast/memory.limit_in_bytes", "1");
  EXPECT_EQ(control_group_memory(root()), 1234);
}

TEST_F(SystemFiles, AllowTheMachinesMemoryOrAContainersLimitBelowIt) {
  EXPECT_EQ(allowed_memory(root()), physical_memory());
  write("sys/fs/cgroup/memory.max", "4611686018427387903");
  EXPECT_EQ(allowed_memory(root()), physical_memory());
  write("sys/fs/cgroup/memory.max", "4096");
  EXPECT_EQ(allowed_memory(root()), 4096);
}

TEST_F(SystemFiles, SayOfHowManyCoresAContainerHasTheTime) {
  EXPECT_EQ(control_group_cores(root()), std::nullopt);
  write("proc/self/cgroup", "0::/a/b");
  write("sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(control_group_cores(root()), std::nullopt);
  write("sys/fs/cgroup/a/cpu.max", "250000 100000");
  write("sys/fs/cgroup/a/b/cpu.max", "400000 100000");
  EXPECT_EQ(control_group_cores(root()), 2.5);
}

TEST_F(SystemFiles, SayItOfTheFirstVersionToo) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n3:memory:/fast");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(control_group_cores(root()), std::nullopt);
  write("sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "150000");
  write("sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "50000");
  EXPECT_EQ(control_group_cores(root()), 3);
}

TEST_F(SystemFiles, SayHowMuchMemoryIsAvailableWhereTheKernelDoes) {
  EXPECT_EQ(available_memory(root()), std::nullopt);
  write("proc/meminfo", "MemTotal:       2048 kB\nMemFree:  12 kB\nMemAvailable:   1024 kB\nBuffers:  1 kB");
  EXPECT_EQ(available_memory(root()), 1 << 20);
  write("proc/meminfo", "MemTotal:       2048 kB");
  EXPECT_EQ(available_memory(root()), std::nullopt);
}

TEST(CoresForAThread, AreFoundWhereTheKernelHasNumbersForThousandsOfThem) {
  const auto ask = [](pid_t, size_t bytes, cpu_set_t* set) {
    errno = EINVAL;
    if (8 * bytes < 3000) return -1;
    CPU_SET_S(7, bytes, set);
    CPU_SET_S(2999, bytes, set);
    return 0;
  };
  EXPECT_EQ(cores_for(0, ask), (std::vector<int>{7, 2999}));
}

TEST(DescribeCpu, SaysWhatThisMachineHas) {
  const DeviceInfo info = describe_cpu();
  EXPECT_GT(info.memory_bytes, int64_t{16} << 20);
  EXPECT_LE(info.memory_bytes, control_group_memory(""));
  EXPECT_GE(info.llc_bytes, info.l2_bytes);
  EXPECT_GE(info.cores, 1);
}

}  // namespace
}  // namespace convscope

#include "bench/device/machine_identity.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;

class MachineIdentity : public ::testing::Test {
 protected:
  MachineIdentity() { fs::create_directories(root_ / "proc"); }
  ~MachineIdentity() override { fs::remove_all(root_); }

  MachineFacts facts(const std::string& cpuinfo) {
    std::ofstream(root_ / "proc/cpuinfo") << cpuinfo;
    return processor_facts(root_.string(), {0, 1});
  }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  fs::path root_ =
      fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

std::string processor(int family, int model, const std::string& microcode = "0x1") {
  return "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: " + std::to_string(family) +
         "\nmodel\t\t: " + std::to_string(model) +
         "\nmodel name\t: AMD EPYC\nstepping\t: 1\nmicrocode\t: " + microcode +
         "\nflags\t\t: fpu hypervisor avx2\n";
}

std::string class_of(const MachineFacts& facts) {
  return machine_class(processor_label(facts), facts);
}

TEST_F(MachineIdentity, TellsTwoProcessorsOfOneNameApart) {
  const MachineFacts zen4 = facts(processor(25, 17)), zen5 = facts(processor(26, 2));
  EXPECT_EQ(processor_label(zen4), "amd-f25m17s1");
  EXPECT_EQ(processor_label(zen5), "amd-f26m2s1");
  EXPECT_NE(class_of(zen4), class_of(zen5));
  EXPECT_EQ(class_of(zen4), class_of(facts(processor(25, 17)))) << "and is the same each time";
  EXPECT_TRUE(class_of(zen4).starts_with("amd-f25m17s1-"));
}

TEST_F(MachineIdentity, CountsWhatDecidesTheSpeed) {
  const std::string usual = class_of(facts(processor(25, 17)));
  EXPECT_NE(class_of(facts(processor(25, 17, "0x2"))), usual) << "microcode";
  EXPECT_NE(class_of(processor_facts(root_.string(), {0, 1, 2})), usual) << "cores";
  std::string bare = processor(25, 17);
  bare.erase(bare.find("hypervisor "), 11);
  EXPECT_NE(class_of(facts(bare)), usual) << "a hypervisor";
}

TEST_F(MachineIdentity, IsKnownWhereTheProcessorSaysNothing) {
  EXPECT_EQ(processor_label(facts("")), "cpu");
  EXPECT_EQ(processor_label(facts("vendor_id : Shanghai  Zhaoxin\n")), "shanghaizhaoxin-fms");
}

TEST_F(MachineIdentity, TellsTwoArmProcessorsOfAlikeCachesApart) {
  const auto arm = [&](const std::string& part) {
    return class_of(facts("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: " + part + "\n"));
  };
  EXPECT_NE(arm("0xd0c"), arm("0xd40"));
  EXPECT_EQ(arm("0xd0c"), arm("0xd0c"));
}

TEST_F(MachineIdentity, TellsUnitsApartWithoutTheirSecret) {
  const std::string unit = machine_unit("0123456789abcdef0123456789abcdef");
  EXPECT_EQ(unit.size(), 12u);
  EXPECT_EQ(unit.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(unit, machine_unit("0123456789abcdef0123456789abcdee"));
  EXPECT_EQ(machine_unit(""), "");
}

TEST_F(MachineIdentity, OfAHostIsItsMachineId) {
  EXPECT_EQ(host_secret(root_.string()), "");
  write("etc/machine-id", "of the host\n");
  write("sys/class/dmi/id/product_uuid", "of the firmware\n");  // root's alone: it would be two units
  write("proc/self/mounts", "/dev/vda / ext4 rw 0 0\noverlay /var/lib/docker/overlay2/1 overlay rw 0 0\n");
  EXPECT_EQ(host_secret(root_.string()), "of the host");
}

TEST_F(MachineIdentity, InAContainerIsNotThatOfItsImageWhichManyHostsRun) {
  write("etc/machine-id", "of the image\n");
  for (const auto& [sign, text] :
       {std::pair{".dockerenv", ""},
        {"run/.containerenv", ""},
        {".singularity.d/labels.json", "{}"},
        {"proc/self/mounts", "overlay / overlay rw,lowerdir=a 0 0\nproc /proc proc\n"}}) {
    write(sign, text);
    EXPECT_EQ(host_secret(root_.string()), "") << sign;
    write("sys/class/dmi/id/product_uuid", "of the firmware\n");
    EXPECT_EQ(host_secret(root_.string()), "of the firmware") << sign;
    fs::remove_all(root_ / "sys");
    fs::remove_all(root_ / fs::path(sign).begin()->string());
  }
  EXPECT_EQ(host_secret(root_.string()), "of the image") << "without a sign";
}

TEST_F(MachineIdentity, IsPartOfWhatTheCpuSaysOfItself) {
  const DeviceInfo here = describe_cpu();
  EXPECT_FALSE(here.machine_class.empty());
  EXPECT_EQ(here.machine_class, describe_cpu().machine_class);
  EXPECT_EQ(here.machine_unit, describe_cpu().machine_unit);
}

}  // namespace
}  // namespace convscope

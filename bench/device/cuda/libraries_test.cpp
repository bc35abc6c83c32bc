// The libraries that are looked for at run time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/device/blas.hpp"
#include "bench/device/cuda/nvml.hpp"
#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/fft.hpp"

namespace convscope::cuda {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SharedLibrary, SaysWhatItLookedForAndWhere) {
  const SharedLibrary library({"libconvscope-has-none.so.2", "libconvscope-has-none.so.1"}, "cublas");
  EXPECT_THAT(library.defect(),
              AllOf(HasSubstr("libconvscope-has-none.so.2 or libconvscope-has-none.so.1 was not found"),
                    HasSubstr("/usr/local/cuda/lib64")));
  EXPECT_EQ(library.function<void()>("anything"), nullptr);
}

TEST(SharedLibrary, FindsFunctionsOfALibraryThatIsThere) {
  const SharedLibrary library({"libm.so.6"}, "");
  EXPECT_EQ(library.defect(), "");
  const auto cosine = library.function<double(double)>("cos");
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
}

TEST(WheelFolders, AreThoseOfNvidiasPythonPackages) {
  const auto prefix = std::filesystem::path(::testing::TempDir()) / "wheel_folders_test";
  const auto packages = prefix / "lib" / "python3.11" / "site-packages" / "nvidia";
  std::filesystem::create_directories(packages / "cublas" / "lib");
  std::filesystem::create_directories(packages / "cu13" / "lib");
  std::filesystem::create_directories(packages / "cufft" / "lib");
  EXPECT_THAT(wheel_folders({prefix.string()}, "cublas"),
              ElementsAre((packages / "cu13" / "lib").string(), (packages / "cublas" / "lib").string()));
  std::filesystem::remove_all(prefix);
}

TEST(WheelFolders, AreNoneWhereNoPythonIs) {
  EXPECT_THAT(wheel_folders({"/convscope/has/no/such/folder"}, "cublas"), IsEmpty());
}

TEST(Libraries, AreThereOrSayWhatWasLookedFor) {
  const auto is_none_or_names = [](const char* name) {
    return AnyOf(IsEmpty(), AllOf(HasSubstr(name), HasSubstr("not found")));
  };
  EXPECT_THAT(blas_defect(), is_none_or_names("libcublas.so"));
  EXPECT_THAT(fft_defect(), is_none_or_names("libcufft.so"));
}

TEST(Nvml, KnowsNothingOfADeviceThatIsNotThere) {
  const DeviceState state = Nvml("ffff:ff:ff.7").state();
  EXPECT_EQ(state.clock_mhz, std::nullopt);
  EXPECT_EQ(state.power_watts, std::nullopt);
  EXPECT_EQ(state.throttle_reasons, "");
}

TEST(Nvml, NamesWhatSlowsADeviceDownAndNotThatItIsIdle) {
  EXPECT_EQ(throttle_reasons(0x01), "");
  EXPECT_EQ(throttle_reasons(0x44), "power cap, hot (hardware)");
}

}  // namespace
}  // namespace convscope::cuda

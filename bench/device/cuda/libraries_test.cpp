// The libraries that are looked for at run time.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/device/blas.hpp"
#include "bench/device/cuda/nvml.hpp"
#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/fft.hpp"

namespace convscope::cuda {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The file of a library that this process has loaded.
std::string loaded_file(const char* name) {
  void* library = dlopen(name, RTLD_NOW);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return "";
  return map->l_name;
}

TEST(SharedLibrary, SaysWhatItLookedForAndWhere) {
  const SharedLibrary library({"libconvscope-has-none.so.2", "libconvscope-has-none.so.1"}, "cublas");
  EXPECT_THAT(library.defect(),
              AllOf(HasSubstr("libconvscope-has-none.so.2 or libconvscope-has-none.so.1 was not found"),
                    HasSubstr("/usr/local/cuda/lib64"), HasSubstr("nvidia/{cublas,cu13}/lib"),
                    HasSubstr("VIRTUAL_ENV")));
  EXPECT_EQ(library.function<void()>("anything"), nullptr);
}

TEST(SharedLibrary, LoadsWhatLiesInAnEnvironmentOrSaysWhatItLacks) {
  const auto environment = std::filesystem::path(::testing::TempDir()) / "shared_library_test";
  const auto folder = environment / "lib" / "python3.12" / "site-packages" / "nvidia" / "made_up" / "lib";
  std::filesystem::create_directories(folder);
  std::filesystem::create_directories(environment / "bin");
  std::ofstream(folder / "libconvscope-broken.so.1") << "no library";
  const char* before = std::getenv("VIRTUAL_ENV");
  const std::string kept = before == nullptr ? "" : before;
  setenv("VIRTUAL_ENV", environment.c_str(), 1);
  const SharedLibrary broken({"libconvscope-broken.so.1"}, "made_up");
  std::filesystem::create_symlink(loaded_file("libm.so.6"), folder / "libconvscope-right.so.1");
  const SharedLibrary right({"libconvscope-right.so.2", "libconvscope-right.so.1"}, "made_up");
  if (before == nullptr)
    unsetenv("VIRTUAL_ENV");
  else
    setenv("VIRTUAL_ENV", kept.c_str(), 1);
  std::filesystem::remove_all(environment);
  EXPECT_THAT(broken.defect(), AllOf(HasSubstr("libconvscope-broken.so.1 was found but cannot be loaded"),
                                     HasSubstr(folder.string())));
  EXPECT_EQ(right.defect(), "");
  EXPECT_NE(right.function<double(double)>("cos"), nullptr);
}

TEST(SharedLibrary, TellsWhatTheSystemsLoaderCannotLoadFromWhatItDoesNotFind) {
  const std::string file = ::testing::TempDir() + "libconvscope-no-library.so.1";
  std::filesystem::remove(file);
  EXPECT_THAT(SharedLibrary({file.c_str()}, "").defect(), HasSubstr(file + " was not found"));
  std::ofstream(file) << "no library";
  EXPECT_THAT(SharedLibrary({file.c_str()}, "").defect(), HasSubstr("found but cannot be loaded: " + file));
  std::filesystem::remove(file);
}

TEST(SharedLibrary, FindsFunctionsOfALibraryThatIsThere) {
  const SharedLibrary library({"libm.so.6"}, "");
  EXPECT_EQ(library.defect(), "");
  const auto cosine = library.function<double(double)>("cos");
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
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

TEST(Nvml, TellsHeatAndFaultsFromThePowerCap) {
  for (unsigned long long bits : {0x00, 0x01, 0x02, 0x04, 0x10, 0x100})
    EXPECT_FALSE(is_held_down(bits)) << bits;
  for (unsigned long long bits : {0x08, 0x20, 0x40, 0x80, 0x24}) EXPECT_TRUE(is_held_down(bits)) << bits;
}

}  // namespace
}  // namespace convscope::cuda

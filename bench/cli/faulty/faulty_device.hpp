// For the tests of isolation: a device that the workers of convscope_faulty cannot always have.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace convscope::testing {

// While it lives, each worker takes the script's first character off, and where that is a '!' its device is
// busy (see main.cpp). Without a script, and after its end, it never is.
class FaultyDevice {
 public:
  explicit FaultyDevice(const std::string& script) {
    std::ofstream(path_) << script;
    setenv("FAULTY_DEVICE", path_.c_str(), 1);
  }
  ~FaultyDevice() {
    unsetenv("FAULTY_DEVICE");
    std::filesystem::remove(path_);
  }
  FaultyDevice(const FaultyDevice&) = delete;
  FaultyDevice& operator=(const FaultyDevice&) = delete;

 private:
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("convscope_faulty_device_" + std::to_string(getpid())))
          .string();
};

}  // namespace convscope::testing

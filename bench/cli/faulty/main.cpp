// convscope with the sample algorithm of docs/adding_an_algorithm.md, algorithms that crash, hang and lie,
// and a device that cannot always be had: where FAULTY_DEVICE names a file, each worker takes its first
// character off, and where that is a '!' its device is busy.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "algorithms/catalog.hpp"
#include "bench/cli/faulty/faulty_algorithms.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/device/device_error.hpp"
#include "bench/verify/reference_algorithm.hpp"

namespace {

bool device_is_busy() {
  const char* path = std::getenv("FAULTY_DEVICE");
  if (path == nullptr) return false;
  std::ifstream file(path);
  const std::string script{std::istreambuf_iterator<char>(file), {}};
  if (script.empty()) return false;
  std::ofstream(path) << script.substr(1);
  return script.front() == '!';
}

std::unique_ptr<convscope::Device> make_faulty_device(convscope::DeviceId id,
                                                      const convscope::DeviceOptions& options) {
  if (device_is_busy()) throw convscope::DeviceError("CUDA-capable device(s) is/are busy or unavailable");
  return convscope::make_device(id, options);
}

}  // namespace

int main(int argc, char** argv) {
  convscope::Registry registry;
  convscope::add_reference(registry);
  convscope::add_device_reference(registry);
  convscope::register_all(registry);
  convscope::add_faulty(registry);
  return convscope::convscope_main(argc, argv, registry, make_faulty_device);
}

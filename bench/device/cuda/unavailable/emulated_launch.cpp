// In programs without the stand-in for the CUDA runtime.
#include "bench/device/cuda/emulated_launch.hpp"

#include "bench/device/device_error.hpp"

namespace convscope::cuda {

void launch_emulated(EmulatedLaunch work, Queue&) {
  throw DeviceError("launch at " + work.site.text() + ": the queue is not the emulator's");
}

}  // namespace convscope::cuda

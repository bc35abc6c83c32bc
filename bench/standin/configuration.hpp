// The settings of the stand-in and the faults that it injects, from a JSON file:
//
//   {"order": "random", "seed": 7, "tensor_sums": "truncated",
//    "faults": [{"kernel": "tiled", "error": 700}, {"call": "cudaEventRecord", "at": 5, "error": 46}]}
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bench/ptx/run.hpp"

namespace convscope::standin {

// One of kernel or call is set. `at`: the n-th launch of such a kernel, or the n-th call, of this process; 0
// every one.
struct Fault {
  std::string kernel;  // part of its name; its error ends the context
  std::string call;    // name of a function
  long at = 1;
  cudaError_t error = cudaSuccess;
  bool hangs = false;  // a kernel that never ends
  // Injected only in the process that can remove this file, and so once in all.
  std::string once_file;
};

struct Configuration {
  // "order", "seed", "copies": early or late, "tensor_sums": exact or truncated.
  ptx::Options interpreter;
  // "skipped": parts of the names of kernels that take virtual time and do nothing, such as those that only
  // keep a GPU busy.
  std::vector<std::string> skipped;
  // "launch_nanoseconds": virtual time of a launch; long ones are measured with few repetitions.
  long long launch_nanoseconds = 2000;
  bool lazy_loading = true;  // "lazy_loading"
  // "held": a stream starts its work only when the host waits for it, so that a missing wait is detected.
  bool held = false;
  // "free_waits": cudaFree waits for the device, as NVIDIA's does but does not promise.
  bool free_waits = true;
  // "events_need_idle": cudaEventCreate while the device works is an error, as NVIDIA's may wait for it.
  bool events_need_idle = false;
  int devices = 1;                          // "devices"
  int driver = 13000;                       // "driver": the CUDA version that it supports; 0 is no driver
  size_t queue_entries = 1024;              // "queue_entries", of a stream
  size_t memory_bytes = size_t{141} << 30;  // "memory_bytes", of a device
  // "l2_bytes", of a device: tensors that are to be cold have fewer copies where it is small.
  int l2_bytes = 60 << 20;
  std::string target = "sm_90a";  // "target": sm_90a or sm_80, whose PTX runs and what the device says it is
  std::string ptx_folder;  // "ptx_folder": PTX files there take the place of the kernels of the same name
  std::string write_ptx;   // "write_ptx": a folder to which the program's PTX is written
  std::string report;      // "report": a file per process, this name and its id, about each kernel
  std::vector<Fault> faults;
};

// Read once from the file that CONVSCOPE_STANDIN names; an error in it ends the process with a message.
const Configuration& configuration();
// The same from a text. Throws std::runtime_error.
Configuration parse_configuration(const std::string& text);

// Counts the call of a function and returns the error that is scripted for it, otherwise cudaSuccess.
cudaError_t scripted_call(const char* function);
// The same for a kernel's launch; null where nothing is scripted.
const Fault* scripted_launch(const std::string& kernel);

}  // namespace convscope::standin

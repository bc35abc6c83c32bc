// What the stand-in libraries need of the CUDA runtime that the program was linked with. Its functions are
// looked up in the program: a library that is loaded at run time has no other way to the same streams.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace convscope::standin {

// Does the work on the stream's thread, after what is in the stream already; at once where the runtime has no
// cudaLaunchHostFunc.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

// Kernels are loaded when they first run, which waits for an idle device: the first call with a key waits for
// it, where the runtime has cudaDeviceSynchronize.
void load_kernels(const void* key);

// Why the runtime has no device; cudaSuccess where it has one or cannot be asked.
cudaError_t device_error();

// Puts the runtime into a sticky error, by its function convscope_standin_lose_device(int); without that
// function nothing happens.
void lose_the_device(int code);

// A library may write all of a workspace that it asked for, and does: a plan with less, or whose workspace
// was freed, is detected. Of a large workspace only the first and last bytes are written.
void scribble(void* workspace, size_t bytes);

// Makes the work that is being done take as long as the script says: by the program's function
// convscope_standin_advance(double), which moves the stream's clock; without it by sleeping.
void take(double seconds);

}  // namespace convscope::standin

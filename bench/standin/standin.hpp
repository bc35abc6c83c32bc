// A stand-in for the CUDA runtime and for the one function of the driver that convscope calls, linked in the
// place of cudart_static: the objects that nvcc built run without a GPU, their kernels in the PTX
// interpreter. In a build without nvcc the kernels are those that the C++ compiler made for the emulator
// (hosted/). For tests only.
//
// The functions are those of cuda_runtime_api.h that the program uses; a newly used one is
// a link error until it is added here. As on the hardware:
//
// - A stream is a thread. What is enqueued runs later, in order, with a clock of virtual time, which events
//   read. A kernel costs about what its instructions would cost a GPU. Nothing measured means anything.
// - A stream takes 1,024 entries; then the host waits. The first launch of a kernel loads it, which waits
//   until every stream of the device is idle.
// - Device memory is ordinary memory of the process, NaN until written. Freed memory cannot be touched.
// - An error in a kernel stays: every later call returns it.
//
// A shared library that stands in for cuBLAS, cuFFT or cuDNN may call, from a program that exports its
// symbols: all these functions, above all cudaLaunchHostFunc (its function runs on the stream's
// thread, in the stream's order, may read and write device memory as ordinary memory, and must call no
// function of the runtime), cudaMemcpyAsync, cudaMemsetAsync, cudaEventRecord, cudaStreamWaitEvent, and
// cudaMalloc and cudaFree, which wait for the device as the real ones do.
//
// The variable CONVSCOPE_STANDIN names a JSON file with settings and scripted faults (configuration.hpp).
#pragma once

namespace convscope::standin {

// Of every device, so that results tell where they are from: "NVIDIA H200, stand-in (virtual time)".
inline constexpr const char* kDeviceName = "NVIDIA H200, stand-in (virtual time)";

}  // namespace convscope::standin

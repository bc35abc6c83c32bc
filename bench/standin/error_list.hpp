// The errors of the CUDA runtime that the program or its tests tell apart: X(name, number, text). The numbers
// are the runtime's, the texts what it says, or nearly.
#pragma once

#define CONVSCOPE_CUDA_ERRORS(X)                                                                      \
  X(cudaSuccess, 0, "no error")                                                                       \
  X(cudaErrorInvalidValue, 1, "invalid argument")                                                     \
  X(cudaErrorMemoryAllocation, 2, "out of memory")                                                    \
  X(cudaErrorInitializationError, 3, "initialization error")                                          \
  X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                               \
  X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")  \
  X(cudaErrorDevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable")             \
  X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                    \
  X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                     \
  X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                            \
  X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device") \
  X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error encountered")                            \
  X(cudaErrorNvlinkUncorrectable, 220, "uncorrectable NVLink error detected during the execution")    \
  X(cudaErrorContained, 226, "Invalid access of peer GPU memory over nvlink or a hardware error")     \
  X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                   \
  X(cudaErrorNotReady, 600, "device not ready")                                                       \
  X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                         \
  X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                    \
  X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                           \
  X(cudaErrorContextIsDestroyed, 709, "context is destroyed")                                         \
  X(cudaErrorAssert, 710, "device-side assert triggered")                                             \
  X(cudaErrorHardwareStackError, 714, "hardware stack error")                                         \
  X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")                       \
  X(cudaErrorMisalignedAddress, 716, "misaligned address")                                            \
  X(cudaErrorInvalidAddressSpace, 717, "operation not supported on global/shared address space")      \
  X(cudaErrorInvalidPc, 718, "invalid program counter")                                               \
  X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                        \
  X(cudaErrorTensorMemoryLeak, 721, "tensor memory not completely freed")                             \
  X(cudaErrorNotSupported, 801, "operation not supported")                                            \
  X(cudaErrorMpsRpcFailure, 806, "MPS client failed to connect to the MPS control daemon")            \
  X(cudaErrorMpsClientTerminated, 810, "MPS client terminated without MPS server")                    \
  X(cudaErrorTimeout, 909, "timeout")                                                                 \
  X(cudaErrorExternalDevice, 911, "external device error")                                            \
  X(cudaErrorUnknown, 999, "unknown error")

# CUDA as an optional language, by the option CONVSCOPE_CUDA. Sets CONVSCOPE_HAS_CUDA and CONVSCOPE_CUDA_FLAGS. The
# kernels of a build without it still run on the emulator (bench/emulator).
set(CONVSCOPE_HAS_CUDA OFF)
if(NOT CONVSCOPE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "CONVSCOPE_CUDA is \"${CONVSCOPE_CUDA}\"; allowed are AUTO, ON and OFF")
endif()
if(CONVSCOPE_SANITIZE AND CONVSCOPE_CUDA STREQUAL ON)
  message(FATAL_ERROR "CONVSCOPE_SANITIZE is for builds without CUDA, whose kernels run on the emulator; "
    "on a GPU compute-sanitizer does its work")
endif()

if(CONVSCOPE_CUDA STREQUAL OFF)
  message(STATUS "CUDA: off, as CONVSCOPE_CUDA says")
elseif(CONVSCOPE_SANITIZE)
  message(STATUS "CUDA: off, as in every build with sanitizers")
else()
  # ccache and the like come behind the script that takes the reports of ptxas out of the build's output.
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/scripts/cmake/keep-ptxas-report ${CMAKE_CUDA_COMPILER_LAUNCHER})
  set(CMAKE_CUDA_ARCHITECTURES ${CONVSCOPE_CUDA_ARCHITECTURES})
  if(NOT CONVSCOPE_CUDA_ARCHITECTURES MATCHES "90a")
    add_compile_definitions(CONVSCOPE_WITHOUT_SM_90A) # algorithms/common/compute_capability.hpp
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    # CMake before 3.26 does not know how nvcc spells this standard.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit REQUIRED)
    set(CONVSCOPE_HAS_CUDA ON)
    message(STATUS "CUDA: ${CUDAToolkit_VERSION}, for ${CONVSCOPE_CUDA_ARCHITECTURES}")
  elseif(CONVSCOPE_CUDA STREQUAL ON)
    message(FATAL_ERROR "CONVSCOPE_CUDA is ON and no CUDA compiler was found; put nvcc on PATH or set CMAKE_CUDA_COMPILER")
  else()
    message(STATUS "CUDA: off, no nvcc found")
  endif()
endif()

# Warnings of the host compiler are those that the code nvcc generates can keep.
set(CONVSCOPE_CUDA_FLAGS -Xcompiler=-Wall,-Wextra,-fno-math-errno,-fopenmp -lineinfo --expt-relaxed-constexpr -Xptxas=-v)
# Machine code packed as small as nvcc can: three quarters of the program is that, and a bundle of it has to travel.
if(CONVSCOPE_HAS_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  list(APPEND CONVSCOPE_CUDA_FLAGS --compress-mode=size)
endif()
if(CONVSCOPE_WERROR)
  list(APPEND CONVSCOPE_CUDA_FLAGS -Werror=all-warnings -Xcompiler=-Werror)
endif()

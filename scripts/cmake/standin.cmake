# The stand-in for the CUDA runtime (bench/standin): programs made of the same objects as others, linked with it in the
# place of NVIDIA's, so that what nvcc built runs without a GPU. In a build without nvcc these programs have the CUDA
# device's host code, which others there lack, and the emulator's kernels. Sets CONVSCOPE_HAS_STANDIN.
set(CONVSCOPE_HAS_STANDIN OFF)
# convscope_standin_program(convscope): the target convscope_standin, of the objects and libraries of the program
# convscope. It exports the runtime's functions, for shared libraries that it loads.
function(convscope_standin_program program)
  if(NOT CONVSCOPE_HAS_STANDIN)
    return()
  endif()
  add_executable(${program}_standin $<TARGET_OBJECTS:${program}>)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  target_link_libraries(${program}_standin PRIVATE ${libraries})
  get_target_property(folder ${program} RUNTIME_OUTPUT_DIRECTORY)
  if(folder)
    set_target_properties(${program}_standin PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${folder})
  endif()
  set_target_properties(${program}_standin PROPERTIES LINKER_LANGUAGE CXX ENABLE_EXPORTS ON
    CONVSCOPE_STANDIN ON CUDA_RUNTIME_LIBRARY None)
endfunction()

# convscope_standin_tests(device_cuda [FILTER -Slow.*] [WITH_LIBRARIES]): with nvcc, the same of the test program device_cuda_test,
# whose tests are run, too, but for those that the filter leaves out; with the stand-ins for libraries where they need these.
# Without nvcc, which has no such program, SOURCES and LIBRARIES are its parts.
function(convscope_standin_tests name)
  cmake_parse_arguments(ARG "WITH_LIBRARIES" "FILTER" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT CONVSCOPE_HAS_STANDIN OR NOT (CONVSCOPE_HAS_CUDA OR ARG_SOURCES))
    return()
  endif()
  if(NOT CONVSCOPE_HAS_CUDA)
    add_library(${name}_test OBJECT ${ARG_SOURCES})
    target_link_libraries(${name}_test PRIVATE ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE -O0)
  endif()
  convscope_standin_program(${name}_test)
  set(properties TIMEOUT 600)
  if(ARG_WITH_LIBRARIES)
    add_dependencies(${name}_test_standin convscope_standin_libraries)
    list(APPEND properties ENVIRONMENT LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/standin_libraries)
  endif()
  gtest_discover_tests(${name}_test_standin TEST_PREFIX standin. TEST_FILTER "${ARG_FILTER}"
    DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
endfunction()

# What programs link as the CUDA runtime. The expression is read where a program is linked.
if(CONVSCOPE_HAS_CUDA)
  add_library(convscope_cuda_runtime INTERFACE)
  target_include_directories(convscope_cuda_runtime SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(convscope_cuda_runtime INTERFACE
    "$<IF:$<BOOL:$<TARGET_PROPERTY:CONVSCOPE_STANDIN>>,standin_runtime,CUDA::cudart_static>")
endif()

# CUDA's headers, which may be there without nvcc, for the stand-ins for its libraries; empty where they are not. Another place
# is chosen with -DCONVSCOPE_CUDA_INCLUDE_DIR=/the/folder/of/cublas_v2.h.
if(CONVSCOPE_HAS_CUDA)
  set(CONVSCOPE_CUDA_HEADERS ${CUDAToolkit_INCLUDE_DIRS})
else()
  find_path(CONVSCOPE_CUDA_INCLUDE_DIR cublas_v2.h HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
  set(CONVSCOPE_CUDA_HEADERS)
  if(CONVSCOPE_CUDA_INCLUDE_DIR)
    set(CONVSCOPE_CUDA_HEADERS ${CONVSCOPE_CUDA_INCLUDE_DIR})
  endif()
endif()

# It reads the PTX in the programs, which nvcc compresses.
find_package(PkgConfig)
if(PkgConfig_FOUND)
  pkg_check_modules(ZSTD IMPORTED_TARGET libzstd)
endif()
if(ZSTD_FOUND)
  set(CONVSCOPE_HAS_STANDIN ON)
else()
  message(STATUS "Stand-in for the CUDA runtime: left out, it needs libzstd-dev and pkg-config")
endif()

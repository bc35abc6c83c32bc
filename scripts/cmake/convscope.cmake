# Two functions: convscope_library() for a folder of bench/, convscope_algorithm() for a folder of algorithms/.
# In both, every *.cpp beside the CMakeLists.txt and in cpu/ (of an algorithm in cuda/, too) is the library and every *_test.cpp one GoogleTest binary.
include(GoogleTest)

add_library(convscope_flags INTERFACE)
target_include_directories(convscope_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(convscope_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-fno-math-errno;-g1>
  $<$<COMPILE_LANGUAGE:CUDA>:${CONVSCOPE_CUDA_FLAGS}>)
target_link_libraries(convscope_flags INTERFACE OpenMP::OpenMP_CXX)
# Vectors are compiled for SSE2, AVX2 and AVX3 (AVX-512), of which one is picked at run time; the other targets of x86 gain
# nothing over their neighbour on f32 multiply-adds and cost build time. Sanitizers make vector code many times slower to
# compile: only the narrowest, and the widest that this machine has, are left there.
set(disabled_targets "HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL")
# Vectors whose size the compiler does not know cannot stand in arrays, as the kernels have them. On x86 there are none.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i.86)$")
  string(APPEND disabled_targets "|HWY_SVE|HWY_SVE_256|HWY_SVE2|HWY_SVE2_128|HWY_RVV")
endif()
if(CONVSCOPE_SANITIZE)
  set(avx512)
  if(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo avx512 REGEX "avx512f" LIMIT_COUNT 1)
  endif()
  if(avx512 OR CONVSCOPE_SANITIZE STREQUAL thread)
    string(APPEND disabled_targets "|HWY_AVX2")
  endif()
  if(NOT avx512 OR CONVSCOPE_SANITIZE STREQUAL thread)  # no test under the thread sanitizer runs the CPU's kernels
    string(APPEND disabled_targets "|HWY_AVX3")
  endif()
endif()
target_compile_definitions(convscope_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:HWY_DISABLED_TARGETS=(${disabled_targets})>")
# GCC 12 warns falsely about "literal" + std::string (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(convscope_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# Kernels tally their arithmetic where nobody measures them (algorithms/common/tally.hpp).
if(CONVSCOPE_SANITIZE MATCHES address)
  target_compile_definitions(convscope_flags INTERFACE CONVSCOPE_TALLY=1)
endif()
if(CONVSCOPE_WERROR)
  target_compile_options(convscope_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  # From GCC 13 on it warns falsely inside its own std::optional<std::vector>: those two stay warnings.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(convscope_flags INTERFACE
      "$<$<COMPILE_LANGUAGE:CXX>:-Wno-error=array-bounds;-Wno-error=maybe-uninitialized>")
  endif()
endif()
# In CMAKE_CXX_FLAGS, which stand before the options of a target, so that a target can take a check out: the compiler
# obeys the last. Left out of everything: the checks of undefined behaviour whose faults the address sanitizer meets anyway, and of
# the use of a variable after its scope, which makes unrolled vector code three times as slow to compile.
set(undefined_checks "-fsanitize=undefined -fno-sanitize=null,vptr,object-size")
if(CONVSCOPE_SANITIZE)
  string(APPEND CMAKE_CXX_FLAGS " -fsanitize=${CONVSCOPE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer")
  if(CONVSCOPE_SANITIZE MATCHES undefined)
    string(APPEND CMAKE_CXX_FLAGS " ${undefined_checks}")
  endif()
  if(CONVSCOPE_SANITIZE MATCHES address)
    string(APPEND CMAKE_CXX_FLAGS " -fno-sanitize-address-use-after-scope")
  endif()
  # At -O1 GCC writes no vzeroupper without this, and on Intel's processors all SSE code after AVX-512 code, the emulator's
  # for one, is then many times slower.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    string(APPEND CMAKE_CXX_FLAGS " -fexpensive-optimizations")
  endif()
  # Checks of functions with many accesses, the unrolled vector code, as calls: compiled in about half the time.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CONVSCOPE_SANITIZE MATCHES address)
    string(APPEND CMAKE_CXX_FLAGS " --param asan-instrumentation-with-call-threshold=100")
  endif()
endif()
if(CONVSCOPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "CONVSCOPE_FUZZ is for clang, whose libFuzzer it is; the compiler is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  target_compile_options(convscope_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# For code that does not compute, and is compiled faster than it is run: optimised a little, and in a sanitized build not
# at all, and there without the checks of alignment and of pointers' sums: host code reads no vectors. PRIVATE to the
# target, and after the flags of the build type. With -O1 GCC warns falsely of uninitialised use.
function(convscope_compile_quickly target)
  if(CONVSCOPE_FUZZ)  # where it is run for hours
    return()
  endif()
  if(CONVSCOPE_SANITIZE)
    target_compile_options(${target} PRIVATE -O0 -fno-sanitize=alignment,pointer-overflow)
  elseif(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    target_compile_options(${target} PRIVATE -O1 -Wno-maybe-uninitialized)
  endif()
endfunction()

function(convscope_tests name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_SOURCES)
    return()
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  # Tests take most of the time to compile, and little to run: their time is in the libraries, and so is what is to be checked.
  target_compile_options(${name}_test PRIVATE -O0)
  if(CONVSCOPE_SANITIZE MATCHES undefined)
    target_compile_options(${name}_test PRIVATE -fno-sanitize=undefined)
  endif()
  gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
endfunction()

# Kernels that run on the emulator: optimised in every build (under the sanitizers with -O1, as -O2 takes
# several times as long to compile), with red zones around static shared memory, and under the thread sanitizer with an OS thread a block.
set(CONVSCOPE_EMULATED_FLAGS -fno-strict-aliasing -Wno-unknown-pragmas)
if(CONVSCOPE_SANITIZE)
  list(APPEND CONVSCOPE_EMULATED_FLAGS -O1)
else()
  list(APPEND CONVSCOPE_EMULATED_FLAGS -O2)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CONVSCOPE_SANITIZE MATCHES address)  # clang has no such flag
  list(APPEND CONVSCOPE_EMULATED_FLAGS -fsanitize-sections=convscope_shared)
endif()
if(CONVSCOPE_SANITIZE MATCHES undefined)  # also in a test, which is not checked
  separate_arguments(checks UNIX_COMMAND "${undefined_checks}")
  list(APPEND CONVSCOPE_EMULATED_FLAGS ${checks})
endif()
if(CONVSCOPE_SANITIZE MATCHES thread)
  target_compile_definitions(convscope_flags INTERFACE CONVSCOPE_EMULATOR_TSAN=1)
endif()

# convscope_kernels(algorithm_fft tiles.cu): compiles kernel sources into the target, twice where there is nvcc: with it
# for the CUDA device, and with the C++ compiler, by a generated file that includes the source, for the emulator. Where
# there is nvcc the target has the definition CONVSCOPE_HAS_CUDA.
function(convscope_kernels target)
  foreach(kernel IN LISTS ARGN)
    get_filename_component(kernel ${kernel} ABSOLUTE)
    get_filename_component(name ${kernel} NAME_WE)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${kernel})
    set(emulated ${CMAKE_CURRENT_BINARY_DIR}/${name}_emulated.cpp)
    file(CONFIGURE OUTPUT ${emulated} CONTENT "// Generated by CMake: the kernels for the emulator.
#include \"${path}\"
" @ONLY)
    set_source_files_properties(${emulated} PROPERTIES COMPILE_OPTIONS "${CONVSCOPE_EMULATED_FLAGS}")
    set_source_files_properties(${kernel} ${emulated} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE ${emulated})
    if(CONVSCOPE_HAS_CUDA)
      target_sources(${target} PRIVATE ${kernel})
      target_compile_definitions(${target} PRIVATE CONVSCOPE_HAS_CUDA=1)
    endif()
  endforeach()
endfunction()

# Highway compiles a file once for each instruction set, so that such a file stands alone in a unity build.
function(convscope_keep_vector_code_apart)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} vector_code REGEX "HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(vector_code)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# convscope_library(measure [COMPUTES] LIBRARIES convscope_core benchmark::benchmark): the target convscope_measure and,
# where there are tests, measure_test. COMPUTES: it is optimised in every build. ROOMS: folders that belong to it.
function(convscope_library name)
  cmake_parse_arguments(ARG "COMPUTES" "" "ROOMS;LIBRARIES;TEST_LIBRARIES" ${ARGN})
  list(TRANSFORM ARG_ROOMS APPEND "/*.cpp" OUTPUT_VARIABLE rooms)
  file(GLOB sources CONFIGURE_DEPENDS *.cpp cpu/*.cpp ${rooms})
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  add_library(convscope_${name} STATIC ${sources})
  convscope_keep_vector_code_apart(${sources})
  target_link_libraries(convscope_${name} PUBLIC convscope_flags ${ARG_LIBRARIES})
  if(NOT ARG_COMPUTES)
    convscope_compile_quickly(convscope_${name})
  endif()
  convscope_tests(${name} SOURCES ${tests} LIBRARIES convscope_${name} ${ARG_TEST_LIBRARIES})
endfunction()

# convscope_algorithm(fft [LIBRARIES ...] [TEST_LIBRARIES ...] [TESTS_APART slow_test.cpp ...]): the target algorithm_fft,
# its tests fft_test and, of each file of TESTS_APART, a binary of their own (fft_slow_test), and add_fft(Registry&) of
# algorithms/fft/fft.hpp called by the generated catalog.
function(convscope_algorithm name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;TEST_LIBRARIES;TESTS_APART" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp cpu/*.cpp cuda/*.cpp)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  add_library(algorithm_${name} STATIC ${sources})
  target_link_libraries(algorithm_${name} PUBLIC convscope_algorithm algorithms_common ${ARG_LIBRARIES})
  file(GLOB kernels CONFIGURE_DEPENDS cuda/*.cu)
  convscope_kernels(algorithm_${name} ${kernels})
  foreach(test IN LISTS ARG_TESTS_APART)
    list(REMOVE_ITEM tests ${CMAKE_CURRENT_SOURCE_DIR}/${test})
    get_filename_component(apart ${test} NAME)
    string(REGEX REPLACE "_test\\.cpp$" "" apart ${apart})
    convscope_tests(${name}_${apart} SOURCES ${test}
      LIBRARIES algorithm_${name} convscope_verify ${ARG_TEST_LIBRARIES})
  endforeach()
  convscope_tests(${name} SOURCES ${tests}
    LIBRARIES algorithm_${name} convscope_verify ${ARG_TEST_LIBRARIES})
  convscope_keep_vector_code_apart(${sources})
  set_property(GLOBAL APPEND PROPERTY CONVSCOPE_ALGORITHMS ${name})
endfunction()

# convscope_catalog(convscope_catalog direct fft): writes catalog.cpp, which registers the algorithms of these folders
# in sorted order, and makes the target of it.
function(convscope_catalog target)
  set(names ${ARGN})
  list(SORT names)
  set(includes "")
  set(calls "")
  set(libraries "")
  foreach(name IN LISTS names)
    string(APPEND includes "#include \"algorithms/${name}/${name}.hpp\"\n")
    string(APPEND calls "  add_${name}(registry);\n")
    list(APPEND libraries algorithm_${name})
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/catalog.cpp CONTENT
"// Generated by CMake from the folders of algorithms/.
#include \"algorithms/catalog.hpp\"
${includes}
namespace convscope {

void register_all([[maybe_unused]] Registry& registry) {
${calls}}

}  // namespace convscope
" @ONLY)
  add_library(${target} STATIC ${CMAKE_CURRENT_BINARY_DIR}/catalog.cpp)
  target_link_libraries(${target} PUBLIC convscope_algorithm ${libraries})
endfunction()

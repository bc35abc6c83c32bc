# convscope_build_info(target): compiles into the target what this build was made from and with (see
# bench/runner/environment.hpp). The commit is read again on every build; the file is rewritten, and the target built
# again, only when something changed.
#
# The same file, run with `cmake -P`, is the step that writes it.
if(CMAKE_SCRIPT_MODE_FILE)
  set(COMMIT "unknown")
  set(MODIFIED false)
  find_program(GIT git)
  if(GIT)
    execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse HEAD
      OUTPUT_VARIABLE revision ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT failed)
      set(COMMIT ${revision})
      # Result files are no part of the program.
      execute_process(COMMAND ${GIT} -C ${SOURCE} status --porcelain --untracked-files=no -- . ":!results"
        OUTPUT_VARIABLE changes ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
      if(changes)
        set(MODIFIED true)
      endif()
    endif()
  endif()
  configure_file(${SOURCE}/bench/runner/build_info.cpp.in ${OUTPUT} @ONLY)
  return()
endif()

function(convscope_build_info target)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} -fno-math-errno")
  if(CONVSCOPE_SANITIZE)
    string(APPEND flags " -fsanitize=${CONVSCOPE_SANITIZE}")
  endif()
  string(STRIP "${flags}" flags)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/build_info.cpp)
  add_custom_target(${target}_build_info
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${output} -DVERSION=${PROJECT_VERSION}
      -DBUILD_TYPE=${CMAKE_BUILD_TYPE} "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
      "-DFLAGS=${flags}" -DHIGHWAY=${hwy_VERSION} -DFMT=${fmt_VERSION} -DJSON=${nlohmann_json_VERSION}
      -DCLI11=${CLI11_VERSION} -DBENCHMARK=${benchmark_VERSION} -DOPENMP=${OpenMP_CXX_VERSION}
      -P ${PROJECT_SOURCE_DIR}/scripts/cmake/build_info.cmake
    BYPRODUCTS ${output}
    COMMENT "" VERBATIM)
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${output})
  add_dependencies(${target} ${target}_build_info)
endfunction()

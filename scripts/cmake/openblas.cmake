# OpenBLAS by its files and not by its CMake package, which in Debian 13 names a library that is not there. Sets
# OPENBLAS_LIBRARY and OPENBLAS_INCLUDE_DIR, which also choose another build; OPENBLAS_LIBRARY is false where there is none,
# and -DOPENBLAS_LIBRARY=OFF leaves it out. Debian keeps the OpenMP build, which runs on the harness's threads, in a folder
# of its own, whichever build is the system's default.
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-openmp)
find_path(OPENBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-openmp openblas)
if(NOT OPENBLAS_INCLUDE_DIR)
  set(OPENBLAS_LIBRARY OFF)
endif()

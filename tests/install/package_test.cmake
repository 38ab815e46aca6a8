# One test of the package, chosen by MODE. Runs in WORK_DIR, which is emptied first.
file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Configures and builds a project the way this build was configured; the launchers let ccache answer
# for sources that were compiled already.
function(build source binary)
  run(${CMAKE_COMMAND} -S ${source} -B ${binary} -G ${GENERATOR}
    -D CMAKE_BUILD_TYPE=Release
    -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_CXX_COMPILER_LAUNCHER=${CXX_LAUNCHER}
    -D RESIDENT_CUDA=${CUDA} -D CMAKE_CUDA_COMPILER=${CUDA_COMPILER}
    -D CMAKE_CUDA_COMPILER_LAUNCHER=${CUDA_LAUNCHER}
    -D CMAKE_CUDA_ARCHITECTURES=${CUDA_ARCHITECTURES}
    ${ARGN})
  run(${CMAKE_COMMAND} --build ${binary})
endfunction()

function(install_resident binary)
  run(${CMAKE_COMMAND} --install ${binary} --prefix ${prefix})
endfunction()

if(MODE STREQUAL "find_package")
  install_resident(${BUILD_DIR})
  build(${consumer} ${WORK_DIR}/build
    -D CMAKE_PREFIX_PATH=${prefix} -D RESIDENT_VERSION=${VERSION})
  run(${WORK_DIR}/build/consumer)
  run(${prefix}/bin/resident --version)

elseif(MODE STREQUAL "find_package_shared")
  build(${SOURCE_DIR} ${WORK_DIR}/library -D BUILD_SHARED_LIBS=ON
    -D RESIDENT_BUILD_TESTS=OFF -D RESIDENT_BUILD_BENCH=OFF)
  install_resident(${WORK_DIR}/library)
  build(${consumer} ${WORK_DIR}/build
    -D CMAKE_PREFIX_PATH=${prefix} -D RESIDENT_VERSION=${VERSION})
  run(${WORK_DIR}/build/consumer)
  run(${prefix}/bin/resident --version)

elseif(MODE STREQUAL "add_subdirectory")
  build(${consumer} ${WORK_DIR}/build
    -D RESIDENT_SOURCE=${SOURCE_DIR} -D RESIDENT_WARNINGS_AS_ERRORS=ON)
  run(${WORK_DIR}/build/consumer)

elseif(MODE STREQUAL "pkg_config")
  find_program(PKG_CONFIG NAMES pkg-config pkgconf)
  if(NOT PKG_CONFIG)
    message("SKIPPED: no pkg-config on this machine")
    return()
  endif()
  install_resident(${BUILD_DIR})
  file(GLOB_RECURSE pc_file ${prefix}/resident.pc)
  cmake_path(GET pc_file PARENT_PATH pc_dir)
  set(ENV{PKG_CONFIG_PATH} ${pc_dir})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs --static resident
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags)
  run(${CXX_COMPILER} -std=c++20 ${consumer}/main.cpp ${flags} -o ${WORK_DIR}/consumer)
  run(${CMAKE_COMMAND} -E env --modify LD_LIBRARY_PATH=path_list_prepend:${prefix}/lib
    ${WORK_DIR}/consumer)

elseif(MODE STREQUAL "bundle")
  run(${CMAKE_COMMAND} --build ${BUILD_DIR} --target bundle)
  file(COPY ${BUILD_DIR}/bundle DESTINATION ${WORK_DIR})
  run(${WORK_DIR}/bundle/bin/resident --version)
  run(${WORK_DIR}/bundle/run-tests.sh --filter MatrixMarketNumber.*:Version.*)

else()
  message(FATAL_ERROR "No such mode: ${MODE}")
endif()

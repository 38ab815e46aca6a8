# The target `bundle` collects in <build>/bundle what is needed to run the command, the tests and the
# benchmarks on a machine without a toolchain: programs, shared libraries, matrices, run-tests.sh.

option(RESIDENT_BUNDLE_CUDA_LIBRARIES
  "Put cuBLAS and its kind, hundreds of megabytes, into the bundle too" OFF)

# All executables built in a folder of the source tree and below.
function(resident_executables result folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  set(executables)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      list(APPEND executables ${target})
    endif()
  endforeach()
  foreach(subfolder IN LISTS folders)
    resident_executables(more ${subfolder})
    list(APPEND executables ${more})
  endforeach()
  set(${result} ${executables} PARENT_SCOPE)
endfunction()

resident_executables(bundle_targets ${CMAKE_CURRENT_SOURCE_DIR})
set(bundle_programs)
foreach(target IN LISTS bundle_targets)
  # Beside the folders of the build tree, so that a copied program finds the bundled libraries.
  set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH $ORIGIN/../lib)
  list(APPEND bundle_programs $<TARGET_FILE:${target}>)
endforeach()

set(bundle_dir ${CMAKE_CURRENT_BINARY_DIR}/bundle)
add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${bundle_dir}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${bundle_dir}/bin ${bundle_dir}/lib
  COMMAND ${CMAKE_COMMAND} -E copy ${bundle_programs} ${bundle_dir}/bin
  COMMAND ${CMAKE_COMMAND} -D "PROGRAMS=${bundle_programs}" -D LIB_DIR=${bundle_dir}/lib
    -D CUDA_LIBRARIES=${RESIDENT_BUNDLE_CUDA_LIBRARIES}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/tools/bundle/copy_libraries.cmake
  COMMAND ${CMAKE_COMMAND} -E copy_directory
    ${CMAKE_CURRENT_SOURCE_DIR}/matrices ${bundle_dir}/matrices
  COMMAND ${CMAKE_COMMAND} -E copy
    ${CMAKE_CURRENT_SOURCE_DIR}/tools/bundle/run-tests.sh ${bundle_dir}
  DEPENDS ${bundle_targets}
  COMMENT "Collecting ${bundle_dir}"
  VERBATIM)

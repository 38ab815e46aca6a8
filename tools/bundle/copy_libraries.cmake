# Copies the shared libraries that PROGRAMS need to LIB_DIR, except those that belong to the machine
# that they will run on: the C library, its loader and the CUDA driver.
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${PROGRAMS}
  RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so" "^lib(cuda|nvidia-ml)\\.so")
if(missing)
  message(FATAL_ERROR "The programs need libraries that are not on this machine: ${missing}")
endif()

foreach(library IN LISTS libraries)
  if(NOT CUDA_LIBRARIES AND library MATCHES "/lib(cu|nv)[a-zA-Z]+\\.so[^/]*$")
    message(STATUS "Left to the machine: ${library}")
  else()
    # Under the name that the programs ask for, which is usually a link to the file.
    cmake_path(GET library FILENAME name)
    file(REAL_PATH ${library} file)
    file(COPY_FILE ${file} ${LIB_DIR}/${name})
  endif()
endforeach()

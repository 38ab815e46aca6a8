# Installs library, headers, CMake package and pkg-config file, and lets the installed command find a
# shared library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/resident)
get_target_property(library_type resident TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(RESIDENT_IS_STATIC ON)
else()
  set(RESIDENT_IS_STATIC OFF)
endif()

install(TARGETS resident EXPORT residentTargets)
install(DIRECTORY include/resident TYPE INCLUDE)
install(EXPORT residentTargets NAMESPACE resident:: DESTINATION ${package_dir})
if(TARGET resident-command AND NOT RESIDENT_IS_STATIC)
  file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(resident-command PROPERTIES INSTALL_RPATH $ORIGIN/${bin_to_lib})
endif()

configure_package_config_file(
  tools/cmake/residentConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/residentConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/residentConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/residentConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/residentConfigVersion.cmake
  DESTINATION ${package_dir})

# What `pkg-config --static` adds for a static library.
set(pc_private_libs "-pthread")
if(RESIDENT_HAS_CUDA)
  string(APPEND pc_private_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
configure_file(tools/cmake/resident.pc.in ${CMAKE_CURRENT_BINARY_DIR}/resident.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/resident.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

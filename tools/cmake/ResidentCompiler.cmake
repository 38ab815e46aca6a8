# Compiler settings shared by every target of the project.

set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# CMake before 3.25.2, Debian 12's among them, does not know that nvcc compiles C++20.
if(CMAKE_VERSION VERSION_LESS 3.25.2)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()

find_package(Threads REQUIRED)

find_program(RESIDENT_CCACHE ccache)
if(RESIDENT_CCACHE AND PROJECT_IS_TOP_LEVEL)
  foreach(language CXX CUDA)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${RESIDENT_CCACHE})
    endif()
  endforeach()
endif()

# Warnings and sanitizers for a target of ours; never for the targets of a project that uses us.
function(resident_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set(warnings -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Wextra-semi)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
    list(APPEND warnings -Wno-restrict)  # wrong about std::string's operator+ (GCC bug 105651)
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${warnings}>)
  set(cuda_warnings --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra
      $<$<BOOL:${RESIDENT_PTXAS_VERBOSE}>:-Xptxas=-v>)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${cuda_warnings}>)
  if(RESIDENT_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Werror>
      $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
  endif()
  if(RESIDENT_SANITIZE STREQUAL "address")
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  elseif(RESIDENT_SANITIZE STREQUAL "thread")
    set(flags -fsanitize=thread -fno-omit-frame-pointer)
  endif()
  if(flags)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${flags}>)
    target_link_options(${target} PRIVATE ${flags})
  endif()
endfunction()

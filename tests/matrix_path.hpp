// Where the tests find the real matrices: the environment variable RESIDENT_MATRICES, else the
// source tree.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

inline std::filesystem::path matrix_path(const std::string& name) {
  const char* folder = std::getenv("RESIDENT_MATRICES");
  return std::filesystem::path(folder != nullptr ? folder : RESIDENT_MATRICES) / name;
}

// Version of the library. CMake reads the numbers from this file, so they live nowhere else.
#pragma once

#define RESIDENT_VERSION_MAJOR 0
#define RESIDENT_VERSION_MINOR 1
#define RESIDENT_VERSION_PATCH 0

namespace resident {

struct Version {
  int major, minor, patch;
};

// Version of the compiled library; it differs from the macros when header and library do not match.
Version version();

}  // namespace resident

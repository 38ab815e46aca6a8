#include <resident/version.hpp>

namespace resident {

Version version() {
  return {RESIDENT_VERSION_MAJOR, RESIDENT_VERSION_MINOR, RESIDENT_VERSION_PATCH};
}

}  // namespace resident

// The one exception type that leaves the library.
#pragma once

#include <stdexcept>
#include <string>

namespace resident {

enum class ErrorCategory {
  usage,   // an option or argument that makes no sense
  input,   // a file or matrix that cannot be used as it is
  output,  // a file that could not be written
  device,  // no such device, or the device reported an error
  memory,  // host or device memory is exhausted
};

// what() names, where they exist, the file, the line, what was found and what was expected.
class Error : public std::runtime_error {
 public:
  Error(ErrorCategory category, const std::string& message)
      : std::runtime_error(message), category_(category) {}

  ErrorCategory category() const noexcept { return category_; }

 private:
  ErrorCategory category_;
};

}  // namespace resident

#include "output.hpp"

#include <resident/error.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "io/output_file.hpp"

namespace resident::command {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, int error) {
  throw Error(ErrorCategory::output, fmt::format("{}: cannot be written: {}", file.string(),
                                                 std::generic_category().message(error)));
}

}  // namespace

void check_output(const fs::path& file) {
  if (file == "-") return;
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::is_directory(status)) refuse(file, EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (access(file.c_str(), W_OK) != 0) refuse(file, errno);
    return;  // opening a pipe could block
  }
  const io::OutputFile probe(file);  // makes a temporary file and, never committed, removes it
}

void write_text(const fs::path& file, std::string_view text) {
  io::OutputFile output(file);
  output.write(text);
  output.commit();
}

void write_standard_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace resident::command

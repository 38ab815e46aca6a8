// Text to the standard streams and to small files.
#pragma once

#include <filesystem>
#include <string_view>

namespace resident::command {

// Throws Error(output) if `file` cannot be written now: it is a folder, or it or its folder
// refuses. For before long work, so that its result is not lost.
void check_output(const std::filesystem::path& file);

// All of `text`, or Error(output) and no change to the file. "-" is standard output.
void write_text(const std::filesystem::path& file, std::string_view text);

// Where standard error cannot be written, the text is lost and nothing else happens.
void write_standard_error(std::string_view text);

}  // namespace resident::command

// The bytes of an input as one piece of text: a mapped file, standard input, either of them
// inflated where it is gzip-compressed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace resident::io {

// Zero bytes that may be read after every text, so that a parser can look at eight characters at a
// time and needs no test for the end in its inner loops.
inline constexpr std::size_t text_padding = 8;

// A file that another process shortens while it is mapped raises SIGBUS, as mapped files do.
class TextSource {
 public:
  // "-" reads standard input to its end. Throws Error(input) where nothing can be read, and for
  // compressed data that are damaged or cut short.
  explicit TextSource(const std::filesystem::path& file);

  std::string_view text() const { return text_; }
  const std::string& name() const { return name_; }  // for messages

 private:
  std::string name_;
  std::shared_ptr<const void> memory_;
  std::string_view text_;
};

}  // namespace resident::io

// A file that appears under its name complete or not at all.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct z_stream_s;  // zlib's z_stream

namespace resident::io {

// Writes go to a temporary file in the folder of the target; commit() makes it durable and renames
// it. Without commit() the temporary file is removed and the target stays as it was. "-" writes
// standard output, and what is no regular file (a pipe, /dev/null) is written in place. A name that
// ends in .gz is compressed. A reader that closes a pipe is an Error, not a signal.
class OutputFile {
 public:
  // All of these throw Error(output).
  explicit OutputFile(const std::filesystem::path& file);
  void write(std::string_view bytes);
  void commit();

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

 private:
  struct EndDeflate {
    void operator()(z_stream_s* stream) const;
  };

  void open_standard_output();
  void open_in_place(const std::filesystem::path& file);
  void open_temporary(const std::filesystem::path& file);
  void start_compression();
  void deflate(std::string_view bytes, int flush);
  void write_raw(std::string_view bytes);
  [[noreturn]] void fail(std::string_view what, int error) const;

  std::string name_;                 // for messages
  std::filesystem::path target_;     // empty where nothing is renamed
  std::filesystem::path temporary_;  // empty where nothing has to be removed
  int descriptor_ = -1;
  bool owns_descriptor_ = true;
  std::unique_ptr<z_stream_s, EndDeflate> stream_;  // null where nothing is compressed
  std::vector<char> compressed_;
};

}  // namespace resident::io

// Inputs as text: mapping, reading, inflating.
#include "io/text_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <resident/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <system_error>

namespace resident::io {
namespace {

[[noreturn]] void fail(const std::string& name, std::string_view what, int error) {
  throw Error(ErrorCategory::input,
              fmt::format("{}: {}: {}", name, what, std::generic_category().message(error)));
}

// Grows without clearing or, for large sizes, copying what it holds.
class Buffer {
 public:
  // Free space after the bytes held, at least `bytes` of it.
  std::span<char> room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) {
      const std::size_t capacity = std::max(2 * capacity_, size_ + bytes);
      void* grown = std::realloc(data_.get(), capacity);
      if (grown == nullptr) throw std::bad_alloc();
      static_cast<void>(data_.release());
      data_.reset(static_cast<char*>(grown));
      capacity_ = capacity;
    }
    return {data_.get() + size_, capacity_ - size_};
  }

  void append(std::size_t bytes) { size_ += bytes; }
  std::string_view text() const { return {data_.get(), size_}; }

  std::shared_ptr<const void> release_padded() {
    std::ranges::fill(room(text_padding).first(text_padding), '\0');
    return std::shared_ptr<const void>(data_.release(), std::free);
  }

 private:
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0, capacity_ = 0;
};

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Buffer read_all(int descriptor, const std::string& name) {
  constexpr std::size_t least = 1 << 16;
  Buffer buffer;
  for (;;) {
    const std::span<char> room = buffer.room(least);
    const ssize_t count = ::read(descriptor, room.data(), room.size());
    if (count == 0) return buffer;
    if (count > 0) buffer.append(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) fail(name, "cannot be read", errno);
  }
}

// The file lies over the start of an anonymous mapping that is one page longer, which gives the
// text its padding also where the file fills its last page.
std::shared_ptr<const void> map_padded(int descriptor, std::size_t bytes, const std::string& name) {
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t length = (bytes + page - 1) / page * page + page;
  void* address = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  const std::shared_ptr<const void> memory(address,
                                           [length](void* start) { ::munmap(start, length); });
  if (::mmap(address, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
    fail(name, "cannot be mapped", errno);
  }
  ::madvise(address, bytes, MADV_WILLNEED);
  return memory;
}

bool is_gzip(std::string_view data) { return data.starts_with("\x1f\x8b"); }

// zlib's inflate over any number of concatenated gzip members.
class Inflater {
 public:
  Inflater(std::string_view compressed, const std::string& name)
      : compressed_(compressed), name_(name) {
    if (::inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { ::inflateEnd(&stream_); }

  Buffer run() {
    for (;;) {
      const int status = step();
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      if (status == Z_STREAM_END) {
        if (only_zeros_remain()) return std::move(buffer_);
        if (!is_gzip(remaining())) refuse("bytes after the end of the compressed data");
        ::inflateReset(&stream_);
      } else if (status == Z_BUF_ERROR && used_ == compressed_.size()) {
        refuse("the end of the file inside the compressed data");
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        refuse("damaged compressed data");
      }
    }
  }

 private:
  int step() {
    constexpr std::size_t most = 1U << 30;  // zlib counts in unsigned int
    const std::span<char> room = buffer_.room(std::clamp(compressed_.size(), least_room, most));
    const std::size_t input = std::min(compressed_.size() - used_, most);
    const std::size_t output = std::min(room.size(), most);
    // zlib reads through next_in only; its type lacks the const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed_.data() + used_));
    stream_.avail_in = static_cast<uInt>(input);
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(output);
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    used_ += input - stream_.avail_in;
    buffer_.append(output - stream_.avail_out);
    return status;
  }

  std::string_view remaining() const { return compressed_.substr(used_); }

  // Tapes and block devices pad with zeros.
  bool only_zeros_remain() const {
    return remaining().find_first_not_of('\0') == std::string_view::npos;
  }

  [[noreturn]] void refuse(std::string_view found) const {
    const auto line = 1 + std::ranges::count(buffer_.text(), '\n');
    throw Error(ErrorCategory::input,
                fmt::format("{}:{}: found {} (at byte {} of {}), expected whole gzip data", name_,
                            line, found, used_, compressed_.size()));
  }

  static constexpr std::size_t least_room = 1 << 16;
  std::string_view compressed_;
  const std::string& name_;
  std::size_t used_ = 0;
  Buffer buffer_;
  z_stream stream_ = {};
};

}  // namespace

TextSource::TextSource(const std::filesystem::path& file)
    : name_(file == "-" ? "standard input" : file.string()) {
  const bool standard_input = file == "-";
  const FileDescriptor opened(standard_input ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!standard_input && opened.get() < 0) fail(name_, "cannot be opened", errno);
  const int descriptor = standard_input ? STDIN_FILENO : opened.get();

  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) fail(name_, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) fail(name_, "cannot be read", EISDIR);
  if (!standard_input && S_ISREG(status.st_mode) && status.st_size > 0) {
    const std::size_t bytes = static_cast<std::size_t>(status.st_size);
    memory_ = map_padded(descriptor, bytes, name_);
    text_ = {static_cast<const char*>(memory_.get()), bytes};
  } else {
    Buffer buffer = read_all(descriptor, name_);
    const std::size_t bytes = buffer.text().size();
    memory_ = buffer.release_padded();
    text_ = {static_cast<const char*>(memory_.get()), bytes};
  }

  if (is_gzip(text_)) {
    Buffer inflated = Inflater(text_, name_).run();
    const std::size_t bytes = inflated.text().size();
    memory_ = inflated.release_padded();
    text_ = {static_cast<const char*>(memory_.get()), bytes};
  }
}

}  // namespace resident::io

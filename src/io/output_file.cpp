// Atomic and compressed output.
#include "io/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <resident/error.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <new>
#include <system_error>

namespace resident::io {
namespace {

// Holds SIGPIPE back from this thread, and takes one that a write raised meanwhile.
class PipeSignalGuard {
 public:
  PipeSignalGuard() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  PipeSignalGuard(const PipeSignalGuard&) = delete;
  PipeSignalGuard& operator=(const PipeSignalGuard&) = delete;
  ~PipeSignalGuard() {
    const int error = errno;
    const timespec at_once = {};
    if (raised_ && !was_pending_) ::sigtimedwait(&pipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

  void note_raised() { raised_ = true; }

 private:
  sigset_t pipe_ = {}, before_ = {};
  bool was_pending_ = false;
  bool raised_ = false;
};

ssize_t write_without_signal(int descriptor, std::string_view bytes) {
  PipeSignalGuard guard;
  const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
  if (count < 0 && errno == EPIPE) guard.note_raised();
  return count;
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& file)
    : name_(file == "-" ? "standard output" : file.string()) {
  if (file.extension() == ".gz") start_compression();
  struct stat status = {};
  if (file == "-") {
    open_standard_output();
  } else if (::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    open_in_place(file);
  } else {
    open_temporary(file);
  }
}

OutputFile::~OutputFile() {
  if (owns_descriptor_ && descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(std::string_view what, int error) const {
  throw Error(ErrorCategory::output,
              fmt::format("{}: {}: {}", name_, what, std::generic_category().message(error)));
}

void OutputFile::open_standard_output() {
  std::fflush(stdout);  // what the program printed before comes first
  descriptor_ = STDOUT_FILENO;
  owns_descriptor_ = false;
}

void OutputFile::open_in_place(const std::filesystem::path& file) {
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot be written", errno);
}

// An existing target keeps its permissions, and a link to it stays a link.
void OutputFile::open_temporary(const std::filesystem::path& file) {
  static std::atomic<unsigned> serial = 0;
  std::error_code missing;
  target_ = std::filesystem::canonical(file, missing);
  const bool exists = !missing;
  if (!exists) target_ = file;
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail("cannot be written", errno);
  do {
    temporary_ = target_.parent_path() / fmt::format(".resident-{}-{}.part", ::getpid(), serial++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail("cannot be created", error);
  }
  struct stat status = {};
  if (exists && ::stat(target_.c_str(), &status) == 0) ::fchmod(descriptor_, status.st_mode & 0777);
}

void OutputFile::EndDeflate::operator()(z_stream_s* stream) const {
  ::deflateEnd(stream);
  delete stream;
}

void OutputFile::start_compression() {
  constexpr int gzip_format = 16 + MAX_WBITS, usual_memory = 8;
  stream_.reset(new z_stream());
  compressed_.resize(1 << 16);
  if (::deflateInit2(stream_.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_format, usual_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
}

void OutputFile::write(std::string_view bytes) {
  if (!stream_) return write_raw(bytes);
  constexpr std::size_t most = 1U << 30;  // zlib counts in unsigned int
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), most))) {
    deflate(bytes.substr(0, most), Z_NO_FLUSH);
  }
}

void OutputFile::deflate(std::string_view bytes, int flush) {
  // zlib reads through next_in only; its type lacks the const.
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_->avail_in = static_cast<uInt>(bytes.size());
  do {
    stream_->next_out = reinterpret_cast<Bytef*>(compressed_.data());
    stream_->avail_out = static_cast<uInt>(compressed_.size());
    ::deflate(stream_.get(), flush);
    write_raw({compressed_.data(), compressed_.size() - stream_->avail_out});
  } while (stream_->avail_out == 0);
}

void OutputFile::write_raw(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write_without_signal(descriptor_, bytes);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      fail("cannot be written", errno);
    }
  }
}

void OutputFile::commit() {
  if (stream_) deflate({}, Z_FINISH);
  if (!owns_descriptor_) return;
  // EINVAL: the file is a pipe or a device, which has nothing to make durable.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("cannot be written", errno);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail("cannot be written", errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced", errno);
  temporary_.clear();
}

}  // namespace resident::io

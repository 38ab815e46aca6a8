#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto longest_run = std::chrono::seconds(200);

void check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

// Signals and files that a child starts with.
class SpawnSettings {
 public:
  SpawnSettings() {
    check(posix_spawn_file_actions_init(&files), "posix_spawn_file_actions_init");
    check(posix_spawnattr_init(&attributes), "posix_spawnattr_init");
    // Whatever started the tests may ignore these.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&signals, signal);
    check(posix_spawnattr_setsigdefault(&attributes, &signals), "posix_spawnattr_setsigdefault");
    check(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF), "posix_spawnattr_setflags");
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void open(int descriptor, const std::string& file, int flags) {
    check(posix_spawn_file_actions_addopen(&files, descriptor, file.c_str(), flags, 0600), "open");
  }

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

int open_terminal() {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) check(errno, "terminal");
  return terminal;
}

// The end to write to of a pipe whose other end is closed.
int open_broken_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) check(errno, "pipe2");
  close(ends[0]);
  return ends[1];
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "resident-cli-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) check(errno, "mkdtemp");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name) << text;
  return file(name);
}

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  return (std::ostringstream() << stream.rdbuf()).str();
}

std::string command_path() {
  const char* path = std::getenv("RESIDENT_COMMAND");
  return path != nullptr ? path : RESIDENT_COMMAND;
}

Process::Process(const Launch& launch) : launch_(launch) {
  constexpr int create = O_WRONLY | O_CREAT | O_TRUNC;
  SpawnSettings settings;
  settings.open(STDIN_FILENO, launch.input, O_RDONLY);
  int broken_pipe = -1;
  if (launch.closed_output) {
    broken_pipe = open_broken_pipe();
    check(posix_spawn_file_actions_adddup2(&settings.files, broken_pipe, STDOUT_FILENO), "dup2");
  } else {
    settings.open(STDOUT_FILENO, launch.output.empty() ? folder_.file("out") : launch.output,
                  create);
  }
  if (launch.terminal) {
    terminal_ = open_terminal();
    settings.open(STDERR_FILENO, ptsname(terminal_), O_WRONLY | O_NOCTTY);
  } else {
    settings.open(STDERR_FILENO, folder_.file("err"), create);
  }
  std::vector<std::string> words = {launch.program};
  words.insert(words.end(), launch.arguments.begin(), launch.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error = posix_spawnp(&pid_, launch.program.c_str(), &settings.files,
                                 &settings.attributes, argv.data(), environ);
  if (broken_pipe >= 0) close(broken_pipe);
  check(error, launch.program.c_str());
}

Process::~Process() {
  if (pid_ > 0) {
    send(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (terminal_ >= 0) close(terminal_);
}

bool Process::wait_for_terminal(const std::string& text) {
  while (shown_.find(text) == std::string::npos) {
    if (!read_terminal()) return false;
  }
  return true;
}

void Process::send(int signal) const { kill(pid_, signal); }

bool Process::read_terminal() {
  pollfd wanted = {terminal_, POLLIN, 0};
  const auto limit = std::chrono::milliseconds(longest_run).count();
  if (poll(&wanted, 1, static_cast<int>(limit)) <= 0) return false;
  char buffer[4096];
  const ssize_t count = read(terminal_, buffer, sizeof(buffer));
  if (count <= 0) return false;  // EIO: the other side was closed
  shown_.append(buffer, static_cast<std::size_t>(count));
  return true;
}

Result Process::wait() {
  if (terminal_ >= 0) {
    while (read_terminal()) {
    }
  }
  const auto deadline = Clock::now() + longest_run;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() > deadline) send(SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  Result result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (launch_.output.empty() && !launch_.closed_output) result.out = read_file(folder_.file("out"));
  result.err = terminal_ >= 0 ? shown_ : read_file(folder_.file("err"));
  return result;
}

Result run(const std::vector<std::string>& arguments) {
  Launch launch;
  launch.arguments = arguments;
  return Process(launch).wait();
}

Launch shell_script(const std::string& script) {
  setenv("RESIDENT", command_path().c_str(), 1);
  Launch launch;
  launch.program = "sh";
  launch.arguments = {"-c", script};
  return launch;
}

Result run_shell(const std::string& script) { return Process(shell_script(script)).wait(); }

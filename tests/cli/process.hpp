// Runs the command as a shell would, and keeps what it said.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

// A folder for one test, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  // Writes `text` to a file and returns the file's name.
  std::string write(const std::string& name, const std::string& text) const;
  // The names in the folder, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& file);

// The built command, or what RESIDENT_COMMAND in the environment says.
std::string command_path();

struct Result {
  int exit_code = -1;  // -1: ended by `signal`
  int signal = 0;
  std::string out, err;
};

struct Launch {
  std::vector<std::string> arguments;
  std::string program = command_path();
  std::string input = "/dev/null";  // standard input
  std::string output = {};          // standard output; empty: kept in the result
  bool closed_output = false;       // standard output is a pipe that nobody reads
  bool terminal = false;            // standard error is a terminal
};

// A running command. It is killed if it lasts longer than any test should.
class Process {
 public:
  explicit Process(const Launch& launch);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Until the terminal has shown `text`; false if the process ended without.
  bool wait_for_terminal(const std::string& text);
  void send(int signal) const;
  Result wait();

 private:
  // Adds what the terminal shows next; false at its end.
  bool read_terminal();

  TemporaryFolder folder_;
  Launch launch_;
  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string shown_;
};

// The command with these arguments, standard input empty.
Result run(const std::vector<std::string>& arguments);

// A shell script in which $RESIDENT is the command.
Launch shell_script(const std::string& script);
Result run_shell(const std::string& script);

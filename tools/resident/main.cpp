// The `resident` command: finds the subcommand, and turns what went wrong into an exit code.
#include <resident/error.hpp>
#include <resident/version.hpp>

#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "commands.hpp"
#include "json.hpp"
#include "output.hpp"

namespace resident::command {
namespace {

ExitCode exit_code(ErrorCategory category) {
  switch (category) {
    case ErrorCategory::usage:
    case ErrorCategory::input:
    case ErrorCategory::output:
      return exit_wrong;
    case ErrorCategory::device:
    case ErrorCategory::memory:
      return exit_device;
  }
  return exit_device;
}

ExitCode complain(ExitCode code, const std::string& what) {
  write_standard_error(fmt::format("resident: {}\n", what));
  return code;
}

// Help and version leave the parser as exceptions too.
ExitCode answer(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    std::ostringstream text, unused;
    app.exit(e, text, unused);
    write_text("-", text.str());
    return exit_success;
  }
  const auto given = app.get_subcommands();
  const auto unknown = app.remaining();
  if (given.empty() && !unknown.empty()) {
    return complain(
        exit_wrong,
        fmt::format("'{}' is no subcommand or option; see `resident --help`", unknown.front()));
  }
  const std::string command = given.empty() ? "resident" : "resident " + given.front()->get_name();
  return complain(exit_wrong, fmt::format("{}; see `{} --help`", e.what(), command));
}

ExitCode run(int argc, char** argv) {
  CLI::App app("Solves sparse symmetric positive definite systems.", "resident");
  app.get_formatter()->column_width(42);
  app.set_version_flag("--version", "resident " + version_string());
  app.require_subcommand(1);
  const Command commands[] = {add_solve(app), add_generate(app), add_info(app), add_devices(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return answer(app, e);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return exit_wrong;
}

}  // namespace
}  // namespace resident::command

int main(int argc, char** argv) {
  using namespace resident::command;
  // A reader that goes away is an output error with a message, not a silent death.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const resident::Error& e) {
    return complain(exit_code(e.category()), e.what());
  } catch (const std::bad_alloc&) {
    return complain(exit_device, "not enough memory");
  } catch (const std::length_error&) {
    return complain(exit_device, "not enough memory");
  } catch (const std::system_error& e) {
    // Threads that cannot be started.
    const bool exhausted = e.code() == std::errc::resource_unavailable_try_again;
    return complain(exhausted ? exit_device : exit_wrong, e.what());
  } catch (const std::exception& e) {
    return complain(exit_wrong, e.what());
  }
}

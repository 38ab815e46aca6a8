#include "interrupt.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

namespace resident::command {
namespace {

std::atomic<bool> interrupted = false;
std::atomic<bool> silent = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only use such atomics");

constexpr int signals[] = {SIGINT, SIGTERM};

// Only calls what POSIX allows in a handler.
void stop_gently(int) {
  const int saved_errno = errno;
  interrupted = true;
  for (const int signal : signals) std::signal(signal, SIG_DFL);
  if (!silent) {
    constexpr std::string_view text = "\nresident: stopping; interrupt again to end at once\n";
    // Nothing can be done here where standard error is gone.
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  }
  errno = saved_errno;
}

}  // namespace

const std::atomic<bool>& cancel_on_interrupt(bool quiet) {
  silent = quiet;
  for (const int signal : signals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = stop_gently;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
  return interrupted;
}

}  // namespace resident::command

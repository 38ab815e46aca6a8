#include "progress.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include "output.hpp"

namespace resident::command {

ProgressLine::ProgressLine(bool wanted) : active_(wanted && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { erase(); }

void ProgressLine::show(const std::string& text) {
  const std::lock_guard lock(mutex_);
  draw(text);
}

void ProgressLine::show(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  const double seconds = progress.seconds - previous_.seconds;
  const auto iterations = progress.iteration - previous_.iteration;
  const double rate = seconds > 0 ? static_cast<double>(iterations) / seconds : 0;
  const double relative =
      progress.rhs_norm > 0 ? progress.residual_norm / progress.rhs_norm : progress.residual_norm;
  draw(fmt::format("iteration {}   relative residual {:.3e}   {:.0f} iterations/s",
                   progress.iteration, relative, rate));
  previous_ = progress;
}

void ProgressLine::erase() {
  const std::lock_guard lock(mutex_);
  if (width_ == 0) return;
  draw("");
  write_standard_error("\r");
}

// Blanks cover what a longer line left; no escape sequence, so that any terminal will do.
void ProgressLine::draw(const std::string& text) {
  if (!active_) return;
  write_standard_error(fmt::format("\r{:<{}}", text, width_));
  width_ = text.size();
}

}  // namespace resident::command

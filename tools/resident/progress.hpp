// One line on a terminal that is redrawn while a command works, and is gone afterwards.
#pragma once

#include <resident/conjugate_gradient.hpp>

#include <cstddef>
#include <mutex>
#include <string>

namespace resident::command {

// Draws only where standard error is a terminal and `wanted`.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool active() const { return active_; }

  void show(const std::string& text);
  // Iteration, relative residual and iterations per second since the last call. Any thread may
  // call.
  void show(const Progress& progress);
  void erase();

 private:
  void draw(const std::string& text);

  bool active_;
  std::mutex mutex_;
  std::size_t width_ = 0;  // of what is on the line now
  Progress previous_;
};

}  // namespace resident::command

// Ctrl-C asks a solve to stop; a second one ends the process.
#pragma once

#include <atomic>

namespace resident::command {

// From now on the first SIGINT or SIGTERM raises the returned flag (and says so on standard error
// unless `quiet`), the next one has its default effect. A signal that the process was started with
// ignored, as by nohup, stays ignored.
const std::atomic<bool>& cancel_on_interrupt(bool quiet);

}  // namespace resident::command

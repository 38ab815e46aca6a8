// A team of threads that runs one piece of code together.
#pragma once

#include <functional>

namespace resident::cpu {

// Calls body(rank) for all ranks at once, each in its own thread; rank 0 is the calling thread.
// Returns when all have ended, and throws again what the lowest rank threw. A body that waits for
// other members must not throw. Throws Error(device) if the threads cannot be started; no body has
// run then.
void run_team(int members, const std::function<void(int)>& body);

}  // namespace resident::cpu

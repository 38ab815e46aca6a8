// How many threads this process may run at once.
#pragma once

namespace resident {

// The size of the CPU affinity mask (which respects taskset and container limits), at least 1.
int available_cpu_threads();

}  // namespace resident

// Resident itself behind the benchmark's interface.
#pragma once

#include <resident/conjugate_gradient.hpp>

#include <memory>

#include "solvers/solver.hpp"

namespace resident::bench {

std::unique_ptr<Solver> make_resident(DeviceKind device, CachePolicy cache, Recurrence recurrence);

}  // namespace resident::bench

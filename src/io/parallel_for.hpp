// A loop whose iterations run on several threads, for work that comes in independent pieces.
#pragma once

#include <cstddef>
#include <functional>

namespace resident::io {

// Calls body(worker, i) for every i in [0, count), worker in [0, threads), no two calls with the
// same worker at once. Pieces are taken in ascending order, and where calls throw, the exception of
// the lowest i is rethrown after all calls have returned: the one that a serial loop would end
// with.
void parallel_for(std::size_t count, int threads,
                  const std::function<void(int worker, std::size_t i)>& body);

}  // namespace resident::io

// The solvers that stand for what a user would pick instead.
#pragma once

#include <memory>

#include "solvers/solver.hpp"

namespace resident::bench {

std::unique_ptr<Solver> make_cusparse();
std::unique_ptr<Solver> make_cusparse_graph();

// Ginkgo's structure: load-balanced SpMV, fused vector kernels, the stopping test on the host after
// every `check_interval` iterations.
std::unique_ptr<Solver> make_ginkgo_style(int check_interval);

// threads: 0 for all.
std::unique_ptr<Solver> make_eigen(int threads);

}  // namespace resident::bench

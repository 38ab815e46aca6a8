// The table of solvers.
#include "solvers/baselines.hpp"
#include "solvers/ours.hpp"

namespace resident::bench {
namespace {

#ifdef RESIDENT_HAS_CUDA
SolverEntry ours(const std::string& name, const std::string& description, CachePolicy cache,
                 Recurrence recurrence) {
  return {name, description, true,
          [=] { return make_resident(DeviceKind::gpu, cache, recurrence); }};
}
#endif

std::vector<SolverEntry> make_table() {
  std::vector<SolverEntry> table;
#ifdef RESIDENT_HAS_CUDA
  table.push_back(
      ours("resident", "Resident with its defaults", CachePolicy::all, Recurrence::automatic));
  table.push_back(ours("resident-single-reduction", "the single-reduction recurrence",
                       CachePolicy::all, Recurrence::single_reduction));
  for (const CachePolicy policy :
       {CachePolicy::none, CachePolicy::search, CachePolicy::vectors, CachePolicy::matrix}) {
    const std::string policy_name(name(policy));
    table.push_back(ours("resident-cache-" + policy_name, "on chip: " + policy_name, policy,
                         Recurrence::automatic));
  }
  table.push_back({"cusparse", "cuSPARSE and cuBLAS, host loop", true, make_cusparse});
  table.push_back(
      {"cusparse-graph", "the same, ten iterations in a CUDA graph", true, make_cusparse_graph});
  table.push_back({"ginkgo-style", "load-balanced SpMV, fused kernels, test every iteration", true,
                   [] { return make_ginkgo_style(1); }});
  table.push_back({"ginkgo-style-10", "the same, test every 10 iterations", true,
                   [] { return make_ginkgo_style(10); }});
#endif
  table.push_back({"resident-cpu", "Resident on the CPU, all threads", false, [] {
                     return make_resident(DeviceKind::cpu, CachePolicy::all, Recurrence::automatic);
                   }});
  table.push_back({"eigen", "Eigen on the CPU, all threads", false, [] { return make_eigen(0); }});
  table.push_back({"eigen-1", "Eigen on the CPU, one thread", false, [] { return make_eigen(1); }});
  return table;
}

}  // namespace

const std::vector<SolverEntry>& solvers() {
  static const std::vector<SolverEntry> table = make_table();
  return table;
}

}  // namespace resident::bench

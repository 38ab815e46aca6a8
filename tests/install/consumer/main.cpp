// Solves a small system through nothing but the public header, and checks the solution.
#include <resident/resident.hpp>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace {

bool versions_agree() {
  const resident::Version version = resident::version();
  return version.major == RESIDENT_VERSION_MAJOR && version.minor == RESIDENT_VERSION_MINOR &&
         version.patch == RESIDENT_VERSION_PATCH;
}

double largest_error(const std::vector<double>& x, double expected) {
  double error = 0;
  for (const double value : x) error = std::fmax(error, std::fabs(value - expected));
  return error;
}

}  // namespace

int main() {
  if (!versions_agree()) {
    std::cerr << "the headers belong to another version than the library\n";
    return EXIT_FAILURE;
  }

  const auto a = resident::generate<double>("poisson2d:20:20");
  const auto rows = static_cast<std::size_t>(a.rows);
  const std::vector<double> ones(rows, 1.0);
  std::vector<double> b(rows), x(rows);
  resident::multiply<double>(a, ones, b);

  resident::ConjugateGradient<double> cg(a, {.tolerance = 1e-10});
  const resident::SolveReport report = cg.solve(b, x);
  std::cout << report.message() << '\n';
  if (!report.converged() || largest_error(x, 1.0) > 1e-8) {
    std::cerr << "largest error " << largest_error(x, 1.0) << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

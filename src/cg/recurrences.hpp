// The conjugate gradient recurrences, single-sourced for CPU threads and GPU thread blocks, and the
// rules by which a solve stops.
//
// The code runs once in every member of a team. A member owns some rows; each of its functions
// works on the own rows only, and what a function returns is the same in all members to the last
// bit. Hence all members take every branch together. Vectors: x solution, r residual, u = M r with
// the diagonal preconditioner M (u = r without one), p direction, s = A p, w = A u.
//
//   double load();                   read b and the initial x; ‖b‖²
//   void zero_solution();            x = 0
//   Sums residual();                 r = b - A x; p = u (classic) or p = s = 0 (single_reduction)
//   double multiply_direction();     s = A p; p·s                                       (classic)
//   Sums descend(alpha);             r -= alpha s                                       (classic)
//   void advance(alpha, beta);       x += alpha p; p = u + beta p                       (classic)
//   Sums multiply_residual();        w = A u                                   (single_reduction)
//   void advance_all(alpha, beta);   p = u + beta p; s = w + beta s; x += alpha p; r -= alpha s
//   void record(iteration, norm2);   history and progress
//   Request request();               what the host asked for, as agreed in the last reduction
//
// Sums and norms are doubles for every value type.
#pragma once

#include <resident/conjugate_gradient.hpp>

#include <cstdint>
#include <limits>

#include "core/function.hpp"

namespace resident::cg {

// What the host may ask of a running solve.
enum class Request : int { none = 0, cancel = 1, time_out = 2 };

struct Sums {
  double ru = 0;     // r·u: drives the recurrence
  double norm2 = 0;  // ‖r‖²: decides convergence
  double uw = 0;     // u·w, single_reduction only
};

struct Limits {
  double tolerance = 0;           // relative to ‖b‖
  double absolute_tolerance = 0;  // of ‖r‖
  std::int64_t max_iterations = 0;
};

struct Outcome {
  StopReason reason = StopReason::iteration_limit;
  std::int64_t iterations = 0;
  int restarts = 0;
  double norm2 = 0;      // ‖b - A x‖², recomputed from x
  double rhs_norm2 = 0;  // ‖b‖²
};

RESIDENT_FUNCTION bool is_finite(double v) { return v - v == 0; }

// Why the inner loop was left; none: it has not run yet.
enum class Exit { none, claimed, breakdown, indefinite, not_finite, iteration_limit, requested };

// Bookkeeping after a step whose residual norm is known. True if the inner loop must be left.
template <class Member>
RESIDENT_FUNCTION bool step_ends(Member& m, double norm2, double threshold2, const Limits& limits,
                                 Outcome& outcome, Exit& exit) {
  ++outcome.iterations;
  m.record(outcome.iterations, norm2);
  if (!is_finite(norm2)) {
    exit = Exit::not_finite;
  } else if (norm2 <= threshold2) {
    exit = Exit::claimed;
  } else if (m.request() != Request::none) {
    exit = Exit::requested;
  } else if (outcome.iterations >= limits.max_iterations) {
    exit = Exit::iteration_limit;
  } else {
    return false;
  }
  return true;
}

// p·Ap that is not positive: the matrix is indefinite if p is the residual itself; after some steps
// it may be rounding, and a restart from the true residual decides: see Restarts.
RESIDENT_FUNCTION Exit bad_curvature(double pap, bool first) {
  if (!is_finite(pap)) return Exit::not_finite;
  return first ? Exit::indefinite : Exit::breakdown;
}

// Hestenes and Stiefel, 1952: two reductions an iteration.
struct Classic {
  static constexpr bool residual_is_multiplied = false;

  template <class Member>
  RESIDENT_FUNCTION static Exit iterate(Member& m, double ru, double threshold2,
                                        const Limits& limits, Outcome& outcome) {
    Exit exit;
    for (bool first = true;; first = false) {
      const double pap = m.multiply_direction();
      if (!(pap > 0) || !is_finite(pap)) return bad_curvature(pap, first);
      const double alpha = ru / pap;
      const Sums next = m.descend(alpha);
      m.advance(alpha, next.ru / ru);
      ru = next.ru;
      if (step_ends(m, next.norm2, threshold2, limits, outcome, exit)) return exit;
    }
  }
};

// Chronopoulos and Gear, "s-step iterative methods for symmetric linear systems", 1989, with s = 1:
// both dot products in one reduction, since p·Ap = u·Au - (beta/alpha_old) r·u.
struct SingleReduction {
  static constexpr bool residual_is_multiplied = true;

  template <class Member>
  RESIDENT_FUNCTION static Exit iterate(Member& m, double, double threshold2, const Limits& limits,
                                        Outcome& outcome) {
    Exit exit;
    double previous_ru = 0, previous_alpha = 0;
    for (bool first = true;; first = false) {
      const Sums sums = m.multiply_residual();
      if (!first && step_ends(m, sums.norm2, threshold2, limits, outcome, exit)) return exit;
      const double beta = first ? 0 : sums.ru / previous_ru;
      const double pap = first ? sums.uw : sums.uw - beta * (sums.ru / previous_alpha);
      if (!(pap > 0) || !is_finite(pap)) return bad_curvature(pap, first);
      const double alpha = sums.ru / pap;
      m.advance_all(alpha, beta);
      previous_ru = sums.ru;
      previous_alpha = alpha;
    }
  }
};

// Whether restarts for one cause still gain: the true residual must fall by a factor of two from
// one to the next.
class Restarts {
 public:
  RESIDENT_FUNCTION bool gain(double norm2) {
    const bool gained = norm2 <= 0.25 * last_norm2_;
    last_norm2_ = norm2;
    return gained;
  }

 private:
  double last_norm2_ = std::numeric_limits<double>::infinity();
};

// The whole solve. Convergence is only said of a residual computed from x; where the recurrence
// claimed more than that residual shows, the solve restarts from it (residual replacement), as long
// as restarts gain. The same holds for breakdowns: of an indefinite matrix they do not.
template <class Recurrence, class Member>
RESIDENT_FUNCTION Outcome solve(Member& m, const Limits& limits) {
  Outcome outcome;
  outcome.rhs_norm2 = m.load();
  if (!is_finite(outcome.rhs_norm2)) {
    outcome.reason = StopReason::not_finite;
    outcome.norm2 = outcome.rhs_norm2;
    return outcome;
  }
  if (outcome.rhs_norm2 == 0) {
    m.zero_solution();
    m.record(0, 0);
    outcome.reason = StopReason::converged;
    return outcome;
  }
  const double relative2 = limits.tolerance * limits.tolerance * outcome.rhs_norm2;
  const double absolute2 = limits.absolute_tolerance * limits.absolute_tolerance;
  const double threshold2 = relative2 > absolute2 ? relative2 : absolute2;

  Exit exit = Exit::none;
  Restarts claims, breakdowns;
  for (;;) {
    const Sums sums = m.residual();
    outcome.norm2 = sums.norm2;
    if (exit == Exit::none) m.record(0, sums.norm2);
    if (!is_finite(sums.norm2)) {
      outcome.reason = StopReason::not_finite;
      return outcome;
    }
    if (sums.norm2 <= threshold2) {
      outcome.reason = StopReason::converged;
      return outcome;
    }
    if (exit != Exit::none) {
      if (exit == Exit::iteration_limit) {
        outcome.reason = StopReason::iteration_limit;
        return outcome;
      }
      if (exit == Exit::requested) {
        outcome.reason =
            m.request() == Request::cancel ? StopReason::cancelled : StopReason::time_limit;
        return outcome;
      }
      if (exit == Exit::claimed && !claims.gain(sums.norm2)) {
        outcome.reason = StopReason::stagnated;
        return outcome;
      }
      if (exit == Exit::breakdown && !breakdowns.gain(sums.norm2)) {
        outcome.reason = StopReason::indefinite_matrix;
        return outcome;
      }
      ++outcome.restarts;
    }
    exit = Recurrence::iterate(m, sums.ru, threshold2, limits, outcome);
    if (exit == Exit::not_finite || exit == Exit::indefinite) {
      outcome.reason =
          exit == Exit::indefinite ? StopReason::indefinite_matrix : StopReason::not_finite;
      return outcome;
    }
  }
}

}  // namespace resident::cg

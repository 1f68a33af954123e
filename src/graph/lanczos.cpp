// SPDX-License-Identifier: Apache-2.0
#include "lanczos.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/vector_math.hpp"
#include "porter/core/rng.hpp"

// Lanczos (1950) builds an orthonormal basis of v, A v, A^2 v, ..., in which A is tridiagonal; the
// ends of the small spectrum run to the ends of the large one. The residual of the Ritz pair
// (theta, V s) is |beta_m s_m|, so an eigenvalue lies that close to theta. We do not
// reorthogonalise: rounding then makes copies of ends that have converged, which does no harm to
// the ends themselves (Paige 1980), and thousands of steps cost no memory.
namespace porter {
namespace {

// The start is random, so that it misses no eigenvector; its stream serves nothing else.
constexpr std::uint64_t kSeed = 0x6C616E637A6F73;

void subtract_mean(std::span<double> x) {
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  for (double& value : x) value -= mean;
}

std::vector<double> random_unit_vector(std::size_t nodes) {
  std::vector<double> v(nodes);
  RngStream(kSeed, Draw::graph, 1, 0).fill_normal(v);
  subtract_mean(v);
  scale(1 / std::sqrt(squared_norm(v)), v);
  return v;
}

Tridiagonal negated(Tridiagonal t) {
  scale(-1, t.diagonal);
  return t;
}

double norm_bound(const Tridiagonal& t) {
  double bound = 0;
  for (std::size_t i = 0; i < t.diagonal.size(); ++i) {
    const double left = i > 0 ? std::abs(t.beside[i - 1]) : 0;
    const double right = i < t.beside.size() ? std::abs(t.beside[i]) : 0;
    bound = std::max(bound, std::abs(t.diagonal[i]) + left + right);
  }
  return bound;
}

// A pivot of zero stands for one just below it.
double nonzero(double pivot) { return pivot == 0 ? -1e-300 : pivot; }

// Whether all eigenvalues of T lie below x: all pivots of T - xI are negative.
bool all_below(const Tridiagonal& t, double x) {
  double pivot = -1;
  for (std::size_t i = 0; i < t.diagonal.size(); ++i) {
    const double b = i > 0 ? t.beside[i - 1] : 0;
    pivot = nonzero(t.diagonal[i] - x - b * b / pivot);
    if (pivot > 0) return false;
  }
  return true;
}

// Moves an estimate on, unless it had converged and the newer one is only a copy of it.
void improve(RitzValue& held, const RitzValue& found, bool first) {
  if (first || found.residual < held.residual || std::abs(found.value - held.value) > held.residual)
    held = found;
}

RitzValue top(const Tridiagonal& t, double next_beside) {
  const double value = largest_eigenvalue(t);
  return {value, std::abs(next_beside) * last_component(t, value)};
}

}  // namespace

double largest_eigenvalue(const Tridiagonal& t) {
  const double bound = norm_bound(t);
  double low = -bound, high = bound;
  while (high - low > 2e-16 * bound) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (all_below(t, middle) ? high : low) = middle;
  }
  return high;
}

// From the pivots of the factorisations from above and from below; joined where they disagree
// least, both recurrences run in the direction in which they are stable (Parlett and Dhillon 1997).
double last_component(const Tridiagonal& t, double value) {
  const std::size_t m = t.diagonal.size();
  std::vector<double> down(m), up(m);
  for (std::size_t i = 0; i < m; ++i)
    down[i] = nonzero(t.diagonal[i] - value -
                      (i > 0 ? t.beside[i - 1] * t.beside[i - 1] / down[i - 1] : 0));
  for (std::size_t i = m; i-- > 0;)
    up[i] =
        nonzero(t.diagonal[i] - value - (i + 1 < m ? t.beside[i] * t.beside[i] / up[i + 1] : 0));
  std::size_t twist = 0;
  double least = INFINITY;
  for (std::size_t i = 0; i < m; ++i) {
    const double gap = std::abs(down[i] + up[i] - (t.diagonal[i] - value));
    if (gap >= least) continue;
    least = gap;
    twist = i;
  }
  double sum = 1, s = 1;
  for (std::size_t i = twist; i-- > 0;) {
    s *= -t.beside[i] / down[i];
    sum += s * s;
  }
  s = 1;
  for (std::size_t i = twist; i + 1 < m; ++i) {
    s *= -t.beside[i] / up[i + 1];
    sum += s * s;
  }
  return std::abs(s) / std::sqrt(sum);
}

SpectrumEnds lanczos_ends(std::size_t nodes, const SymmetricOperator& apply, std::size_t most_steps,
                          const std::function<bool(const SpectrumEnds&)>& enough) {
  std::vector<double> v = random_unit_vector(nodes), previous(nodes, 0.0), w(nodes);
  Tridiagonal t;
  SpectrumEnds ends;
  double beta = 0, size = 0;
  std::size_t next_look = 20;
  for (std::size_t step = 1;; ++step) {
    apply(v, w);
    axpy(-beta, previous, w);
    t.diagonal.push_back(dot(v, w));
    axpy(-t.diagonal.back(), v, w);
    subtract_mean(w);  // last, so that a division by a small beta does not bring the mean back
    beta = std::sqrt(squared_norm(w));
    size = std::max({size, std::abs(t.diagonal.back()), beta});
    const bool exhausted = beta <= 1e-15 * size;
    const bool last = exhausted || step >= most_steps;
    if (last || step == next_look) {
      const auto low = top(negated(t), beta);
      improve(ends.high, top(t, beta), ends.steps == 0);
      improve(ends.low, {-low.value, low.residual}, ends.steps == 0);
      ends.steps = step;
      if (last || enough(ends)) return ends;
      next_look = step + std::max<std::size_t>(10, step / 10);
    }
    t.beside.push_back(beta);
    scale(1 / beta, w);
    std::swap(previous, v);
    std::swap(v, w);
  }
}

}  // namespace porter

// SPDX-License-Identifier: Apache-2.0
#include "fdla.hpp"

#include <algorithm>
#include <array>
#include <cmath>

// The problem, for a connected graph with edges e = {i, j} and a_e = e_i - e_j:
//
//   minimise s   over s and w,   S_+ = sI + (11'/n - W(w)) >= 0,   S_- = sI - (11'/n - W(w)) >= 0,
//
// with W(w) = I - sum_e w_e a_e a_e'. Its dual:
//
//   maximise <X_+ - X_-, I - 11'/n>   over X_+, X_- >= 0 with tr X_+ + tr X_- = 1 and
//   a_e' X_+ a_e = a_e' X_- a_e for every edge.
//
// Both start strictly feasible: w the best constant and s above its rate; X_+ = X_- = I / (2n).
// The direction is the one of Helmberg, Rendl, Vanderbei and Wolkowicz (1996), Kojima, Shindoh and
// Hara (1997) and Monteiro (1997), with Mehrotra's predictor and corrector:
//
//   dX = sigma mu S^-1 - X - sym(X dS S^-1) - sym(dX_pred dS_pred S^-1),
//
// and <A_k, X + dX> = b_k for all constraints k gives a positive definite system in dy = (dw, ds).
// Its matrix <A_k, X A_l S^-1> costs O(1) per entry, because A_e = (a_e a_e', -a_e a_e') has rank
// one: (a_e' X a_f)(a_f' S^-1 a_e), summed over both blocks.
namespace porter {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using System = Eigen::LLT<Eigen::Ref<MatrixXd>>;  // factored in place: the matrix may be large

constexpr double kTargetGap = 1e-9;  // tried for
constexpr double kGoodGap = 8e-8;    // good enough if rounding stops us
constexpr double kLargestRidge = 1e-9;
constexpr int kMaxIterations = 60;
constexpr double kStepFraction = 0.97;  // of the way to the boundary
constexpr double kSmallestStep = 1e-4;  // shorter ones mean that rounding has taken over

// One of the two semidefinite blocks.
struct Block {
  double sign = 1;
  MatrixXd X, S;
  MatrixXd X_factor, S_factor, S_inverse;  // Cholesky factors, lower
  MatrixXd dX, dS;

  bool factor() {
    const Eigen::LLT<MatrixXd> x(X), s(S);
    if (x.info() != Eigen::Success || s.info() != Eigen::Success) return false;
    X_factor = x.matrixL();
    S_factor = s.matrixL();
    S_inverse = s.solve(MatrixXd::Identity(S.rows(), S.cols()));
    return S_inverse.allFinite() && X_factor.allFinite();
  }
};

void symmetrise(MatrixXd& a) { a = (0.5 * (a + a.transpose())).eval(); }

// The largest t <= 1 with L L' + t D positive semidefinite up to the fraction kept as distance.
double step_length(const MatrixXd& factor, const MatrixXd& direction) {
  const auto lower = factor.triangularView<Eigen::Lower>();
  MatrixXd scaled = lower.solve(direction);
  scaled = lower.solve(scaled.transpose()).eval();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(scaled, Eigen::EigenvaluesOnly);
  const double lowest = eigen.eigenvalues()[0];
  return lowest >= -kStepFraction ? 1.0 : -kStepFraction / lowest;
}

class Solver {
 public:
  Solver(const Graph& graph, double constant, double constant_rate)
      : graph_(graph),
        n_(static_cast<Index>(graph.nodes())),
        m_(static_cast<Index>(graph.edges().size())),
        y_(VectorXd::Constant(m_ + 1, constant)) {
    blocks_[1].sign = -1;
    y_[m_] = 1 + constant_rate;
    for (auto& block : blocks_) block.X = MatrixXd::Identity(n_, n_) / (2.0 * double(n_));
  }

  FdlaResult solve() {
    FdlaResult result{edge_weights(), 0.0, 0};
    while (update()) {
      result.edge_weights = edge_weights();
      result.lower_bound = std::max(
          result.lower_bound, fdla_lower_bound(graph_, blocks_[0].X_factor, blocks_[1].X_factor));
      const double gap = y_[m_] - result.lower_bound;
      if (gap <= kTargetGap || result.iterations == kMaxIterations) break;
      if (!iterate(gap <= kGoodGap ? 0.0 : kLargestRidge)) break;
      ++result.iterations;
    }
    return result;
  }

 private:
  std::vector<double> edge_weights() const { return {y_.data(), y_.data() + m_}; }

  // S and the factors at the present point; false if one is no longer positive definite.
  bool update() {
    const MatrixXd centre = MatrixXd::Constant(n_, n_, 1.0 / double(n_));
    const MatrixXd gap = slope(y_) + centre - MatrixXd::Identity(n_, n_);  // 11'/n - W
    for (auto& block : blocks_) {
      block.S = block.sign * gap;
      block.S.diagonal().array() += y_[m_];
      if (!block.factor()) return false;
    }
    return true;
  }

  // sum_e v_e a_e a_e'
  MatrixXd slope(const VectorXd& v) const {
    MatrixXd sum = MatrixXd::Zero(n_, n_);
    Index e = 0;
    for (const auto& [i, j] : graph_.edges()) {
      sum(i, i) += v[e];
      sum(j, j) += v[e];
      sum(i, j) = sum(j, i) = -v[e];
      ++e;
    }
    return sum;
  }

  // <A_k, (plus, minus)> for all k.
  VectorXd constraints(const MatrixXd& plus, const MatrixXd& minus) const {
    VectorXd values(m_ + 1);
    const auto form = [](const MatrixXd& a, Index i, Index j) {
      return a(i, i) - a(i, j) - a(j, i) + a(j, j);
    };
    Index e = 0;
    for (const auto& [i, j] : graph_.edges()) values[e++] = form(plus, i, j) - form(minus, i, j);
    values[m_] = plus.trace() + minus.trace();
    return values;
  }

  // The lower triangle of <A_k, X A_l S^-1>.
  MatrixXd schur() const {
    MatrixXd matrix = MatrixXd::Zero(m_ + 1, m_ + 1);
    const auto& edges = graph_.edges();
    for (const auto& block : blocks_) {
      VectorXd x(n_), s(n_);
      for (Index e = 0; e < m_; ++e) {
        const auto [i, j] = edges[std::size_t(e)];
        x = block.X.col(i) - block.X.col(j);
        s = block.S_inverse.col(i) - block.S_inverse.col(j);
        for (Index f = e; f < m_; ++f) {
          const auto [k, l] = edges[std::size_t(f)];
          matrix(f, e) += (x[k] - x[l]) * (s[k] - s[l]);
        }
      }
    }
    matrix.row(m_) =
        constraints(blocks_[0].X * blocks_[0].S_inverse, blocks_[1].X * blocks_[1].S_inverse);
    return matrix;
  }

  // Sets dX and dS of both blocks to the direction for the target sigma mu; `second` holds the
  // corrector's terms dX_pred dS_pred S^-1.
  VectorXd direction(const System& system, double target, const std::array<MatrixXd, 2>& second) {
    VectorXd right = target * constraints(blocks_[0].S_inverse, blocks_[1].S_inverse) -
                     constraints(second[0], second[1]);
    right[m_] -= 1;
    const VectorXd dy = system.solve(right);
    const MatrixXd change = slope(dy);
    for (std::size_t b = 0; b < 2; ++b) {
      auto& block = blocks_[b];
      block.dS = block.sign * change;
      block.dS.diagonal().array() += dy[m_];
      block.dX = target * block.S_inverse - block.X - block.X * block.dS * block.S_inverse;
      block.dX -= second[b];
      symmetrise(block.dX);
    }
    return dy;
  }

  // Longest steps that keep X (and S) positive definite.
  double step_x() const { return step(&Block::X_factor, &Block::dX); }
  double step_s() const { return step(&Block::S_factor, &Block::dS); }
  double step(MatrixXd Block::*factor, MatrixXd Block::*direction) const {
    const auto length = [&](const Block& b) { return step_length(b.*factor, b.*direction); };
    return std::min(length(blocks_[0]), length(blocks_[1]));
  }

  // tr(X S) after steps of the given lengths, per dimension.
  double mu(double tx, double ts) const {
    double sum = 0;
    for (const auto& b : blocks_) sum += (b.X + tx * b.dX).cwiseProduct(b.S + ts * b.dS).sum();
    return sum / (2.0 * double(n_));
  }

  // One predictor-corrector step; false if rounding leaves no room for one. Near the optimum of a
  // graph whose best W is not unique the system may fail to factor; a relative ridge on its
  // diagonal then gives a direction that is inexact, which the bound accounts for.
  bool iterate(double largest_ridge) {
    for (double ridge = 0; ridge <= largest_ridge; ridge = std::max(100 * ridge, 1e-13)) {
      MatrixXd matrix = schur();
      matrix.diagonal() *= 1 + ridge;
      const System system(matrix);
      if (system.info() == Eigen::Success) return step(system);
    }
    return false;
  }

  bool step(const System& system) {
    const MatrixXd zero = MatrixXd::Zero(n_, n_);
    direction(system, 0.0, {zero, zero});
    const double now = mu(0, 0), then = mu(step_x(), step_s());
    const double left = std::clamp(then / now, 1e-3, 1.0), sigma = left * left;
    const auto second = [](const Block& b) -> MatrixXd { return b.dX * b.dS * b.S_inverse; };

    const VectorXd dy = direction(system, sigma * now, {second(blocks_[0]), second(blocks_[1])});
    const double tx = step_x(), ts = step_s();
    if (!dy.allFinite() || !(std::min(tx, ts) >= kSmallestStep)) return false;
    y_ += ts * dy;
    for (auto& block : blocks_) block.X += tx * block.dX;
    return true;
  }

  const Graph& graph_;
  Index n_, m_;
  VectorXd y_;  // w, then s
  std::array<Block, 2> blocks_;
};

}  // namespace

FdlaResult solve_fdla(const Graph& graph, double constant, double constant_rate) {
  fix_eigen_blocks();
  return Solver(graph, constant, constant_rate).solve();
}

}  // namespace porter

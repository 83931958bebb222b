"""With an l1 penalty the search also looks for fillings whose models have weights that are zero at the center."""

from __future__ import annotations

import numpy as np

from ipub.answers.attained import attained_bounds, first_order
from ipub.certificates import certify_tight
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows
from ipub.tables.interval_matrix import IntervalMatrix

ENTERING = np.array([True, False, False])


def problem_with_a_weight_at_the_threshold() -> Problem:
    """Return a problem whose first weight is zero at the center, and not for about half of the fillings."""
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(2000, 3)), 2000
    y, radii = X @ np.array([0.3, 1.0, 0.01]), np.zeros_like(X)
    radii.flat[rng.choice(X.size, 30, replace=False)] = 0.1
    penalty = ElasticNet(1.0, 0.0)
    for _ in range(50):  # the gradient at which the first weight enters depends on the weights, and these on kappa
        others = MemoryRows(IntervalMatrix.from_bounds(X[:, 1:], X[:, 1:]), y)
        rest = solve(Problem(others, LOSSES["squared_error"], penalty))
        penalty = ElasticNet(1.0, float(2.0 * abs(X[:, 0] @ (y - X[:, 1:] @ rest.w)) / n))
    rows = MemoryRows(IntervalMatrix.from_bounds(X - radii, X + radii), y)
    return Problem(rows, LOSSES["squared_error"], ElasticNet(1.0, 1.00001 * penalty.kappa))


def test_weights_that_nearly_enter_the_model_are_searched_for(monkeypatch):
    problem, x = problem_with_a_weight_at_the_threshold(), np.array([[0.3, 1.0, 1.0]])
    solution = solve(problem, tol=1e-10)
    assert solution.w[0] == 0.0
    assert (first_order.nearly_entering(problem, solution.w) == ENTERING).all()
    found = attained_bounds(problem, solution, x).bounds
    certified = certify_tight(problem, solution).score_bounds(x)
    assert np.ptp(found) > 0.8 * np.ptp(certified)
    assert found[0, 0] >= certified[0, 0]
    assert found[0, 1] <= certified[0, 1]
    monkeypatch.setattr(first_order, "NEARLY", 2.0)
    assert np.ptp(attained_bounds(problem, solution, x).bounds) < 0.97 * np.ptp(found)

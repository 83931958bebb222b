"""The gradient of the center at w, which tilts the objectives on the way from w."""

from __future__ import annotations

import numpy as np

from ipub.numeric.rounding import EPS, Array, dot_bounds, down, midpoint_and_radius, sum_upper, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution


def gradient_upper(problem: Problem, solution: Solution, X: Array, y: Array, weight: Array) -> Array:
    """Bound the size of the center's gradient at w.

    Where a weight is 0 the subgradient of an l1 penalty is the one that leaves the smallest sum.
    """
    w, penalty, n = solution.w, problem.penalty, len(X)
    low, high = problem.loss.derivative_range(y, *dot_bounds(X, w))
    middle, radius = midpoint_and_radius(low, high)
    size = np.abs(X).T @ (weight * (np.abs(middle) + radius))
    around = sum_upper(np.abs(X).T @ (weight * radius) + (n + 8) * EPS * size, n + 8)
    sums = X.T @ (weight * middle)
    lowest, highest = penalty.subgradient_range(w, down(sums - around), up(sums + around))
    return np.maximum(np.abs(lowest), np.abs(highest))

"""The gradient of the center at w, which tilts the objectives on the way from w, and whether these have a minimiser."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ipub.certificates.row_sums.graphs import LossGraph
from ipub.numeric.rounding import EPS, Array, dot_bounds, down, midpoint_and_radius, sum_upper, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows.ops import largest


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


def is_coercive(problem: Problem, labels: Iterable[LossGraph], weight: Array, gradient: Array) -> bool:
    """Whether objectives tilted by a gradient have a minimiser, whichever of two labels rows have (Theorem 12).

    Far out the derivative of the loss is at its ends: its mean there must outweigh the tilt.
    """
    if not problem.penalty.n_free:
        return True
    most, far = problem.rows.max_wrong_labels or len(weight), np.full(len(weight), 1e300)
    for side, end in ((1.0, 0), (-1.0, 1)):
        first, second = (side * weight * graph.range(side * far, side * far)[end] for graph in labels)
        lost = largest(np.maximum(first - second, 0.0), most).sum()
        if not first.sum() - lost > 2.0 * gradient[-1] + 1e-9 * (np.abs(first).sum() + lost):
            return False
    return True

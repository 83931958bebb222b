"""Near exact bounds for single rows (Theorem 7): certified monotonicity, cell by cell.

Where the score of a row provably rises (or falls) with an uncertain cell, whatever all other cells are, its highest
value is found with that cell at its upper (lower) end. So the cell is fixed there, the model is retrained, and the
same is done with the cells that are left: their box is smaller, so more of them can be decided. What remains in the
end is a value that a completion attains, and the width of a small certificate.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ipub.certificates.region import Certificate
from ipub.certificates.slope.bounds import SlopeBounds
from ipub.certificates.slope.cell_terms import IncompleteRows
from ipub.certificates.slope.linearize import Linearization, linearize
from ipub.certificates.slope.prove_moves import slope_bounds
from ipub.engine import Block, Rows, View
from ipub.engine.completions import PositionLayout
from ipub.linalg import EnclosedInverse, root_form_upper
from ipub.problem import Problem
from ipub.rounding import EPS, Array, dot_bounds, down, overflow_means_unbounded, sum_error, sum_upper, up
from ipub.solvers import Solution, solve

ROUNDS = 20
"""How often cells are fixed and the model retrained, at most."""

TOLERANCE = 1e-10
"""Relative duality gap to which models are retrained."""

FEWEST = 0.02
"""A round must fix at least this share of the cells that are left, or it is the last."""


def unsupported_reason(problem: Problem) -> str:
    """Say why a problem has no pointwise bounds; nothing if it has."""
    if not problem.loss.is_smooth:
        return f"The derivative of {problem.loss.name} jumps, so there are no pointwise bounds: 'tight' serves instead."
    if problem.rows.uncertain_labels:
        return "Labels are uncertain, so there are no pointwise bounds: 'tight' serves instead."
    if problem.rows.categories:
        return "A missing category has no trend, so there are no pointwise bounds: 'tight' serves instead."
    if problem.penalty.kappa > 0.0:
        return "With an l1 penalty there are no pointwise bounds: 'tight' serves instead."
    return ""


def narrowed_rows(rows: Rows, sides: NDArray[np.int8]) -> Rows:
    """Return the rows with some uncertain cells fixed at, or just inside, an end of their intervals.

    Parameters
    ----------
    rows : Rows
    sides : array of shape (n_uncertain,)
        -1 or 1 for a cell fixed at its lower or upper end, else 0; row by row.
    """
    return View(rows, _narrowed, PositionLayout.of(rows).per_block(sides))


def _narrowed(block: Block, sides_of_block: tuple[NDArray[np.int8], NDArray[np.int8]]) -> Block:
    i, j, R, sides = block.cell_rows, block.cell_columns, block.cell_radii, sides_of_block[0]
    center = block.center.copy()
    center[i, j] += sides * np.maximum(R - shortfall(center[i, j], R), 0.0)
    left = sides == 0
    return Block(center, i[left], j[left], R[left], block.y, block.weight)


def shortfall(center: Array, radius: Array) -> Array:
    """Return how far inside its interval a fixed cell stays, so that rounding does not take it out."""
    return 4.0 * EPS * (np.abs(center) + radius)


@dataclass(frozen=True)
class Stage:
    """A problem with its model, and what is known of the models of all completions."""

    problem: Problem
    solution: Solution
    bounds: SlopeBounds
    model: Linearization
    some: IncompleteRows
    inverse: EnclosedInverse
    row_spread: Array
    """Bounds of ``sqrt(x_i.E x_i)`` of the incomplete rows."""

    @classmethod
    def of(cls, problem: Problem, solution: Solution, bounds: SlopeBounds | None = None) -> Stage | None:
        """Enclose the models of all completions and their Hessians; None if that fails."""
        bounds = bounds or slope_bounds(problem, solution)[0]
        if bounds is None:
            return None
        model = linearize(problem, solution, bounds, everywhere=True)
        inverse = EnclosedInverse.between(model.hessian_lower(), model.hessian_upper())
        if inverse is None or model.some is None:
            return None
        return cls(
            problem, solution, bounds, model, model.some, inverse, root_form_upper(inverse.spread, model.some.center)
        )

    def trend(self, x: Array) -> tuple[Array, Array]:
        """Bound the fall of ``x.w''`` with each uncertain cell, over its row's weight (Theorem 7)."""
        model, some = self.model, self.some
        i, j, R, d = some.cell_rows, some.cell_columns, some.cell_radii, len(x)
        # u = H^-1 x, and its products with rows
        u = self.inverse.center @ x
        doubt = sum_error(np.abs(self.inverse.center) @ np.abs(x), d + 1)
        spread = root_form_upper(self.inverse.spread, x[None])[0]
        reach = up(up(up(np.sqrt(np.diag(self.inverse.spread))) * spread) + doubt)
        largest = up(np.abs(u) + reach)
        low, high = dot_bounds(some.center, u)
        around = up(sum_upper(np.abs(some.center) @ doubt, d + 1) + up(self.row_spread * spread))
        around = up(around + some.row_sums(R * largest[j]))
        # psi u_j + h (x''.u) w_j
        move = up(some.row_move + some.cell_move)
        slopes = self.problem.loss.derivative_range(some.y, down(some.lower - move), up(some.upper + move))
        first = _product(tuple(end[i] for end in slopes), (down(u - reach)[j], up(u + reach)[j]))
        weights = down(model.w - model.farthest)[j], up(model.w + model.farthest)[j]
        second = _product((some.least[i], some.most[i]), (down(low - around)[i], up(high + around)[i]))
        second = _product(second, weights)
        return down(first[0] + second[0]), up(first[1] + second[1])

    def narrowed(self, x: Array, side: float) -> tuple[Problem, float, float] | None:
        """Fix the cells whose trend is certain where ``side * x.w''`` is greatest.

        Returns the problem that is left, what rounding of the ends can hide, and the share of cells fixed.
        """
        some = self.some
        lowest, highest = self.trend(x)
        # NaN decides nothing.
        sides = np.where(lowest > 0.0, -side, np.where(highest < 0.0, side, 0.0)).astype(np.int8)
        if not sides.any():
            return None
        i, j = some.cell_rows, some.cell_columns
        size = np.maximum(np.abs(lowest), np.abs(highest)) * some.weight[i]
        hidden = np.where(sides != 0, size * shortfall(some.center[i, j], some.cell_radii), 0.0)
        return (
            replace(self.problem, rows=narrowed_rows(self.problem.rows, sides)),
            float(2.0 * sum_upper(hidden.sum(), len(hidden) + 8)),
            float(np.mean(sides != 0)),
        )


def pointwise_bounds(
    problem: Problem,
    solution: Solution,
    certificate: Certificate,
    X: Array,
    progress: Callable[[int, int], None] | None = None,
) -> Array:
    """Return (m, 2): near exact bounds of the score of each row, at the cost of some retrainings each.

    Parameters
    ----------
    problem : Problem
    solution : Solution
    certificate : Certificate
        One that holds already; bounds are never wider than its bounds.
    X : array of shape (m, n_features)
    progress : callable, optional
        Called with the number of rows done and their total.
    """
    bounds = certificate.score_bounds(X)
    first = None if unsupported_reason(problem) else Stage.of(problem, solution, certificate.slope)
    for k, x in enumerate(X):
        if first is not None and bounds[k, 0] < bounds[k, 1]:
            bounds[k, 0] = np.fmax(bounds[k, 0], -_highest(first, x, -1.0))
            bounds[k, 1] = np.fmin(bounds[k, 1], _highest(first, x, 1.0))
        if progress is not None:
            progress(k + 1, len(X))
    return bounds


@overflow_means_unbounded()
def _highest(stage: Stage, x: Array, side: float) -> float:
    """Bound ``side * x.w''`` from above."""
    hidden, best, last = 0.0, np.inf, stage
    for _ in range(ROUNDS):
        found = last.narrowed(x, side)
        if found is None:
            break
        problem, rounding, share = found
        hidden = float(up(hidden + rounding))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = solve(problem, tol=TOLERANCE, start=last.solution.w)
        bounds, _ = slope_bounds(problem, solution)
        if bounds is None:
            break
        low, high = bounds.ends(x[None])
        best = float(np.fmin(best, up((high[0] if side > 0.0 else -low[0]) + hidden)))
        following = Stage.of(problem, solution, bounds) if share >= FEWEST else None
        if following is None:
            break
        last = following
    return best


def _product(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, Array]:
    """Bound the products of numbers in two intervals."""
    products = [x * y for x in a for y in b]
    return down(np.minimum.reduce(products)), up(np.maximum.reduce(products))

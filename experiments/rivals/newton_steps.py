"""Interval Newton: a box that holds the model of every completion, by interval arithmetic alone.

The method that the paper compares with, in the strongest form we found; theorem and proof are in sec-interval-newton.
Variants tried, as median length of the score intervals on 27,000 x 28 credit card clients (logistic loss, a = 0.5, b =
0.01, lambda = 0.1 and 1), and mean length on the ridge problem of 402 x 11 (lambda = 0.01, 0.1 and 1):

===========================================================  ===============  ======================
variant                                                      credit cards     ridge
===========================================================  ===============  ======================
from the box without training                                18.5    0.0196   none     5.0    0.108
from an inflated guess (``coordinates="columns"``)           0.47    0.0196   none     5.0    0.108
the same, preconditioned row by row, before summing          0.18    0.0175   none     0.74   0.070
in coordinates that whiten the Hessian (the default)         0.12    0.0156   0.82     0.18   0.032
===========================================================  ===============  ======================

All of them take slopes instead of derivatives, cells jointly wherever they occur twice in a term, the inverse of the
middle Hessian as preconditioner, and Hansen-Bliek-Rohn, which is never wider than Krawczyk or Gauss-Seidel here.
Whitening by the symmetric root of the inverse Hessian is about as good as by either Cholesky factor and better than
by eigenvectors. Preconditioners that are optimal for each coordinate (Kearfott's, by linear programs) gained nothing
more on the ridge problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from experiments.rivals.interval_sums import IntervalSums, mean_slope
from experiments.rivals.interval_systems import Ends, IntervalSystem, both, preconditioned
from ipub.certificates import Certificate, Region, certify_origin
from ipub.errors import IpubError
from ipub.numeric.rounding import (
    EPS,
    TINY,
    Array,
    check_arithmetic,
    dot_bounds,
    down,
    midpoint_and_radius,
    overflow_means_unbounded,
    sum_error,
    sum_upper,
    up,
)
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution, solve
from ipub.rows import Block

INFLATION = 1.1
"""Factor by which a box is enlarged before it is tried again: a larger one is proved sooner and is wider."""
SHRINKS = 0.99
"""A step after which every side of the box is longer than this fraction of before is the last."""
MOST_CUTS = 20
"""Passes, at most, that cut the box from the norm of the weights."""
LARGE = 1e30
"""If a cell, a target, a weight or the basis is larger, no step is made (fp-interval-newton)."""

Coordinates = Literal["whitened", "columns"]


@dataclass(frozen=True)
class ParameterBox:
    """A set that holds the model of every completion: a box, and a parallelepiped inside which it lies as well.

    Attributes
    ----------
    lower, upper : arrays of shape (n_features,)
        For every completion of the training table its exact minimiser w has ``lower <= w <= upper``.
    n_iter : int
        Newton steps, each a pass over the rows.
    note : str
        Why it stopped, and what the box is made of.
    norm_limit : float
        Also, ``|w| <= norm_limit``.
    center, basis, moves : array, array of shape (n_features, n_features), pair of arrays
        Also, ``w = center + basis @ u`` with u between the two `moves`; they are infinite where no step succeeded.
    """

    lower: Array
    upper: Array
    n_iter: int
    note: str
    norm_limit: float
    center: Array
    basis: Array
    moves: Ends

    @overflow_means_unbounded()
    def score_bounds(self, X: Array) -> Array:
        """Return (m, 2): the lowest and highest score that any completion's model may give each row, rounded outward.

        Parameters
        ----------
        X : array of shape (m, n_features)
        """
        X = np.asarray(X, dtype=float)
        middle, radius = midpoint_and_radius(self.lower, self.upper)
        zero = np.zeros_like(middle)
        regions = Region("box", middle, radius, 0.0), Region("origin", zero, zero, self.norm_limit)
        bounds = Certificate("interval Newton", regions, np.nan).score_bounds(X)
        return np.column_stack(both((bounds[:, 0], bounds[:, 1]), _images(X, self.center, self.basis, self.moves)))


@overflow_means_unbounded()
def interval_newton(
    problem: Problem,
    solution: Solution | None = None,
    *,
    max_iter: int = 30,
    coordinates: Coordinates = "whitened",
) -> ParameterBox:
    """Enclose the model of every completion by interval Newton steps.

    For a smooth loss and the L2 penalty, without an intercept. A step encloses the moves from w' to the models in a
    box by an interval linear system, the interval Hessian times the move equals the interval gradient at w'; if it
    maps the box into its interior, the box holds all models (thm-interval-newton). Where no guess does so, since the
    preconditioned Hessian is no H-matrix, the box without training (thm-origin) is returned, and `note` says so.

    Parameters
    ----------
    problem : Problem
    solution : Solution, optional
        The model trained at the center; trained here if left out. Any model is valid.
    max_iter : int
        Greatest number of Newton steps.
    coordinates : "whitened" or "columns"
        The coordinates of the box: those in which the Hessian at the center is the identity, or, as in the textbook,
        the weights of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from ipub import IntervalMatrix
    >>> from ipub.rows import MemoryRows
    >>> from ipub.losses import LOSSES
    >>> from ipub.losses.penalties import ElasticNet
    >>> matrix = IntervalMatrix.from_bounds([[1.0], [2.0]], [[1.0], [2.5]])
    >>> problem = Problem(MemoryRows(matrix, np.array([1.0, 2.0])), LOSSES["squared_error"], ElasticNet(0.1))
    >>> box = interval_newton(problem)
    >>> box.score_bounds(np.array([[1.0]])).round(2)  # trained with 2 the weight is 0.98, with 2.5 it is 0.82
    array([[0.78, 0.98]])
    """
    check_arithmetic()
    _check_supported(problem)
    solution = solve(problem) if solution is None else solution
    w, norm_limit = solution.w, certify_origin(problem, solution).parts_of(Region)[0].radius
    untrained = _cut_to_consistent(problem, (np.full_like(w, -norm_limit), np.full_like(w, norm_limit)))
    basis = _basis(problem, w, coordinates)
    everywhere = np.full_like(w, -np.inf), np.full_like(w, np.inf)
    largest = problem.rows.reduce(_sizes)[0] + np.abs(w).max() + np.abs(basis).max()
    if not largest < LARGE:
        note = "Some numbers are too large for a step: this is the box without training."
        return ParameterBox(*untrained, 0, note, norm_limit, w, basis, everywhere)
    moves, n_iter, note = _moves(problem, w, basis, max_iter)
    if moves is None:
        return ParameterBox(
            *untrained, n_iter, f"{note} This is the box without training.", norm_limit, w, basis, everywhere
        )
    box = both(untrained, _images(np.eye(len(w)), w, basis, moves))
    return ParameterBox(*box, n_iter, note, norm_limit, w, basis, moves)


def _check_supported(problem: Problem) -> None:
    if problem.rows.uncertain_labels:
        raise IpubError("Interval Newton is for certain labels.")
    if problem.rows.categories:
        raise IpubError("Interval Newton is for intervals of numbers, and categories are missing in this table.")
    if problem.penalty.n_free:
        raise IpubError("Interval Newton is for models without an intercept (fit_intercept=False).")
    if problem.penalty.kappa > 0.0:
        raise IpubError("Interval Newton needs a gradient everywhere: use the L2 penalty alone (l1_ratio=0).")
    if not problem.loss.is_smooth:
        raise IpubError(f"Interval Newton needs a derivative everywhere: {problem.loss.name} has none at its kink.")


def _basis(problem: Problem, w: Array, coordinates: Coordinates) -> Array:
    """Return the coordinates' axes: floats by definition."""
    identity = np.eye(len(w))
    if coordinates == "columns":
        return identity
    if coordinates != "whitened":
        raise IpubError(f"coordinates={coordinates!r} is not known: use 'whitened' or 'columns'.")
    hessian = problem.evaluate(w, problem.loss).hessian + problem.penalty.lam * identity
    if not np.isfinite(hessian).all():
        return identity
    values, vectors = np.linalg.eigh(hessian)
    return np.asarray((vectors / np.sqrt(np.maximum(values, problem.penalty.lam))) @ vectors.T)


def _cut_to_consistent(problem: Problem, box: Ends) -> Ends:
    """Cut a box by ``w_j = -(gradient of the mean loss)_j / lam`` until it stops shrinking (hull consistency)."""
    lam = problem.penalty.lam
    for _ in range(MOST_CUTS):
        low, high = mean_slope(problem, *midpoint_and_radius(*box))
        smaller = both(box, (-up(high / lam), -down(low / lam)))
        box, settled = smaller, not _shrinks(box, smaller)
        if settled:
            break
    return box


def _moves(problem: Problem, w: Array, basis: Array, max_iter: int) -> tuple[Ends | None, int, str]:
    """Enclose the u of all models ``w + basis @ u``: guess a box, prove it, shrink it. Also return steps and a note."""
    limits, moves = np.zeros_like(w), None
    for n_iter in range(1, max_iter + 1):
        sums = IntervalSums.over(problem, w, basis, limits)
        if moves is None:
            system = _system(problem, w, basis, sums, tilted=True)
            hull = system.hansen_bliek_rohn()
            if hull is None:
                return None, n_iter, "The preconditioned Hessian is no H-matrix."
            low, high = both(hull, system.gauss_seidel(-limits, limits))
            if not ((-limits < low) & (high < limits)).all():
                limits = INFLATION * np.maximum(np.abs(hull[0]), np.abs(hull[1])) + TINY
                continue
            moves = -limits, limits
        system = _system(problem, w, basis, sums)
        hull = system.hansen_bliek_rohn()
        smaller = system.cut(*(moves if hull is None else both(moves, hull)))
        moves, settled = smaller, not _shrinks(moves, smaller)
        if settled:
            return moves, n_iter, "The box stopped shrinking."
        limits = np.maximum(np.abs(moves[0]), np.abs(moves[1]))
    if moves is None:
        return None, max_iter, f"No box was mapped into itself within {max_iter} steps."
    return moves, max_iter, f"The box may still shrink after {max_iter} steps."


def _shrinks(box: Ends, smaller: Ends) -> bool:
    return bool((smaller[1] - smaller[0] < SHRINKS * (box[1] - box[0])).any())


def _system(problem: Problem, w: Array, basis: Array, sums: IntervalSums, *, tilted: bool = False) -> IntervalSystem:
    """Return the preconditioned system of the moves; tilted, that of every problem on the way to a completion."""
    lam, d, size = problem.penalty.lam, len(w), np.abs(basis)
    matrix = lam * (basis.T @ basis) + sums.matrix
    rounding = up(sum_error(lam * (size.T @ size), d + 3) + up(EPS * np.abs(matrix)))
    matrix_radius = up(sums.matrix_radius + rounding)
    center = lam * (basis.T @ w) + sums.center
    rounding = up(sum_error(lam * (size.T @ np.abs(w)), d + 3) + up(EPS * np.abs(center)))
    center_radius = up(sums.center_radius + rounding)
    gradient = center + sums.shift
    radius = up(up(center_radius + sums.shift_radius) + up(EPS * np.abs(gradient)))
    if tilted:
        radius = up(radius + up(np.abs(center) + center_radius))
    return preconditioned(matrix, matrix_radius, -gradient, radius)


def _images(X: Array, center: Array, basis: Array, moves: Ends) -> Ends:
    """Bound ``x.(center + basis @ u)`` for each row x and all u between the two moves."""
    d = len(center)
    middle, radius = midpoint_and_radius(*moves)
    low, high = dot_bounds(X, center)
    image, doubt = X @ basis, sum_error(np.abs(X) @ np.abs(basis), d + 1)
    first, last = dot_bounds(image, middle)
    slack = up(sum_upper(np.abs(image) @ radius, d + 1) + sum_upper(doubt @ up(np.abs(middle) + radius), d + 1))
    return down(down(low + first) - slack), up(up(high + last) + slack)


def _sizes(block: Block) -> tuple[Any, ...]:
    return (np.abs(block.center).sum() + block.cell_radii.sum() + np.abs(block.y).sum(),)

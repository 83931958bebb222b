"""The half-ball (thm-half-ball): the coupled duality gap, with a dual point that may follow the completion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.intercept import bracket_of, distance_from, narrow_bracket, with_bracket
from ipub.certificates.origin import certify_origin
from ipub.certificates.scores import score_ranges
from ipub.certificates.wrong_labels import GradientMoves, gradient_moves
from ipub.losses import Loss
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.region import Region
from ipub.numeric.rounding import (
    Array,
    down,
    midpoint_and_radius,
    norm_upper,
    overflow_means_unbounded,
    sum_error,
    sum_upper,
    up,
)
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.promises import Uncertainty, WrongLabels
from ipub.rows import Block, Reads, reads

PRICES = (*(3.0**-k for k in range(-1, 8)), np.inf)
"""Prices tried for ADAPT against KEEP, as multiples of abs(w'); at an infinite price every row keeps. Each
costs a column in the sums of one pass."""

NEGLIGIBLE_CHANGE = 1e-8
"""A row whose derivative differs from its dual coordinate by no larger a fraction adapts: it protects from rounding,
which a row that keeps its coordinate pays under a root. 0 changed bounds by less than 1e-9."""


@overflow_means_unbounded()
def certify_ball(
    problem: Problem, solution: Solution, start: Certificate | None = None, *, narrows: bool = True
) -> Certificate:
    """Certify ``|v + g / (2 lambda)|^2 <= |g|^2 / (4 lambda^2) + eps / lambda`` for v = w'' - w'.

    Each row either keeps the dual coordinate of the center and pays its Fenchel-Young residual in eps, or
    adapts it to the completion and pays the change of the derivative in g (thm-half-ball).
    Any choice is valid. A row adapts where its residual exceeds a price times the norm of that change; the
    best price is the radius itself (rem-adapt-or-keep), so several are tried, and all that they give is used. One pass.
    Where there is an intercept, it must be bounded first, by the certificate `start` or by `origin`; the
    ball then narrows the bracket of the intercept, and the bracket the ball, unless `narrows` is False.
    """
    if problem.penalty.n_free == 0:
        return Certificate("ball", tuple(_finite_regions(_regions(problem, solution, 0.0))), solution.gap)
    start = certify_origin(problem, solution) if start is None else start
    bracket = bracket_of(start)
    regions: list[Region] = []
    # Ball and bracket narrow each other twice: the second time to the bracket's final precision.
    for in_one_pass in (True, False) if narrows else (None,):
        regions = _finite_regions(_regions(problem, solution, distance_from(solution, bracket)))
        if in_one_pass is not None:
            # One of all these is enough to bound the scores of the training rows.
            smallest = min(regions, key=lambda region: region.radius + float(np.linalg.norm(region.box[:-1])))
            bracket = narrow_bracket(
                problem, solution, [smallest, *start.parts_of(Region)], bracket, in_one_pass=in_one_pass
            )
    return Certificate("ball", with_bracket(bracket, *regions), solution.gap)


def _regions(problem: Problem, solution: Solution, intercept_distance: float) -> list[Region]:
    """Return two regions for each price; an intercept may be as far as `intercept_distance` from the trained one."""
    rows, penalty, w = problem.rows, problem.penalty, solution.w
    size = float(np.linalg.norm(w[: len(w) - penalty.n_free]))
    prices = np.array([price * size if price < np.inf else price for price in PRICES])
    what_varies = problem.uncertainty, problem.wrong_labels
    sums = rows.reduce(_ball_sums, problem.loss, solution, penalty.n_free, prices, intercept_distance, *what_varies)
    total, roundings = rows.total_weight, rows.depth + 5
    gradient, error = sums.gradient / total, sum_error(sums.magnitude / total, roundings)
    cell_box, row_box = sum_upper(sums.cell_box / total, roundings), sum_upper(sums.row_box / total, roundings)
    eps, row_norm = sum_upper(sums.eps / total, roundings), sum_upper(sums.row_norm / total, roundings)
    wrong = sums.wrong_labels
    cell_box, row_box = wrong.cells.added_to(cell_box, total), wrong.coordinates.added_to(row_box, total)
    row_norm = wrong.norms.added_to(row_norm, total)
    cells = up(cell_box + error)
    everything = up(cells + row_box)
    # The change of the rows as a box, or as a ball: both are valid.
    as_box = _half_balls(problem, w, gradient, everything, np.zeros(len(prices)))
    as_ball = _half_balls(problem, w, gradient, cells, row_norm)
    imbalance = up(np.abs(gradient) + everything)[:, penalty.is_free(len(w))]
    eps = up(eps + up(imbalance * intercept_distance).sum(axis=1))
    roots = _roots(np.minimum(as_box.norms, as_ball.norms), eps, penalty.lam)
    both = [(each.centers, each.boxes, up(roots + each.extra).tolist()) for each in (as_box, as_ball)]
    return [
        Region("ball", centers[k], boxes[k], radii[k], n_rows=int(sums.n_adapting[k]))
        for k in range(len(prices))
        for centers, boxes, radii in both
    ]


class _HalfBalls(NamedTuple):
    """Where ``w - g / (2 lambda)`` is, for each of several sets of g."""

    centers: Array
    boxes: Array
    norms: Array
    """Bounds of ``|g|``."""
    extra: Array
    """The radius that the ball adds."""


def _half_balls(problem: Problem, w: Array, gradients: Array, boxes: Array, balls: Array) -> _HalfBalls:
    """Place ``w - g / (2 lambda)`` for all g in gradient ± box plus a ball, penalty included; a row for each set.

    Adding a vector to the gradient moves g by at most its norm, since soft-thresholding is non-expansive.
    """
    lam = problem.penalty.lam
    low, high = problem.penalty.subgradient_range(w, down(gradients - boxes), up(gradients + boxes))
    # A free coordinate is bounded elsewhere.
    low, high = np.where(problem.penalty.is_free(len(w)), 0.0, (low, high))
    norms = up(norm_upper(np.maximum(np.abs(low), np.abs(high))) + balls)
    start, stop = down(w - up(high / (2.0 * lam))), up(w - down(low / (2.0 * lam)))
    return _HalfBalls(*midpoint_and_radius(start, stop), norms, up(balls / (2.0 * lam)))


def _roots(norms: Array, eps: Array, lam: float) -> Array:
    half = up(norms / (2.0 * lam))
    return up(np.sqrt(up(up(half * half) + up(eps / lam))))


def _finite_regions(regions: list[Region]) -> list[Region]:
    """Drop regions that are not finite; if none is finite, return the first."""
    finite = [r for r in regions if np.isfinite(r.radius) and np.isfinite(r.box).all() and np.isfinite(r.center).all()]
    return finite or regions[:1]


class _BallSums(NamedTuple):
    """One value, or one row, for each price."""

    eps: Array
    """Residuals of the rows that keep their dual coordinate."""
    gradient: Array
    magnitude: Array
    """Absolute values of its terms, to which rounding is relative."""
    cell_box: Array
    """How far uncertain cells can move the gradient, by column."""
    row_box: Array
    row_norm: Array
    """How far the derivatives of rows that adapt can move it: by column, and in norm."""
    wrong_labels: GradientMoves
    n_adapting: Array
    """How many rows adapt and matter."""


@reads(Reads.NORMS)
def _ball_sums(
    block: Block,
    loss: Loss,
    solution: Solution,
    n_free: int,
    prices: Array,
    intercept_distance: float,
    uncertainty: Uncertainty,
    wrong: WrongLabels,
) -> _BallSums:
    at = score_ranges(block, solution.w, uncertainty)
    y, a, weight = block.y, solution.dual_point(block, at.score), block.weight
    residual = np.maximum(loss.residual_upper(y, at.lower, a), loss.residual_upper(y, at.upper, a))
    low, high = loss.derivative_range(y, at.lower, at.upper)
    label_change = uncertainty.derivative_change(block, loss, at.lower, at.upper)
    low, high = (
        np.where(label_change > 0.0, down(low - label_change), low),
        np.where(label_change > 0.0, up(high + label_change), high),
    )
    middle, spread = midpoint_and_radius(low, high)
    norms = norm_upper(block.center[:, : len(solution.w) - n_free])
    change = np.maximum(np.abs(low + a), np.abs(high + a))
    # A change of the derivative tilts the intercept as well, which pays its distance in eps (thm-intercept).
    gain = residual - change * intercept_distance if n_free else residual
    negligible = ((change <= NEGLIGIBLE_CHANGE * np.abs(a)) & (gain >= 0.0))[:, None]
    adapts = (label_change > 0.0)[:, None] | negligible | (gain[:, None] > prices * (change * norms)[:, None])
    slope = np.where(adapts, middle[:, None], -a[:, None])
    loose = np.where(adapts, spread[:, None], 0.0)
    paid = np.where(adapts, 0.0, residual[:, None])
    slope_w, loose_w = weight[:, None] * slope, weight[:, None] * loose
    size = np.abs(block.center)
    size_of_slope = np.abs(slope_w) + loose_w
    # A row with a wrong label adapts, whatever it does otherwise.
    nominal = np.minimum(low, -a), np.maximum(high, -a)
    return _BallSums(
        weight @ paid,
        slope_w.T @ block.center,
        np.abs(slope_w).T @ size,
        np.array([uncertainty.column_change(block, size_of_slope[:, k]) for k in range(len(prices))]),
        loose_w.T @ size,
        norms @ loose_w,
        gradient_moves(block, loss, at, nominal, n_free, wrong),
        # Center and box are sums over these rows alone: the others leave g near zero.
        (adapts & ~negligible & (weight > 0.0)[:, None]).sum(axis=0),
    )

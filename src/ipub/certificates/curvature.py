"""Theorem 4 put to work: what the mean-value certificate needs, from two passes over the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipub.certificates.ball import ball
from ipub.certificates.enclosed_inverse import EnclosedInverse
from ipub.certificates.margins import Margins, margins
from ipub.certificates.mean_value import IncompleteRows, MeanValue, box_form
from ipub.certificates.region import Certificate
from ipub.data.blocks import Block, Sums
from ipub.data.intervals import midpoint_and_radius
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import EPS, UNDERFLOW, Array, down, overflow_passes, sum_error, sum_upper, up
from ipub.solvers import Solution

MOST_CELLS = 100_000
"""With more uncertain cells than this the half-ball serves alone: each bound would look at every cell."""

MOST_NUMBERS = 1 << 25
"""Nor may the rows with uncertain cells, which are kept, hold more numbers than this (256 MiB)."""


def curvature(problem: Problem, solution: Solution, known: Certificate | None = None) -> Certificate:
    """Certify by the mean-value theorem (``docs/theory.md``, Theorem 4), inside what the half-ball leaves.

    For smooth losses and the L2 penalty; elsewhere, and where the Hessian cannot be enclosed or there are too
    many uncertain cells, the half-ball alone is returned. Two passes of O(n d^2); then, for k rows with holes,
    O(k d + M + d^2) a test row.
    """
    start = ball(problem, solution, known)
    return Certificate("curvature", start.regions, start.gap, _mean_value(problem, solution, start))


@overflow_passes()
def _mean_value(problem: Problem, solution: Solution, start: Certificate) -> MeanValue | None:
    if not problem.loss.is_smooth or problem.penalty.kappa > 0.0:
        return None
    rows, w = problem.rows, solution.w
    d, total = len(w), rows.total_weight
    lam = problem.penalty.lam_vector(d)
    # One region is enough to bound the scores of the training rows.
    smallest = min(start.regions, key=lambda region: region.radius + float(np.linalg.norm(region.box)))
    inside = Certificate("start", (smallest,), start.gap)
    largest_w = np.abs(start.score_bounds(np.eye(d))).max(axis=1)
    known = problem.loss, solution, inside, largest_w
    (n_cells,) = rows.reduce(_count_cells)
    if n_cells > MOST_CELLS or n_cells * d > MOST_NUMBERS:
        return None
    some = IncompleteRows(*rows.collect(_incomplete_rows, *known))
    some = replace(some, weight=some.weight / total)
    sums = (part / total for part in rows.reduce(_complete_sums, *known))
    gram_low, gram_high, square, gradient, magnitude, loose = sums
    roundings = rows.depth + len(some.y) + 2 * d + 20
    lower, upper = _hessian_bounds(gram_low, gram_high, square, some, lam, roundings)
    inverse = EnclosedInverse.between(lower, upper)
    if inverse is None:
        return None
    # --- the gradient ------------------------------------------------------------------------------
    complete = gradient + lam * w
    error = sum_error(magnitude + np.abs(lam * w), roundings)
    error = up(error + sum_upper(loose, roundings))
    middle, half = midpoint_and_radius(some.slope_lower, some.slope_upper)
    size, m = np.abs(some.center), some.weight
    whole = complete + (m * middle) @ some.center
    box = some.column_sums(((np.abs(middle) + half) * m)[some.cell_rows] * some.cell_radii) + (m * half) @ size
    rounding = sum_error((m * np.abs(middle)) @ size + magnitude + np.abs(lam * w), roundings)
    box = up(up(sum_upper(box, roundings) + error) + rounding)
    spread = inverse.spread_upper(whole[None, :])[0] + up(np.sqrt(box_form(inverse.spread, box)))
    reach = up(np.abs(whole) + box)
    result = MeanValue(w, problem.loss, inverse, complete, error, reach, float(up(spread)), some)
    return result if np.isfinite(reach).all() and np.isfinite(spread) else None


def _hessian_bounds(
    gram_low: Array, gram_high: Array, square: Array, some: IncompleteRows, lam: Array, roundings: int
) -> tuple[Array, Array]:
    """Return L and U between which the mean Hessian of every completion lies (Lemma 4)."""
    center, m, least, most = some.center, some.weight, some.hessian_lower, some.hessian_upper
    d = center.shape[1]
    price = _prices(gram_high, lam, some)
    share = sum_upper(some.row_sums(some.cell_radii * price[some.cell_columns]), d + 1)
    kept = least > 2.0 * most * share
    row_low = np.where(kept, down(least - up(most * share)), 0.0)
    row_high = up(most * up(1.0 + share))
    per_cell = (m * most)[some.cell_rows] * some.cell_radii / price[some.cell_columns]
    lost = sum_upper(some.column_sums(np.where(kept[some.cell_rows], per_cell, 0.0)), roundings)
    added = sum_upper(some.column_sums(per_cell * (1.0 + share[some.cell_rows])), roundings)
    lower = gram_low + (center * (m * row_low)[:, None]).T @ center
    upper = gram_high + (center * (m * row_high)[:, None]).T @ center
    # Rounding of every entry, as a diagonal (F7).
    square = square + (m * row_high) @ center**2
    slack = up(up((roundings * EPS * d) * (square + lam + added)) + UNDERFLOW)
    lower = 0.5 * (lower + lower.T) + np.diag(lam - lost - slack)
    upper = 0.5 * (upper + upper.T) + np.diag(lam + added + slack)
    return lower, upper


def _prices(gram: Array, lam: Array, some: IncompleteRows) -> Array:
    """Choose for each column how a cross term is shared between row and cell; any positive numbers are valid.

    The best share balances both in the metric of the Hessian: the square root of (H^-1)_jj over the mean leverage
    of the rows with a hole in the column.
    """
    center, m = some.center, some.weight
    hessian = gram + (center * (m * some.hessian_upper)[:, None]).T @ center + np.diag(lam)
    try:
        inverse = np.linalg.pinv(hessian, hermitian=True)
    except np.linalg.LinAlgError:
        return np.ones(len(hessian))
    leverage = np.einsum("ij,ij->i", center @ inverse, center)
    cells = m[some.cell_rows] * some.cell_radii
    weighted, plain = some.column_sums(cells * leverage[some.cell_rows]), some.column_sums(cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        price = np.sqrt(np.diag(inverse) * plain / weighted)
    return np.clip(np.where(np.isfinite(price), price, 1.0), 1e-140, 1e140)


def _count_cells(block: Block) -> Sums:
    return (len(block.cell_radii),)


def _curvatures(
    block: Block, loss: Loss, solution: Solution, inside: Certificate, largest_w: Array
) -> tuple[Margins, Array, Array]:
    at = margins(block, solution)
    bounds = inside.score_bounds(block.center)
    move = sum_upper(block.row_spread(largest_w), block.center.shape[1] + 1)
    move = np.where(at.incomplete, move, 0.0)
    lower = np.minimum(at.lower, down(bounds[:, 0] - move))
    upper = np.maximum(at.upper, up(bounds[:, 1] + move))
    return at, *loss.curvature_range(block.y, lower, upper)


def _complete_sums(block: Block, loss: Loss, solution: Solution, inside: Certificate, largest_w: Array) -> Sums:
    at, least, most = _curvatures(block, loss, solution, inside, largest_w)
    some = np.flatnonzero(~at.incomplete)
    X, weight = block.center[some], block.weight[some]
    low, high = loss.derivative_range(block.y[some], at.score_lower[some], at.score_upper[some])
    middle, half = midpoint_and_radius(low, high)
    size = np.abs(X)
    return (
        (X * (weight * least[some])[:, None]).T @ X,
        (X * (weight * most[some])[:, None]).T @ X,
        (weight * most[some]) @ X**2,
        (weight * middle) @ X,
        (weight * np.abs(middle)) @ size,
        (weight * half) @ size,
    )


def _incomplete_rows(block: Block, loss: Loss, solution: Solution, inside: Certificate, largest_w: Array) -> Sums:
    at, least, most = _curvatures(block, loss, solution, inside, largest_w)
    some = np.flatnonzero(at.incomplete)
    y = block.y[some]
    counts = np.bincount(block.cell_rows, minlength=len(block.y))[some]
    order = np.argsort(block.cell_rows, kind="stable")
    return (
        block.center[some],
        y,
        block.weight[some],
        at.score_lower[some],
        at.score_upper[some],
        *loss.derivative_range(y, at.lower[some], at.upper[some]),
        *loss.curvature_range(y, at.lower[some], at.upper[some]),
        least[some],
        most[some],
        counts,
        block.cell_columns[order],
        block.cell_radii[order],
    )

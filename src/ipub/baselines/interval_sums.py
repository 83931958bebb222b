"""The gradient and the Hessian of all completions as intervals: the sums over the rows that a Newton step needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ipub.engine import Block
from ipub.engine.ops import adding_matrix
from ipub.engine.rows import Sums
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import EPS, Array, dot_bounds, down, midpoint_and_radius, sum_error, sum_upper, up
from ipub.uncertainty import AnyFilling

ROUNDINGS = 100
"""Roundings of one term, and of what follows its sum, beside the height of the sum (F13)."""
ANY_FILLING = AnyFilling()
"""Interval Newton knows no other uncertainty."""
AT_ONCE = 1 << 18
"""Numbers in one temporary array of matrices, one a cell."""


@dataclass(frozen=True)
class IntervalSums:
    """Gradient and Hessian of the mean loss, in the coordinates u of ``w + basis @ u``, as middles and radii.

    For every completion and every model within the box that they were summed for, entry by entry: the slopes of
    the gradient from w to that model lie in ``matrix ± matrix_radius``, and the gradient at w in
    ``center ± center_radius`` for the table at its center, in ``center + shift ± (center_radius + shift_radius)``
    for any other (``docs/theory.md``, section 12).
    """

    matrix: Array
    matrix_radius: Array
    center: Array
    center_radius: Array
    shift: Array
    shift_radius: Array

    @classmethod
    def over(cls, problem: Problem, w: Array, basis: Array, reach: Array) -> IntervalSums:
        """Sum over the rows, for the models ``w + basis @ u`` with ``|u| <= reach`` in every coordinate."""
        rows, d = problem.rows, len(w)
        at_once = _cells_at_once(d)
        roundings = rows.depth + d + at_once + rows.depth * d // at_once + ROUNDINGS
        sums = rows.reduce(_newton_sums, problem.loss, w, basis, reach, roundings * EPS)
        means = [total / rows.total_weight for total in sums]
        means[1::2] = [sum_upper(radius, roundings) for radius in means[1::2]]
        return cls(*means)


def mean_slope(problem: Problem, center: Array, reach: Array) -> tuple[Array, Array]:
    """Bound the gradient of the mean loss over all completions and all w within `reach` of the center."""
    rows = problem.rows
    roundings = rows.depth + ROUNDINGS
    middle, radius = rows.reduce(_slope_sums, problem.loss, center, reach, roundings * EPS)
    middle, radius = middle / rows.total_weight, sum_upper(radius / rows.total_weight, roundings)
    return down(middle - radius), up(middle + radius)


def _slope_sums(block: Block, loss: Loss, center: Array, reach: Array, relative: float) -> Sums:
    low, high = dot_bounds(block.center, center)
    spread = sum_upper(ANY_FILLING.score_change(block, up(np.abs(center) + reach)), len(center) + 1)
    spread = up(spread + sum_upper(np.abs(block.center) @ reach, len(center) + 1))
    slope, radius = midpoint_and_radius(*loss.derivative_range(block.y, down(low - spread), up(high + spread)))
    doubt = np.abs(block.center).T @ (block.weight * (radius + relative * np.abs(slope)))
    return block.center.T @ (block.weight * slope), doubt + ANY_FILLING.column_change(
        block, block.weight * (np.abs(slope) + radius)
    )


def _newton_sums(block: Block, loss: Loss, w: Array, basis: Array, reach: Array, relative: float) -> Sums:
    """Sum ``h z'' z''^T`` and ``psi z''`` with ``z'' = basis^T x''``: middles, and radii for all completions.

    `relative` is the relative error of a sum of middles: the radii pay for it, term by term.
    """
    y, weight, d = block.y, block.weight, len(w)
    i, k, radius = block.cell_rows, block.cell_columns, block.cell_radii[:, None]
    image, doubt = block.center @ basis, sum_error(np.abs(block.center) @ np.abs(basis), d + 1)
    size = up(np.abs(image) + doubt)
    # What a cell adds to the image is factor * t, with |t| <= its radius; a row's cells add at most drift.
    factor = basis[k]
    push = np.abs(factor) * radius
    by_row = adding_matrix(i, len(y))
    drift = by_row @ push

    low, high = dot_bounds(block.center, w)
    spread = sum_upper(ANY_FILLING.score_change(block, w), d + 1)
    move = sum_upper((size + drift) @ reach, 2 * d + 4)
    slope, slope_radius = midpoint_and_radius(*loss.derivative_range(y, low, high))
    curvature, curvature_radius = midpoint_and_radius(
        *loss.secant_range(y, down(low - spread), up(high + spread), move)
    )
    steepest, loose = weight * up(curvature + curvature_radius), weight * (curvature_radius + relative * curvature)

    matrix = (image * (weight * curvature)[:, None]).T @ image
    uneven = (doubt * steepest[:, None]).T @ size
    matrix_radius = (size * loose[:, None]).T @ size + uneven + uneven.T
    center = image.T @ (weight * slope)
    center_radius = size.T @ (weight * (slope_radius + relative * np.abs(slope)))
    center_radius = center_radius + doubt.T @ (weight * np.abs(slope))

    # Cell by cell: (z_j + f_j t)(z_k + f_k t), and the products of different cells of a row.
    others = np.maximum(drift[i] - push, 0.0) + (d + 4) * EPS * drift[i]
    error = doubt + 4.0 * EPS * size
    for some in _cells(len(k), d):
        at = i[some]
        product = image[at, :, None] * factor[some, None, :]
        linear = np.abs(product + product.transpose(0, 2, 1)) * radius[some, None]
        push_by = factor[some] * radius[some]
        shift, width = _quadratic(linear, push_by[:, :, None] * push_by[:, None, :])
        matrix += np.tensordot((weight * curvature)[at], shift, 1)
        matrix_radius += np.tensordot(steepest[at], width, 1) + np.tensordot(loose[at], np.abs(shift), 1)
        uneven = push[some].T @ (steepest[at, None] * error[at])
        matrix_radius += uneven + uneven.T + push[some].T @ (steepest[at, None] * others[some])

    # And (psi + h w_k t)(z + f t), h a secant of psi over the scores of the row's completions.
    secant, secant_radius = midpoint_and_radius(*loss.secant_range(y, low, high, spread))
    own = w[k][:, None]
    gain = secant[i, None] * own
    along, across = slope[i, None] * factor, gain * image[i]
    linear = np.abs(along + across) + 4.0 * EPS * (np.abs(along) + np.abs(across))
    linear += slope_radius[i, None] * np.abs(factor) + np.abs(gain) * doubt[i]
    shift, width = _quadratic(linear * radius, gain * factor * radius * radius)
    width += relative * np.abs(shift) + secant_radius[i, None] * np.abs(own) * radius * (size[i] + push)
    other_scores = np.maximum(spread[i, None] - np.abs(own) * radius, 0.0) + (d + 4) * EPS * spread[i, None]
    width += up(secant + secant_radius)[i, None] * other_scores * push
    share = weight[i, None]
    return (
        matrix,
        matrix_radius,
        center,
        center_radius,
        (by_row @ (share * shift)).sum(axis=0),
        (by_row @ (share * width)).sum(axis=0),
    )


def _quadratic(linear: Array, square: Array) -> tuple[Array, Array]:
    """Return a middle and a radius of ``a s + b s^2``, ``|s| <= 1``, for all ``|a| <= linear`` and ``b = square``.

    The greatest value is ``linear + b`` and the least at least ``-max(linear / 2, linear - b)``, if ``b >= 0``.
    """
    size = np.abs(square)
    middle = np.minimum(0.25 * linear + 0.5 * size, size)
    return np.copysign(middle, square), np.maximum(0.75 * linear + 0.5 * size, linear)


def _cells_at_once(d: int) -> int:
    return max(1, AT_ONCE // d**2)


def _cells(n: int, d: int) -> Iterator[slice]:
    """Cut n cells into slices whose matrices fit into one temporary array."""
    step = _cells_at_once(d)
    return (slice(start, start + step) for start in range(0, n, step))

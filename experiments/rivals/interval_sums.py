"""The gradient and the Hessian of all completions as intervals: the sums over the rows that a Newton step needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from ipub.losses import Loss
from ipub.numeric.rounding import EPS, Array, dot_bounds, down, midpoint_and_radius, sum_error, sum_upper, up
from ipub.problem.objective import Problem
from ipub.promises import AnyFilling
from ipub.rows import Block
from ipub.rows.ops import adding_matrix

ROUNDINGS = 100
"""Roundings of one term, and of what follows its sum, beside the height of the sum (fp-interval-newton)."""
ANY_FILLING = AnyFilling()
"""The only uncertainty that interval Newton handles."""
AT_ONCE = 1 << 18
"""Numbers in one temporary array of matrices, one for each cell: fewer calls, more memory."""


@dataclass(frozen=True)
class IntervalSums:
    """Gradient and Hessian of the mean loss, in the coordinates u of ``w + basis @ u``, as middles and radii.

    For every completion and every model within the box that they were summed for, entry by entry: the slopes of
    the gradient from w to that model lie in ``matrix ± matrix_radius``, and the gradient at w in
    ``center ± center_radius`` for the table at its center, in ``center + shift ± (center_radius + shift_radius)``
    for any other (sec-interval-newton).
    """

    matrix: Array
    matrix_radius: Array
    center: Array
    center_radius: Array
    shift: Array
    shift_radius: Array

    @classmethod
    def over(cls, problem: Problem, w: Array, basis: Array, limits: Array) -> IntervalSums:
        """Sum over the rows, for the models ``w + basis @ u`` with ``|u_j| <= limits_j`` for every j."""
        rows, d = problem.rows, len(w)
        at_once = _cells_at_once(d)
        roundings = rows.depth + d + at_once + rows.depth * d // at_once + ROUNDINGS
        sums = rows.reduce(_newton_sums, problem.loss, w, basis, limits, roundings * EPS)
        means = NewtonSums(*(total / rows.total_weight for total in sums))
        return cls(
            matrix=means.matrix,
            matrix_radius=sum_upper(means.matrix_radius, roundings),
            center=means.center,
            center_radius=sum_upper(means.center_radius, roundings),
            shift=means.shift,
            shift_radius=sum_upper(means.shift_radius, roundings),
        )


def mean_slope(problem: Problem, center: Array, radius: Array) -> tuple[Array, Array]:
    """Bound the gradient of the mean loss over all completions and all w with ``|w - center| <= radius``."""
    rows = problem.rows
    roundings = rows.depth + ROUNDINGS
    middle, error = rows.reduce(_slope_sums, problem.loss, center, radius, roundings * EPS)
    middle, error = middle / rows.total_weight, sum_upper(error / rows.total_weight, roundings)
    return down(middle - error), up(middle + error)


def _slope_sums(block: Block, loss: Loss, center: Array, radius: Array, relative: float) -> tuple[Any, ...]:
    low, high = dot_bounds(block.center, center)
    change = sum_upper(ANY_FILLING.score_change(block, up(np.abs(center) + radius)), len(center) + 1)
    change = up(change + sum_upper(np.abs(block.center) @ radius, len(center) + 1))
    slope, error = midpoint_and_radius(*loss.derivative_range(block.y, down(low - change), up(high + change)))
    at_center = np.abs(block.center).T @ (block.weight * (error + relative * np.abs(slope)))
    by_cells = ANY_FILLING.column_change(block, block.weight * (np.abs(slope) + error))
    return block.center.T @ (block.weight * slope), at_center + by_cells


class NewtonSums(NamedTuple):
    """Sums of ``h z'' z''^T`` (matrix) and ``psi z''`` (gradient), with ``z'' = basis^T x''``: middles and radii."""

    matrix: Array
    matrix_radius: Array
    center: Array
    center_radius: Array
    shift: Array
    shift_radius: Array


class _Images(NamedTuple):
    """The rows and uncertain cells of a block in the coordinates u: the images ``z = basis^T x``."""

    rows: Array
    errors: Array
    """Bounds of the rounding errors of `rows`."""
    sizes: Array
    """Bounds of the absolute values of the exact images."""
    cells: Array
    """A cell that moves by t moves the image of its row by `cells` times t, for ``|t|`` up to its radius."""
    cell_sizes: Array
    """The most that a cell moves the image of its row."""
    row_changes: Array
    """The most that all cells of a row move its image, but for rounding."""
    by_row: csc_array
    """Adds up values of cells by row."""


class _Curvatures(NamedTuple):
    """Secants of the derivative, for all scores of a row: middle, and times the weight the greatest and the radius."""

    middle: Array
    greatest: Array
    radius: Array


class _Slopes(NamedTuple):
    """Derivatives of the loss at the center of each row, and the scores that they are taken at."""

    middle: Array
    radius: Array
    low: Array
    high: Array
    score_change: Array
    """The most that the cells of a row move its score."""


def _newton_sums(block: Block, loss: Loss, w: Array, basis: Array, limits: Array, relative: float) -> NewtonSums:
    """Return what a block adds to the sums of a Newton step, for all completions.

    `relative` is the relative error of a sum of middles: the radii pay for it, term by term.
    """
    images, slopes = _images(block, basis), _slopes(block, loss, w)
    curvatures = _curvatures(block, loss, images, slopes, limits, relative)
    return NewtonSums(
        *_matrix_sums(block, images, curvatures),
        *_center_sums(block, images, slopes, relative),
        *_shift_sums(block, loss, w, images, slopes, relative),
    )


def _images(block: Block, basis: Array) -> _Images:
    image, error = block.center @ basis, sum_error(np.abs(block.center) @ np.abs(basis), len(basis) + 1)
    cells = basis[block.cell_columns]
    cell_sizes = np.abs(cells) * block.cell_radii[:, None]
    by_row = adding_matrix(block.cell_rows, len(block.y))
    return _Images(image, error, up(np.abs(image) + error), cells, cell_sizes, by_row @ cell_sizes, by_row)


def _slopes(block: Block, loss: Loss, w: Array) -> _Slopes:
    low, high = dot_bounds(block.center, w)
    score_change = sum_upper(ANY_FILLING.score_change(block, w), len(w) + 1)
    middle, radius = midpoint_and_radius(*loss.derivative_range(block.y, low, high))
    return _Slopes(middle, radius, low, high, score_change)


def _curvatures(
    block: Block, loss: Loss, images: _Images, slopes: _Slopes, limits: Array, relative: float
) -> _Curvatures:
    low, high = down(slopes.low - slopes.score_change), up(slopes.high + slopes.score_change)
    move = sum_upper((images.sizes + images.row_changes) @ limits, 2 * len(limits) + 4)
    middle, radius = midpoint_and_radius(*loss.secant_range(block.y, low, high, move))
    return _Curvatures(middle, block.weight * up(middle + radius), block.weight * (radius + relative * middle))


def _matrix_sums(block: Block, images: _Images, curvatures: _Curvatures) -> tuple[Array, Array]:
    """Return middle and radius of the sum of ``h z'' z''^T``."""
    i, d, radius = block.cell_rows, images.rows.shape[1], block.cell_radii[:, None]
    greatest, loose, middle = curvatures.greatest, curvatures.radius, block.weight * curvatures.middle
    matrix = (images.rows * middle[:, None]).T @ images.rows
    one_sided = (images.errors * greatest[:, None]).T @ images.sizes
    matrix_radius = (images.sizes * loose[:, None]).T @ images.sizes + one_sided + one_sided.T

    # Cell by cell: (z_j + f_j t)(z_k + f_k t), and the products of different cells of a row.
    changes = images.row_changes[i]
    others = np.maximum(changes - images.cell_sizes, 0.0) + (d + 4) * EPS * changes
    error = images.errors + 4.0 * EPS * images.sizes
    for part in _cells(len(i), d):
        at, sizes = i[part], images.cell_sizes[part]
        product = images.rows[at, :, None] * images.cells[part, None, :]
        linear = np.abs(product + product.transpose(0, 2, 1)) * radius[part, None]
        change = images.cells[part] * radius[part]
        shift, width = _quadratic(linear, change[:, :, None] * change[:, None, :])
        matrix += np.tensordot(middle[at], shift, 1)
        matrix_radius += np.tensordot(greatest[at], width, 1) + np.tensordot(loose[at], np.abs(shift), 1)
        one_sided = sizes.T @ (greatest[at, None] * error[at])
        matrix_radius += one_sided + one_sided.T + sizes.T @ (greatest[at, None] * others[part])
    return matrix, matrix_radius


def _center_sums(block: Block, images: _Images, slopes: _Slopes, relative: float) -> tuple[Array, Array]:
    """Return middle and radius of the sum of ``psi z`` at the center of the rows."""
    weight, size = block.weight, np.abs(slopes.middle)
    radius = images.sizes.T @ (weight * (slopes.radius + relative * size))
    return images.rows.T @ (weight * slopes.middle), radius + images.errors.T @ (weight * size)


def _shift_sums(
    block: Block, loss: Loss, w: Array, images: _Images, slopes: _Slopes, relative: float
) -> tuple[Array, Array]:
    """Return middle and radius of what the cells add to the sum of ``psi z``.

    A cell that moves by t makes it ``(psi + h w_k t)(z + f t)``, where h is a secant of psi over the scores of the
    row's completions.
    """
    i, radius, cells = block.cell_rows, block.cell_radii[:, None], images.cells
    secant, secant_radius = midpoint_and_radius(
        *loss.secant_range(block.y, slopes.low, slopes.high, slopes.score_change)
    )
    own = w[block.cell_columns][:, None]
    gain = secant[i, None] * own
    along, across = slopes.middle[i, None] * cells, gain * images.rows[i]
    linear = np.abs(along + across) + 4.0 * EPS * (np.abs(along) + np.abs(across))
    linear += slopes.radius[i, None] * np.abs(cells) + np.abs(gain) * images.errors[i]
    shift, width = _quadratic(linear * radius, gain * cells * radius * radius)
    row_sizes = images.sizes[i] + images.cell_sizes
    width += relative * np.abs(shift) + secant_radius[i, None] * np.abs(own) * radius * row_sizes
    score_change = slopes.score_change[i, None]
    other_scores = np.maximum(score_change - np.abs(own) * radius, 0.0) + (len(w) + 4) * EPS * score_change
    width += up(secant + secant_radius)[i, None] * other_scores * images.cell_sizes
    weight = block.weight[i, None]
    return (images.by_row @ (weight * shift)).sum(axis=0), (images.by_row @ (weight * width)).sum(axis=0)


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

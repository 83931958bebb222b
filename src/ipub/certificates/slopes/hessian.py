"""Bounds of the mean Hessian between w' and w'', for all completions and all moves in a set (lem-hessian)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.slopes.incomplete_rows import IncompleteRows
from ipub.numeric.rounding import EPS, UNDERFLOW, Array, down, sum_upper, up


class HessianChange(NamedTuple):
    """What uncertain cells can take from, or add to, the Hessian of the center's lines."""

    form: Array
    """A matrix: what changes along the rows."""
    diagonal: Array
    """What changes along the cells, a diagonal (lem-hessian)."""
    rounding_size: Array
    """A diagonal to which the rounding of `form` is relative."""


class CenterCurvature(NamedTuple):
    """The curvature of the center's lines, and by how much slopes may differ from it."""

    gram: Array
    """``sum_i m_i h_i x_i x_i^T``."""
    gram_size: Array
    """Its diagonal, to which rounding errors are relative."""
    slope_radius_form: Array
    """``sum_i m_i slope_radius_i x_i x_i^T``, from above."""
    lam: Array
    """Lambda: the L2 penalty of each coordinate."""
    roundings: int

    @property
    def matrix(self) -> Array:
        """A, without what an l1 penalty adds."""
        return self.gram + np.diag(self.lam)


def hessian_lower(center: CenterCurvature, lost: HessianChange, flipped: float) -> Array:
    """Return L below each completion's mean Hessian (lem-hessian); wrong labels take `flipped` times A from it."""
    curvature, d = center.matrix, len(center.lam)
    size = lost.rounding_size + flipped * np.diag(curvature)
    slack = up((center.roundings * EPS * d) * (center.gram_size + size + center.lam + lost.diagonal)) + UNDERFLOW
    lower = center.gram - center.slope_radius_form - lost.form - flipped * curvature
    return np.asarray(0.5 * (lower + lower.T) + np.diag(center.lam - lost.diagonal - slack))


def hessian_upper(center: CenterCurvature, gained: HessianChange) -> Array:
    """Return U above the mean Hessian of every completion (lem-hessian)."""
    size = center.gram_size + gained.rounding_size + center.lam + gained.diagonal
    slack = up((center.roundings * EPS * len(center.lam)) * size) + UNDERFLOW
    upper = center.gram + center.slope_radius_form + gained.form
    return np.asarray(0.5 * (upper + upper.T) + np.diag(center.lam + gained.diagonal + slack))


def hessian_loss(incomplete: IncompleteRows, price: Array) -> HessianChange:
    """Return what uncertain cells can take from the Hessian of the center's lines, at given prices (lem-hessian)."""
    m, least, greatest = incomplete.weight, incomplete.lines.least_slope, incomplete.lines.greatest_slope
    paid_share = _paid_share(incomplete, price)
    is_kept = least > 2.0 * greatest * paid_share
    row_least = np.where(is_kept, down(least - up(greatest * paid_share)), 0.0)
    lost = np.maximum(up(m * up(up(incomplete.lines.slope - incomplete.lines.slope_radius) - row_least)), 0.0)
    return _change(incomplete, lost, np.where(is_kept, m * greatest, 0.0), price)


def hessian_gain(incomplete: IncompleteRows, price: Array) -> HessianChange:
    """Return what uncertain cells can add to the Hessian of the center's lines, at given prices (lem-hessian)."""
    m, greatest = incomplete.weight, incomplete.lines.greatest_slope
    paid_share = _paid_share(incomplete, price)
    highest_line = down(incomplete.lines.slope + incomplete.lines.slope_radius)
    gained = np.maximum(up(m * up(up(greatest * up(1.0 + paid_share)) - highest_line)), 0.0)
    return _change(incomplete, gained, m * greatest * (1.0 + paid_share), price)


def _paid_share(incomplete: IncompleteRows, price: Array) -> Array:
    """Return ``sum_j R_ij price_j`` for each row (lem-hessian), rounded up."""
    cells = incomplete.sum_cells_by_row(incomplete.cell_radii * price[incomplete.cell_columns])
    return up(cells + incomplete.choice_sums(incomplete.choices.score_change_within(price)))


def _change(incomplete: IncompleteRows, along_rows: Array, paid: Array, price: Array) -> HessianChange:
    """Put together the form of what changes along the rows, and q of what is paid for it along the cells."""
    choices, j = incomplete.choices, incomplete.cell_columns
    levels = choices.column_change(paid[choices.rows], len(price)) / price
    cells = incomplete.column_sums(paid[incomplete.cell_rows] * incomplete.cell_radii / price[j])
    form = incomplete.form(along_rows)
    return HessianChange(form, up(cells + sum_upper(levels, incomplete.roundings)), np.diag(form))

"""The mean-value certificate for smooth losses (Theorem 4): exact in the gradient, enclosed in the Hessian.

With g the gradient of the objective at w' and H the mean Hessian between w' and w'', both for one completion,
``w'' - w' = -H^-1 g``. The gradient is a sum of terms of single rows, so its range over all completions is a sum
of ranges of single rows, found by certified monotonicity. The Hessian lies between two matrices L and U.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ipub.certificates.enclosed_inverse import EnclosedInverse
from ipub.data.intervals import Indices, row_slices
from ipub.losses import Loss
from ipub.rounding import Array, dot_bounds, down, overflow_passes, sum_error, sum_upper, up

CHUNK_CELLS = 1 << 15
"""Cells times test rows that are looked at in one go."""

SIGN_SLACK = 1e-12
"""Relative distance from zero at which the sign of a computed derivative is beyond doubt (F7)."""


@dataclass(frozen=True)
class IncompleteRows:
    """The rows with uncertain cells, with what is known of their scores and derivatives under w'."""

    center: Array
    y: Array
    weight: Array
    """Weights over the total weight, with two roundings."""
    score_lower: Array
    score_upper: Array
    """Bounds of the score of the center."""
    slope_lower: Array
    slope_upper: Array
    """Bounds of the loss's derivative over all completions."""
    curvature_lower: Array
    curvature_upper: Array
    """Bounds of its second derivative over all completions."""
    hessian_lower: Array
    hessian_upper: Array
    """Bounds of its second derivative between w' and every completion's model as well."""
    cell_counts: Indices
    """Number of uncertain cells of each row, at least one."""
    cell_columns: Indices
    cell_radii: Array

    @property
    def row_starts(self) -> Indices:
        """First uncertain cell of each row, and the number of cells."""
        return np.concatenate([[0], np.cumsum(self.cell_counts)]).astype(np.intp)

    @property
    def cell_rows(self) -> Indices:
        """Row of each uncertain cell."""
        return np.repeat(np.arange(len(self.y)), self.cell_counts)

    def column_sums(self, values: Array) -> Array:
        """Add up, for each column, values of its cells."""
        return np.bincount(self.cell_columns, values, minlength=self.center.shape[1]).astype(float, copy=False)

    def row_sums(self, values: Array) -> Array:
        """Add up, for each row, values of its cells along the last axis."""
        if len(self.y) == 0:
            return np.zeros((*values.shape[:-1], 0))
        return np.asarray(np.add.reduceat(values, self.row_starts[:-1], axis=-1))


@dataclass(frozen=True)
class MeanValue:
    """Bounds of ``x.w''`` from Theorem 4, for any x.

    Attributes
    ----------
    w : array of shape (n_features,)
        The reference w'.
    loss : Loss
    inverse : EnclosedInverse
        Encloses the inverse of every mean Hessian.
    gradient, gradient_error : arrays of shape (n_features,)
        Penalty and complete rows' part of the gradient at w', with a bound of its error.
    reach : array of shape (n_features,)
        Bound of the size of each coordinate of the whole gradient, over all completions.
    spread : float
        Bound of ``sqrt(g.E g)`` over all completions.
    rows : IncompleteRows
    """

    w: Array
    loss: Loss
    inverse: EnclosedInverse
    gradient: Array
    gradient_error: Array
    reach: Array
    spread: float
    rows: IncompleteRows

    def ends(self, X: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of the score of each row of X."""
        step = max(1, CHUNK_CELLS // max(1, len(self.rows.cell_columns), len(self.rows.y)))
        with overflow_passes():
            parts = [self._ends(X[rows]) for rows in list(row_slices(len(X), 1, step)) or [slice(0, 0)]]
        low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
        return low, high

    def _ends(self, X: Array) -> tuple[Array, Array]:
        d = X.shape[1]
        c = X @ self.inverse.center
        c_error = sum_error(np.abs(X) @ np.abs(self.inverse.center), d + 1)
        low, high = dot_bounds(c, self.gradient)
        loose = sum_upper(np.abs(c) @ self.gradient_error, d + 1)
        loose = up(loose + sum_upper(c_error @ self.reach, d + 1))
        loose = up(loose + up(self.inverse.spread_upper(X) * self.spread))
        row_low, row_high = self._incomplete_part(c)
        low, high = down(low + row_low), up(high + row_high)
        score_low, score_high = dot_bounds(X, self.w)
        return down(down(score_low - high) - loose), up(up(score_high - low) + loose)

    def _incomplete_part(self, c: Array) -> tuple[Array, Array]:
        """Bound ``sum_i m_i psi(x''_i.w') (c.x''_i)`` over all completions, for each row c."""
        rows = self.rows
        if len(rows.y) == 0:
            return np.zeros(len(c)), np.zeros(len(c))
        i, j, radii = rows.cell_rows, rows.cell_columns, rows.cell_radii
        d = c.shape[1]
        radius = csr_array((radii, j, rows.row_starts), shape=rows.center.shape)
        product_low, product_high = dot_bounds(c, rows.center.T)
        move = sum_upper(np.asarray((radius @ np.abs(c).T).T, dtype=float), d + 1)
        # The derivative along each cell, over the whole box: psi' w_j (c.x'') + psi c_j.
        wide_low, wide_high = down(product_low - move)[:, i] * self.w[j], up(product_high + move)[:, i] * self.w[j]
        wide_low, wide_high = np.minimum(wide_low, wide_high), np.maximum(wide_low, wide_high)
        curved_low = np.minimum(rows.curvature_lower[i] * wide_low, rows.curvature_upper[i] * wide_low)
        curved_high = np.maximum(rows.curvature_lower[i] * wide_high, rows.curvature_upper[i] * wide_high)
        along = c[:, j]
        sloped = rows.slope_lower[i] * along, rows.slope_upper[i] * along
        low, high = curved_low + np.minimum(*sloped), curved_high + np.maximum(*sloped)
        doubt = SIGN_SLACK * (
            np.maximum(np.abs(curved_low), np.abs(curved_high)) + np.maximum(np.abs(sloped[0]), np.abs(sloped[1]))
        )
        sign = np.where(low > doubt, 1.0, np.where(high < -doubt, -1.0, 0.0))
        size = np.maximum(np.abs(low), np.abs(high)) + doubt
        undecided = rows.row_sums(np.where(sign == 0.0, radii * size, 0.0))
        shift = sign * radii
        score_shift, product_shift = rows.row_sums(shift * self.w[j]), rows.row_sums(shift * along)
        score_error = sum_error(rows.row_sums(radii * np.abs(self.w[j])), d + 2)
        product_error = sum_error(move, d + 2)
        undecided = sum_upper(undecided, d + 2)
        highest = up(
            self._at_vertex(score_shift, score_error, product_low, product_high, product_shift, product_error)[1]
            + undecided
        )
        lowest = down(
            self._at_vertex(-score_shift, score_error, product_low, product_high, -product_shift, product_error)[0]
            - undecided
        )
        return _weighted(lowest, rows.weight)[0], _weighted(highest, rows.weight)[1]

    def _at_vertex(
        self,
        score_shift: Array,
        score_error: Array,
        product_low: Array,
        product_high: Array,
        product_shift: Array,
        product_error: Array,
    ) -> tuple[Array, Array]:
        """Bound psi times (c.x'') of each row at one vertex of its box."""
        rows = self.rows
        score_low = down(down(rows.score_lower + score_shift) - score_error)
        score_high = up(up(rows.score_upper + score_shift) + score_error)
        slope_low, slope_high = self.loss.derivative_range(rows.y, score_low, score_high)
        low = down(down(product_low + product_shift) - product_error)
        high = up(up(product_high + product_shift) + product_error)
        products = [slope_low * low, slope_low * high, slope_high * low, slope_high * high]
        return down(np.minimum.reduce(products)), up(np.maximum.reduce(products))


def _weighted(values: Array, weight: Array) -> tuple[Array, Array]:
    """Bound ``sum_i m_i values_i``; `weight` is m rounded to within two units, and no order is assumed."""
    total = values @ weight
    error = sum_error(np.abs(values) @ weight, len(weight) + 4)
    return down(total - error), up(total + error)


def box_form(matrix: Array, box: Array) -> float:
    """Bound ``b.M b`` over all b with abs(b_j) <= box_j from above."""
    inner = sum_upper(np.abs(matrix) @ box, len(box) + 1)
    return float(sum_upper(inner @ box, len(box) + 1))

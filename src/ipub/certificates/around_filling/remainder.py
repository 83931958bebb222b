"""What the curvature changes along the move of a model, for all rows at once (Lemma 17)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipub.certificates.around_filling.metric import largest_eigenvalue_upper
from ipub.certificates.around_filling.prove_move import ProvedMove
from ipub.certificates.around_filling.unit_terms import UnitMoves
from ipub.rounding import EPS, UNDERFLOW, Array, down, norm_upper, sum_upper, up

MOST_TENSOR_COLUMNS = 128
"""With more columns the signed form of the third derivative, a tensor of columns cubed, is left out."""


@dataclass(frozen=True)
class Reach:
    """How far the model of any completion is from w', seen from each row and each coordinate.

    Attributes
    ----------
    rows : array of shape (n_rows,)
        s_i: bounds of ``|x_i.v|``.
    coordinates : array of shape (n_features,)
        f_j: bounds of ``|v_j|``.
    """

    rows: Array
    coordinates: Array


class _RowTerms(NamedTuple):
    """Of each row, what multiplies ``|x''_i.u|`` or its square."""

    half_slope: Array
    """``m_i c3_i / 2``, of the form in v."""
    second: Array
    """``m_i c3_i far_i^2 / 2``, and what the curvature is off by."""
    slope_far: Array
    """``m_i c3_i far_i / 2``."""
    bend_far: Array
    """``m_i c5_i far_i / 6``, of the form in v."""
    third: Array
    """``m_i c5_i far_i^3 / 6``, and what the curvature and its derivative are off by."""
    doubt: Array
    third_doubt: Array
    """What these are off by, alone."""


@dataclass(frozen=True)
class Remainder:
    """Bounds of ``|u.N v|`` for any u, where v is in a proved set and within a reach.

    Attributes
    ----------
    proved : ProvedMove
    reach : Reach
    """

    proved: ProvedMove
    reach: Reach

    @cached_property
    def unit_moves(self) -> UnitMoves:
        """Bounds of what units and movable rows do to a score of v."""
        metric = self.proved.metric
        table, movable = metric.table, metric.table.movable
        by_norm = up(metric.options.norm * self.proved.radius)
        option = np.fmin(movable.changes_within(self.reach.coordinates), by_norm)
        unit = movable.greatest(option)
        return UnitMoves(option, unit, table.moves.row_totals(movable, unit), self.reach.rows[movable.rows])

    @cached_property
    def far(self) -> Array:
        """Bounds of ``|x''_i.v|`` of every row."""
        far, rows = self.reach.rows.copy(), self.proved.metric.table.movable.rows
        far[rows] = up(far[rows] + self.unit_moves.row_change)
        return far

    @cached_property
    def _terms(self) -> _RowTerms:
        table, far = self.proved.metric.table, self.far
        lower, upper = table.score_ranges
        lower, upper = down(lower - far), up(upper + far)
        slope_lower, slope_upper = table.loss.curvature_slope_range(table.y, lower, upper)
        half = 0.5 * table.m * np.maximum(np.abs(slope_lower), np.abs(slope_upper))
        sixth = table.m * table.loss.curvature_bend_upper(table.y, lower, upper) * far / 6.0
        doubt = table.m * table.at.second_error * far
        third_doubt = doubt + 0.5 * table.m * table.at.third_error * far**2
        terms = (half, half * far**2 + doubt, half * far, sixth, sixth * far**2 + third_doubt, doubt, third_doubt)
        return _RowTerms(*(up(values * (1.0 + 32.0 * EPS)) for values in terms))

    def second_order(self, far_u: Array) -> Array:
        """Bound it by second derivatives of psi: row by row, by Cauchy and Schwarz, or as a form.

        `far_u` bounds ``|x''_i.u|`` for each u and each row.
        """
        terms, roundings = self._terms, self.proved.metric.table.roundings
        by_row = sum_upper(far_u @ terms.second, roundings)
        if self.proved.metric.row_pairs is None:
            return by_row
        square = up(self.proved.radius * self.proved.radius)
        root = up(np.sqrt(up(self._greatest_far * sum_upper((far_u * far_u) @ terms.slope_far, roundings))))
        least = np.fmin(up(self.greatest_squares(far_u * terms.half_slope) * square), root)
        return np.asarray(np.fmin(by_row, up(least + sum_upper(far_u @ terms.doubt, roundings))))

    @cached_property
    def _greatest_far(self) -> float:
        """Bound of ``sum_i m_i c3_i far_i / 2 (x''_i.v)^2``."""
        greatest = float(self.greatest_squares(self._terms.slope_far[None])[0])
        return float(up(greatest * up(self.proved.radius * self.proved.radius)))

    def third_order(self, U: Array, far_u: Array) -> Array:
        """Bound it by the signed form of the filled-in table and third derivatives; units add `Products.signed`."""
        d = U.shape[1]
        if d > MOST_TENSOR_COLUMNS:
            return np.full(len(U), np.inf)
        terms, roundings = self._terms, self.proved.metric.table.roundings
        square = up(self.proved.radius * self.proved.radius)
        rest = sum_upper(far_u @ terms.third, roundings)
        if self.proved.metric.row_pairs is not None:
            form = up(self.greatest_squares(far_u * terms.bend_far) * square)
            rest = np.fmin(rest, up(form + sum_upper(far_u @ terms.third_doubt, roundings)))
        tensor, error = self.proved.metric.third_derivative
        forms = (U @ tensor).reshape(len(U), d, d)
        largest = up(largest_eigenvalue_upper(forms) + up(norm_upper(U) * error))
        return up(up(largest * square) + rest)

    def greatest_squares(self, weights: Array) -> Array:
        """Bound ``sum_i weights_i (x''_i.v)^2`` over all moves and ``|v|_W <= 1``, for each row of weights >= 0."""
        metric = self.proved.metric
        table, movable, d = metric.table, metric.table.movable, len(metric.K)
        assert metric.row_pairs is not None
        plain = largest_eigenvalue_upper((weights @ metric.row_pairs).reshape(-1, d, d))
        plain = up(plain + metric.rows.form_errors(weights))
        if movable.n_units == 0:
            return plain
        of = movable.unit_row
        more = metric.unit_norm * (2.0 * metric.movable_rows.norm[of] + metric.row_change[of])
        more = weights[:, movable.rows[of]] * more
        apart = up(plain + table.moves.total(movable, up(more * (1.0 + 16.0 * EPS))))
        if metric.generator_pairs is None:
            return apart
        return np.asarray(np.fmin(apart, self._joint_squares(weights)))

    def _joint_squares(self, weights: Array) -> Array:
        """Bound the same as one form: ``(x + delta).v`` squared by prices, for all units at once (Lemma 17)."""
        metric = self.proved.metric
        movable, d, inflate = metric.table.movable, len(metric.K), 1.0 + 16.0 * EPS
        assert metric.row_pairs is not None
        assert metric.generator_pairs is not None
        chosen = movable.generators
        unit, row = movable.option_unit[chosen], movable.option_row[chosen]
        price = np.maximum(metric.row_change, UNDERFLOW) / np.maximum(metric.movable_rows.norm, UNDERFLOW)
        rows = weights.copy()
        rows[:, movable.rows] *= up(1.0 + price) * inflate
        shares = up(1.0 + up(1.0 / price)) * metric.row_change * inflate
        generators = weights[:, movable.rows[row]] * (
            shares[row] / np.maximum(metric.unit_norm, UNDERFLOW)[unit] * inflate
        )
        generators = up(generators * inflate)
        form = rows @ metric.row_pairs + generators @ metric.generator_pairs
        error = up(metric.rows.form_errors(rows) + metric.options.take(chosen).form_errors(generators))
        return up(largest_eigenvalue_upper(form.reshape(-1, d, d)) + 2.0 * error)

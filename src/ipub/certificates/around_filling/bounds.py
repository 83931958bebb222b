"""Bounds of a score for all tables that differ from a filled-in one in few places (Theorem 9)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipub.certificates.around_filling.filled_table import FilledTable
from ipub.certificates.around_filling.metric import Whitened, largest_eigenvalue_upper
from ipub.certificates.around_filling.prove_move import Metric, ProvedMove
from ipub.certificates.around_filling.unit_norms import unit_norm_upper
from ipub.certificates.certificate import FEWEST_ROWS, Needs, ScoreBounds
from ipub.parallel import row_slices
from ipub.rounding import (
    EPS,
    UNDERFLOW,
    Array,
    dot_bounds,
    down,
    norm_upper,
    overflow_means_unbounded,
    sum_error,
    sum_upper,
    up,
)

CHUNK_NUMBERS = 1 << 21
"""Numbers of one array of a chunk of test rows: fewer calls against memory."""

MOST_FORM_NUMBERS = 1 << 24
"""With more rows times columns squared, sums of squares over all rows are not taken as forms: wider bounds."""

MOST_TENSOR_COLUMNS = 128
"""With more columns the signed form of the third derivative, a tensor of columns cubed, is left out."""


@dataclass(frozen=True)
class FilledEllipsoid(ScoreBounds):
    """``|x.w'' - x.w'| <= radius |K x|``: keeps no training row."""

    w: Array
    K: Array
    radius: float
    name: str = "filling"

    @property
    def needs(self) -> Needs:
        return Needs(smooth_loss=True, l2_only=True, matrices=True)

    @overflow_means_unbounded()
    def ends(self, X: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of the score of each row of X."""
        X = np.asarray(X, dtype=float)
        half = up(Whitened.of(self.K, X).norm * self.radius)
        low, high = dot_bounds(X, self.w)
        return down(low - half), up(high + half)

    def without_training_rows(self) -> FilledEllipsoid:
        return self


class Reach(NamedTuple):
    """How far the model of any completion is from w', seen from each row and each coordinate."""

    rows: Array
    """s_i: bounds of ``|x_i.v|``."""
    coordinates: Array
    """f_j: bounds of ``|v_j|``."""


class Remainders(NamedTuple):
    """What depends on the reach alone."""

    option_move: Array
    """Bounds of ``|delta_o.v|``."""
    unit_move: Array
    """e_k: the greatest of a unit."""
    row_move: Array
    """E_i: bounds of ``|delta_i.v|`` of each movable row."""
    second_order: Array
    """Of each row ``m_i (c3_i far_i^2 / 2 + error of the curvature times far_i)``."""
    third_order: Array
    """Of each row ``m_i (c5_i far_i^3 / 6 + errors)``."""
    slope: Array
    """Of each row ``m_i c3_i / 2``."""
    bend: Array
    """Of each row ``m_i c5_i far_i / 6``."""
    doubt: Array
    third_doubt: Array
    """Of each row what errors of the curvature, and of its derivative as well, add to second and third order."""
    form: Array
    """Of each row ``m_i c3_i far_i / 2``."""
    form_root: float
    """Bound of the root of ``sum_i form_i (x''_i.v)^2``."""


class UnitTerms(NamedTuple):
    """What each unit adds at most, for each u: shape (n_u, n_units)."""

    plus: Array
    minus: Array
    """To ``u.(g - g_c)`` and to ``-u.(g - g_c)`` (Lemma 15)."""
    product: Array
    """To ``|u.(B - A) v|`` to first order (Lemma 16 (a))."""
    second: Array
    """To the rest of it."""
    signed: Array
    """To what is left of ``|u.N v|`` beside the form of the filled-in table (Lemma 17)."""


@dataclass(frozen=True)
class FilledBounds(ScoreBounds):
    """Bounds of ``x.w''`` around a filled-in table, for any x.

    Attributes
    ----------
    table : FilledTable
    proved : ProvedMove
    reach : Reach
    """

    table: FilledTable
    proved: ProvedMove
    reach: Reach
    name: str = "filling"

    @classmethod
    def of(cls, table: FilledTable, proved: ProvedMove) -> FilledBounds:
        """Start from what the ellipsoid says of each row and coordinate."""
        metric = proved.metric
        d = len(table.w)
        rows = up(metric.rows.norm * proved.radius)
        return cls(table, proved, Reach(rows, up(Whitened.of(metric.K, np.eye(d)).norm * proved.radius)))

    @property
    def metric(self) -> Metric:
        """The metric of the moves."""
        return self.proved.metric

    @property
    def needs(self) -> Needs:
        return Needs(smooth_loss=True, l2_only=True, matrices=True, training_rows=True)

    def without_training_rows(self) -> FilledEllipsoid | None:
        """Return the ellipsoid of moves, whose metric is a sum over all rows; None if these are few."""
        counted = np.count_nonzero(self.table.m * self.metric.ratio * self.table.at.second)
        return FilledEllipsoid(self.table.w, self.metric.K, self.proved.radius) if counted >= FEWEST_ROWS else None

    @overflow_means_unbounded()
    def narrowed(self) -> FilledBounds:
        """Return the bounds that put what these say of the training rows back in."""
        d = len(self.table.w)
        rows = self.moves_upper(np.concatenate([self.table.X, np.eye(d)]))
        both = np.fmin(rows, np.concatenate([self.reach.rows, self.reach.coordinates]))
        return replace(self, reach=Reach(both[:-d], both[-d:]))

    def moves_upper(self, X: Array) -> Array:
        """Bound ``|x.v|`` for each row of X."""
        low, high = self._move_ends(X)
        return np.asarray(np.maximum(np.abs(low), np.abs(high)))

    @overflow_means_unbounded()
    def ends(self, X: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of the score of each row of X."""
        X = np.asarray(X, dtype=float)
        low, high = self._move_ends(X)
        score_low, score_high = dot_bounds(X, self.table.w)
        return down(score_low + low), up(score_high + high)

    def _move_ends(self, X: Array) -> tuple[Array, Array]:
        """Bound ``x.v`` for each row of X from below and from above."""
        movable, d = self.table.movable, X.shape[1]
        width = max(len(self.table.X), d * d, len(movable.option_unit), d * len(movable.generators) // 4)
        chunks = [self._chunk_ends(X[rows]) for rows in row_slices(len(X), width, CHUNK_NUMBERS)]
        low, high = zip(*chunks, strict=True) if chunks else ((np.zeros(0),), (np.zeros(0),))
        return np.concatenate(low), np.concatenate(high)

    def _chunk_ends(self, X: Array) -> tuple[Array, Array]:
        table, moves, movable = self.table, self.table.moves, self.table.movable
        U = X @ self._inverse
        ellipsoid = up(Whitened.of(self.metric.K, X).norm * self.proved.radius)
        center = U @ table.gradient
        fixed = sum_error(np.abs(U) @ np.abs(table.gradient), len(table.w) + 1)
        fixed = up(fixed + sum_upper(np.abs(U) @ table.gradient_error, len(table.w) + 1))
        fixed = up(fixed + self._inverse_error(X, U))
        products = U @ table.X.T
        far = up(np.abs(products) + _row_error(table, U))
        if movable.n_units:
            terms = self._unit_terms(U, products[:, movable.rows])
            row_changes = moves.row_totals(movable, self._unit_changes(U))
            far[:, movable.rows] = up(far[:, movable.rows] + row_changes)
            second, signed = self._second_order(far), self._third_order(U, far)
            norm = up(self._product_norm(U, products[:, movable.rows]) * self.proved.radius)
            above, below = (self._least(first, terms, norm, second, signed) for first in (terms.minus, terms.plus))
        else:
            above = below = np.fmin(self._second_order(far), self._third_order(U, far))
        low, high = down(-center - up(below + fixed)), up(-center + up(above + fixed))
        return np.fmax(low, -ellipsoid), np.fmin(high, ellipsoid)

    def _least(self, first: Array, terms: UnitTerms, norm: Array, second: Array, signed: Array) -> Array:
        """Return the least of what the ways to bound the terms with v give."""
        movable, moves = self.table.movable, self.table.moves
        base = up(first + terms.second)
        ways = [
            up(moves.total(movable, up(base + terms.product)) + second),
            up(up(moves.total(movable, base) + norm) + second),
            up(moves.total(movable, up(up(base + terms.product) + terms.signed)) + signed),
            up(up(moves.total(movable, up(base + terms.signed)) + norm) + signed),
        ]
        return np.asarray(np.fmin.reduce(ways))

    @cached_property
    def _inverse(self) -> Array:
        """An approximate inverse of the curvature; any will do."""
        inverse = np.linalg.pinv(self.table.curvature, hermitian=True)
        return np.asarray(0.5 * (inverse + inverse.T))

    def _inverse_error(self, X: Array, U: Array) -> Array:
        """Bound ``(x - A u).v``, with the exact A of the floats `at.second`."""
        table, d = self.table, X.shape[1]
        left = np.abs(X - U @ table.curvature)
        size = np.abs(X) + np.abs(U) @ np.abs(table.curvature)
        left = up(left + sum_error(size, d + 3))
        # The computed A is off by a share of the roots of its diagonal (F7).
        roots = up(np.sqrt(np.diag(table.curvature)))
        off = sum_upper(np.abs(U) @ roots, d + 2)[:, None] * roots
        left = up(left + up(off * (2.0 * table.roundings * EPS)) + UNDERFLOW)
        return sum_upper(left @ self.reach.coordinates, d + 2)

    @cached_property
    def _remainders(self) -> Remainders:
        table, movable, reach = self.table, self.table.movable, self.reach
        radius, metric = self.proved.radius, self.metric
        option_move = np.fmin(movable.changes_within(reach.coordinates), up(metric.options.norm * radius))
        unit_move = movable.greatest(option_move) if movable.n_units else np.zeros(0)
        row_move = table.moves.row_totals(movable, unit_move)
        far = reach.rows.copy()
        far[movable.rows] = up(far[movable.rows] + row_move)
        lower, upper = table.score_ranges
        lower, upper = down(lower - far), up(upper + far)
        slope_range = table.loss.curvature_slope_range(table.y, lower, upper)
        slope = np.maximum(np.abs(slope_range[0]), np.abs(slope_range[1]))
        bend = table.loss.curvature_bend_upper(table.y, lower, upper)
        inflate = 1.0 + 32.0 * EPS
        doubt = table.m * table.at.second_error * far
        third_doubt = doubt + 0.5 * table.m * table.at.third_error * far**2
        half, sixth = 0.5 * table.m * slope, table.m * bend * far / 6.0
        rows = (half * far**2 + doubt, sixth * far**2 + third_doubt, half, sixth, doubt, third_doubt, half * far)
        rows = tuple(up(values * inflate) for values in rows)
        root = up(np.sqrt(self._greatest_squares(rows[-1][None])[0]) * radius) if self._has_forms else np.inf
        return Remainders(option_move, unit_move, row_move, *rows, float(up(root)))

    def _greatest_squares(self, weights: Array) -> Array:
        """Bound ``sum_i weights_i (x''_i.v)^2`` over all moves and ``|v|_W <= 1``, for each row of weights >= 0."""
        table, movable, metric = self.table, self.table.movable, self.metric
        a, d = metric.rows, len(table.w)
        plain = largest_eigenvalue_upper((weights @ self._row_pairs).reshape(-1, d, d))
        plain = up(plain + a.form_errors(weights))
        if movable.n_units == 0:
            return plain
        of = movable.unit_row
        more = metric.unit_norm * (2.0 * metric.movable_rows.norm[of] + metric.row_change[of])
        more = weights[:, movable.rows[of]] * more
        return up(plain + table.moves.total(movable, up(more * (1.0 + 16.0 * EPS))))

    @cached_property
    def _row_pairs(self) -> Array:
        """The entries of ``a_i a_i^T`` of each row, shape (n_rows, d^2)."""
        a = self.metric.rows.vectors
        return np.asarray((a[:, :, None] * a[:, None, :]).reshape(len(a), -1))

    def _second_order(self, far: Array) -> Array:
        """Bound ``|u.N v|``, row by row, by Cauchy and Schwarz or as a form, curvatures' own errors included (Lemma 17)."""
        terms, roundings = self._remainders, self.table.roundings
        by_row = sum_upper(far @ terms.second_order, roundings)
        root = up(np.sqrt(sum_upper((far * far) @ terms.form, roundings)))
        least = up(root * terms.form_root)
        if self._has_forms:
            least = np.fmin(least, up(self._greatest_squares(far * terms.slope) * up(self.proved.radius**2)))
        return np.asarray(np.fmin(by_row, up(least + sum_upper(far @ terms.doubt, roundings))))

    @property
    def _has_forms(self) -> bool:
        return self.table.X.size * len(self.table.w) <= MOST_FORM_NUMBERS

    @cached_property
    def _far_rows(self) -> Array:
        """Bounds of ``|x''_i.v|`` of every row."""
        far = self.reach.rows.copy()
        rows = self.table.movable.rows
        far[rows] = up(far[rows] + self._remainders.row_move)
        return far

    def _third_order(self, U: Array, far: Array) -> Array:
        """Bound it by the signed form of the filled-in table and third derivatives; units are in `UnitTerms.signed`."""
        if U.shape[1] > MOST_TENSOR_COLUMNS:
            return np.full(len(U), np.inf)
        terms, d, square = self._remainders, U.shape[1], up(self.proved.radius**2)
        rest = sum_upper(far @ terms.third_order, self.table.roundings)
        if self._has_forms:
            form = up(self._greatest_squares(far * terms.bend) * square)
            rest = np.fmin(rest, up(form + sum_upper(far @ terms.third_doubt, self.table.roundings)))
        tensor, error = self._tensor
        forms = (U @ tensor).reshape(len(U), d, d)
        largest = up(largest_eigenvalue_upper(forms) + up(norm_upper(U) * error))
        return up(up(largest * square) + rest)

    @cached_property
    def _tensor(self) -> tuple[Array, float]:
        """``sum_i m_i c_i / 2 x_i (x) a_i a_i^T``, and what its product with u is off by as a form, over ``|u|``."""
        table, a = self.table, self.metric.rows
        weights = 0.5 * table.m * table.at.third
        n, d = table.X.shape
        tensor = np.zeros((d, d * d))
        for rows in row_slices(n, d * d, CHUNK_NUMBERS):
            vectors = a.vectors[rows]
            pairs = (vectors[:, :, None] * vectors[:, None, :]).reshape(len(vectors), d * d)
            tensor += (table.X[rows] * weights[rows, None]).T @ pairs
        size = np.abs(weights) * table.row_norm
        error = up(sum_upper(size @ (a.norm * a.norm), n + 4) * ((table.roundings + 4 * d) * EPS))
        doubt = sum_upper(size @ (2.0 * a.norm * a.error), n + 6)
        return tensor, float(up(error + doubt)) + UNDERFLOW

    def _unit_changes(self, U: Array) -> Array:
        """s_k: bounds of ``|delta_o.u|`` over the options of each unit."""
        movable = self.table.movable
        largest = np.abs(U).max(axis=1, initial=0.0)[:, None]
        return movable.greatest(up(np.abs(movable.changes(U)) + up(4.0 * EPS * movable.option_size * largest)))

    def _unit_terms(self, U: Array, products: Array) -> UnitTerms:
        """Bound what each unit adds, for each u; `products` are ``x_i.u`` of the movable rows (Lemmas 15 to 17)."""
        table, movable, terms = self.table, self.table.movable, self._remainders
        of, row = movable.unit_row, movable.option_row
        rows, at, spread = movable.rows, table.at, table.spread
        m, first, second, third = (values[rows] for values in (table.m, at.first, at.second, at.third))
        error = UnitErrors.of(table, U)
        along = np.abs(products) + error.row
        changes = movable.changes(U)
        unit_change = self._unit_changes(U)
        row_change = table.moves.row_totals(movable, unit_change)
        q, Q, s_row = table.unit_score, table.row_score, self.reach.rows[rows]
        # Lemma 15
        linear = (m * first)[row] * changes + ((m * second)[row] * table.option_score) * products[:, row]
        own = ((m * spread.curvature)[row] * table.option_score) * changes
        plus, minus = (
            np.maximum(movable.greatest(sign * linear + np.maximum(sign * own, 0.0) + error.first), 0.0)
            for sign in (1.0, -1.0)
        )
        others = q * table.of_other_units(unit_change, row_change) + unit_change * table.other_units_score
        shared = (0.5 * m * spread.curvature)[of] * others
        shared += (m * at.first_error[rows])[of] * unit_change + ((m * at.second_error[rows])[of] * q) * along[:, of]
        bend = 0.5 * m * Q
        bends = (
            np.maximum(np.maximum(sign * spread.slope_lower * products, sign * spread.slope_upper * products), 0.0)
            for sign in (1.0, -1.0)
        )
        bend_plus, bend_minus = (
            ((each + spread.slope * error.row) * bend)[:, of] * q for each in bends
        )
        # Lemma 16 (a)
        crossing = second[row] * changes + (third[row] * table.option_score) * products[:, row]
        crossing = np.abs(crossing) + error.crossing
        crossing += at.second_error[rows][row] * np.abs(changes) + (at.third_error[rows][row] * table.option_score_size) * along[:, row]
        product = (m * s_row)[row] * crossing
        product += ((m * (second + at.second_error[rows]))[row] * terms.option_move) * along[:, row]
        e, E = terms.unit_move, terms.row_move
        qs = q * row_change[:, of] + unit_change * Q[of]
        rest = (0.5 * m * spread.slope * s_row)[of] * qs
        rest += ((0.5 * m * spread.bend * s_row * Q)[of] * q + (0.5 * m * spread.slope)[of] * (q * E[of] + e * Q[of])) * along[:, of]
        rest += (0.5 * m * spread.curvature)[of] * (e * row_change[:, of] + unit_change * E[of])
        # Lemma 17
        signed = (0.5 * m * s_row**2)[of] * ((spread.bend[of] * q) * along[:, of] + spread.slope[of] * unit_change)
        signed += ((0.5 * m * spread.slope * (2.0 * s_row + E))[of] * e) * (along + row_change)[:, of]
        inflate = 1.0 + 64.0 * EPS
        return UnitTerms(
            up((plus + shared + bend_plus) * inflate),
            up((minus + shared + bend_minus) * inflate),
            up(movable.greatest(product) * inflate),
            up(rest * inflate),
            up(signed * inflate),
        )

    def _product_norm(self, U: Array, products: Array) -> Array:
        """Bound ``|sum_k t_k z_k|`` with ``z_k.v`` the first order of ``u.(B - A) v`` (Lemma 16 (a), Lemma 20 (ii))."""
        table, movable, metric = self.table, self.table.movable, self.metric
        chosen = movable.generators
        row = movable.option_row[chosen]
        rows = movable.rows[row]
        m, second, third = table.m[rows], table.at.second[rows], table.at.third[rows]
        changes, along = movable.changes(U)[:, chosen], products[:, row]
        error = UnitErrors.of(table, U)
        score, a, b = table.option_score[chosen], metric.movable_rows, metric.options.take(chosen)
        along_row = m * (second * changes + third * score * along)
        along_option = m * second * along
        Z = along_row[..., None] * a.vectors[row] + along_option[..., None] * b.vectors
        along = np.abs(along) + error.row[:, row]
        doubt = error.crossing[:, chosen] + table.at.second_error[rows] * np.abs(changes)
        doubt += table.at.third_error[rows] * table.option_score_size[chosen] * along
        doubt = m * doubt * a.norm[row] + np.abs(along_row) * (a.error[row] + 8.0 * EPS * a.norm[row])
        lost = m * (table.at.second_error[rows] * along + second * error.row[:, row])
        doubt += lost * b.norm + m * second * along * (b.error + 8.0 * EPS * b.norm)
        return unit_norm_upper(movable, table.moves, Z, up(doubt * (1.0 + 32.0 * EPS)) + UNDERFLOW, rounds=2)


class UnitErrors(NamedTuple):
    """Rounding of the products of units with several u (F2)."""

    row: Array
    """Of ``x_i.u`` of the movable rows, shape (n_u, n_rows)."""
    first: Array
    """Of the signed terms of Lemma 15, shape (n_u, n_options)."""
    crossing: Array
    """Of ``h delta_o.u + c (delta_o.w') x_i.u``."""

    @classmethod
    def of(cls, table: FilledTable, U: Array) -> UnitErrors:
        """Bound them relative to the largest entry of u and to its norm."""
        movable, at, d = table.movable, table.at, U.shape[1]
        rows, row = movable.rows, movable.option_row
        share = (2 * d + 32) * EPS
        largest, norm = np.abs(U).max(axis=1, initial=0.0)[:, None], norm_upper(U)[:, None]
        size, score = movable.option_size, table.option_score_size
        m, curvature = table.m[rows][row], table.spread.curvature[row]
        row_norm = table.row_norm[rows]
        first = m * (np.abs(at.first[rows][row]) * size + curvature * score * size) * largest
        first = first + m * at.second[rows][row] * score * row_norm[row] * norm
        crossing = at.second[rows][row] * size * largest + np.abs(at.third[rows][row]) * score * row_norm[row] * norm
        return cls(up(share * row_norm * norm) + UNDERFLOW, up(share * first) + UNDERFLOW, up(share * crossing) + UNDERFLOW)


def _row_error(table: FilledTable, U: Array) -> Array:
    """Bound the rounding of ``x_i.u`` for every row (F2)."""
    return up((U.shape[1] + 4) * EPS * norm_upper(U)[:, None] * table.row_norm) + UNDERFLOW

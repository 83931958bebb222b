"""Bounds of a score for all tables that differ from a filled-in one as a set of moves allows (Theorem 9)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.around_filling.filled_table import FilledTable
from ipub.certificates.around_filling.metric import Whitened
from ipub.certificates.around_filling.prove_move import ProvedMove
from ipub.certificates.around_filling.remainder import Reach, Remainder
from ipub.certificates.around_filling.unit_terms import (
    Directions,
    FirstOrder,
    Products,
    first_order,
    product_norm,
    products_with_move,
    second_norm,
)
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

CHUNK_NUMBERS = 1 << 20
"""Numbers of one array of a chunk of rows: fewer calls against memory."""


@dataclass(frozen=True)
class FilledEllipsoid(ScoreBounds):
    """``|x.w'' - x.w'| <= radius |K x|``, for all x at once: keeps no training row."""

    w: Array
    K: Array
    radius: float
    name: str = "filling"

    @property
    def needs(self) -> Needs:
        return Needs(smooth_loss=True, matrices=True)

    @overflow_means_unbounded()
    def ends(self, X: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of the score of each row of X."""
        X = np.asarray(X, dtype=float)
        half = up(Whitened.of(self.K, X).norm * self.radius)
        low, high = dot_bounds(X, self.w)
        return down(low - half), up(high + half)

    def without_training_rows(self) -> FilledEllipsoid:
        return self


@dataclass(frozen=True)
class FilledBounds(ScoreBounds):
    """Bounds of ``x.w''`` around a filled-in table, for any x.

    Attributes
    ----------
    proved : ProvedMove
        ``|v|_W <= radius``, and the table.
    reach : Reach
        What is known of v, seen from training rows and coordinates.
    training_norms : array or None
        Bounds of the first order of the Hessian's change for all training rows and unit vectors, once computed.
    """

    proved: ProvedMove
    reach: Reach
    training_norms: Array | None = None
    name: str = "filling"

    @classmethod
    def of(cls, proved: ProvedMove) -> FilledBounds:
        """Start from what the ellipsoid says of each row and coordinate."""
        metric = proved.metric
        units = Whitened.of(metric.K, np.eye(len(metric.K)))
        return cls(proved, Reach(up(metric.rows.norm * proved.radius), up(units.norm * proved.radius)))

    @property
    def table(self) -> FilledTable:
        """The filled-in table."""
        return self.proved.metric.table

    @property
    def needs(self) -> Needs:
        return Needs(smooth_loss=True, matrices=True, training_rows=True)

    @property
    def ellipsoid(self) -> FilledEllipsoid:
        """The ellipsoid of moves alone."""
        return FilledEllipsoid(self.table.w, self.proved.metric.K, self.proved.radius)

    def without_training_rows(self) -> FilledEllipsoid | None:
        """Return the ellipsoid of moves, whose metric is a sum over all rows; None if these are few."""
        counted = np.count_nonzero(self.table.m * self.proved.metric.ratio * self.table.at.second)
        return self.ellipsoid if counted >= FEWEST_ROWS else None

    @overflow_means_unbounded()
    def narrowed(self) -> FilledBounds:
        """Return the bounds that put what these say of the training rows back in."""
        d = len(self.table.w)
        rows = np.concatenate([self.table.X, np.eye(d)])
        # With an l1 penalty u may be another one in the next round.
        norms = None if self.table.kappa.any() else self.training_norms
        low, high, norms = self._move_ends(rows, norms)
        found = np.maximum(np.abs(low), np.abs(high))
        both = np.fmin(found, np.concatenate([self.reach.rows, self.reach.coordinates]))
        coordinates = np.where(self._stays_zero(), 0.0, both[-d:])
        return replace(self, reach=Reach(both[:-d], coordinates), training_norms=norms)

    def _stays_zero(self) -> NDArray[np.bool_]:
        """Say which weights are zero in w' and in the model of every completion (Theorem 9, *elastic net*)."""
        table, metric, d = self.table, self.proved.metric, len(self.table.w)
        if not table.kappa.any():
            return np.zeros(d, dtype=bool)
        low, high, _ = self.force_ends(np.eye(d))
        size = sum_upper(np.abs(table.curvature) @ self.reach.coordinates, d + table.roundings)
        size = np.fmin(size, up(Whitened.of(metric.K, table.curvature).norm * self.proved.radius))
        # What the computed A is off by (F7).
        roots = up(np.sqrt(np.diag(table.curvature)))
        off = up(roots * sum_upper(roots @ self.reach.coordinates, d + 2)) * (2.0 * table.roundings * EPS)
        size = up(up(size + off) + UNDERFLOW)
        slope = np.maximum(np.abs(down(low - table.l1_choice)), np.abs(up(high - table.l1_choice)))
        return np.asarray((table.w == 0.0) & (up(slope + size) < table.kappa))

    @overflow_means_unbounded()
    def ends(self, X: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of the score of each row of X."""
        X = np.asarray(X, dtype=float)
        low, high, _ = self._move_ends(X, None)
        score_low, score_high = dot_bounds(X, self.table.w)
        return down(score_low + low), up(score_high + high)

    def _move_ends(self, X: Array, norms: Array | None) -> tuple[Array, Array, Array]:
        """Bound ``x.v`` for each row of X from below and from above; return `product_norm` of each as well."""
        movable, d = self.table.movable, X.shape[1]
        width = max(len(self.table.X), d * d, len(movable.option_unit), d * len(movable.generators) // 2)
        parts = []
        for rows in row_slices(len(X), width, CHUNK_NUMBERS):
            low, high, norm = self._ends_along(X[rows], self._inverse, None if norms is None else norms[rows])
            if self._undecided.any():
                low_of_all, high_of_all, _ = self._ends_along(X[rows], self._full_inverse, None)
                low, high = np.fmax(low, low_of_all), np.fmin(high, high_of_all)
            ellipsoid = up(Whitened.of(self.proved.metric.K, X[rows]).norm * self.proved.radius)
            parts.append((np.fmax(low, -ellipsoid), np.fmin(high, ellipsoid), norm))
        low, high, norm = (np.concatenate(part) for part in zip(*parts, strict=True)) if parts else np.zeros((3, 0))
        return low, high, norm

    def _ends_along(self, X: Array, inverse: Array, norms: Array | None) -> tuple[Array, Array, Array]:
        """Bound ``x.v`` by the equation of the model times ``u = inverse x``; any inverse is valid."""
        U = X @ inverse
        low, high, norm = self.force_ends(U, norms)
        # x.v = (x - A u).v - u.(grad P''(w' + v) + s' - A v) - u.(s'' - s')
        error = self._inverse_error(X, U)
        if self._undecided.any():
            signs, kappa, d = np.where(self._undecided, self.table.l1_choice, 0.0), self.table.kappa, X.shape[1]
            shift_low, shift_high = dot_bounds(U, -signs)
            low, high = down(low + shift_low), up(high + shift_high)
            error = up(error + sum_upper(np.abs(U) @ np.where(self._undecided, kappa, 0.0), d + 1))
        return down(-high - error), up(error - low), norm

    def force_ends(self, U: Array, norms: Array | None = None) -> tuple[Array, Array, Array]:
        """Bound ``u.(grad P''(w' + v) + s' - A v)`` over all moves and all v within the reach, for each row u of U.

        s' is the subgradient of the l1 part at w'. It is ``u.g_c + u.(g - g_c) + u.(B - A) v + u.N v``. Returns lower
        and upper bounds, and `product_norm`.
        """
        table, movable, remainder = self.table, self.table.movable, self._remainder
        center = U @ table.gradient
        error = sum_error(np.abs(U) @ np.abs(table.gradient), len(table.w) + 1)
        error = up(error + sum_upper(np.abs(U) @ table.gradient_error, len(table.w) + 1))
        products = U @ table.X.T
        far = (
            up(np.abs(products) + up((2 * U.shape[1] + 32) * EPS * norm_upper(U)[:, None] * table.row_norm)) + UNDERFLOW
        )
        if movable.n_units == 0:
            half = up(np.fmin(remainder.second_order(far), remainder.third_order(U, far)) + error)
            return down(center - half), up(center + half), np.zeros(len(U))
        at_u = Directions.of(table, U, products)
        far[:, movable.rows] = up(far[:, movable.rows] + at_u.row_change)
        if norms is None:
            norms = product_norm(self.proved.metric, at_u)
        rest = _Rest(
            products_with_move(table, at_u, remainder.unit_moves),
            up(norms * self.proved.radius),
            up(second_norm(self.proved.metric, at_u) * self.proved.radius),
            remainder.second_order(far),
            remainder.third_order(U, far),
        )
        first = first_order(table, at_u)
        reverse = FirstOrder(first.minus, first.plus)
        above, below = (self._least(each, rest) for each in (first, reverse))
        return down(center - up(below + error)), up(center + up(above + error)), norms

    def _least(self, first: FirstOrder, rest: _Rest) -> Array:
        """Return the least of what the ways to bound all terms give, for the sign that `first` is for."""
        table, movable = self.table, self.table.movable
        products, none = rest.products, np.zeros(len(first.plus))

        def total(units: Array | None, norm: Array) -> Array:
            return up(table.moves.total(movable, first.plus if units is None else up(first.plus + units)) + norm)

        # The products' first and second order unit by unit, or as the norm of a sum: the least for each u.
        ways = [
            (up(products.first + products.second), none),
            (products.second, rest.norm),
            (products.first, rest.second_norm),
            (None, up(rest.norm + rest.second_norm)),
        ]
        sums = np.array([total(*way) for way in ways])
        sums = np.where(np.isnan(sums), np.inf, sums)
        best = sums.argmin(axis=0)
        units = products.signed.copy()
        for number, (each, _) in enumerate(ways):
            if each is not None:
                units[best == number] = up(units + each)[best == number]
        norms = np.array([norm for _, norm in ways])[best, np.arange(len(best))]
        return np.asarray(np.fmin(up(sums.min(axis=0) + rest.second_order), up(total(units, norms) + rest.third_order)))

    @cached_property
    def _remainder(self) -> Remainder:
        return Remainder(self.proved, self.reach)

    @cached_property
    def _undecided(self) -> NDArray[np.bool_]:
        """Weights whose sign may differ between models, so that the l1 part of their equation may change."""
        return (self.table.kappa > 0.0) & ~(np.abs(self.table.w) > self.reach.coordinates)

    @cached_property
    def _full_inverse(self) -> Array:
        """An approximate inverse of the curvature."""
        inverse = np.linalg.pinv(self.table.curvature, hermitian=True)
        return np.asarray(0.5 * (inverse + inverse.T))

    @cached_property
    def _inverse(self) -> Array:
        """The same for weights whose sign is decided, and zero for others: then their signs have no part in it."""
        if not self._undecided.any():
            return self._full_inverse
        inverse, among = np.zeros_like(self.table.curvature), np.ix_(~self._undecided, ~self._undecided)
        inverse[among] = np.linalg.pinv(self.table.curvature[among], hermitian=True)
        return 0.5 * (inverse + inverse.T)

    def _inverse_error(self, X: Array, U: Array) -> Array:
        """Bound ``(x - A u).v``, with the exact A of the floats `at.second`."""
        table, d = self.table, X.shape[1]
        left = np.abs(X - U @ table.curvature)
        left = up(left + sum_error(np.abs(X) + np.abs(U) @ np.abs(table.curvature), d + 3))
        # The computed A is off by a share of the roots of its diagonal (F7).
        roots = up(np.sqrt(np.diag(table.curvature)))
        off = sum_upper(np.abs(U) @ roots, d + 2)[:, None] * roots
        left = up(left + up(off * (2.0 * table.roundings * EPS)) + UNDERFLOW)
        return sum_upper(left @ self.reach.coordinates, d + 2)


@dataclass(frozen=True)
class _Rest:
    """What is added to the first order, for several u."""

    products: Products
    norm: Array
    second_norm: Array
    """Of the products' first and second order, all units together."""
    second_order: Array
    third_order: Array
    """Two ways to bound ``|u.N v|``."""

"""Bounds of a score from the slope theorem (thm-slopes): first order exactly, the rest as small remainders.

A model w'' = w' + v of a completion satisfies ``A v = -(g + r)``, with A the curvature of the table's center, g the
gradient of the completion at w', and r everything of higher order. So ``x.v = -u.(g + r)`` for ``u = A^-1 x``. The part
of u.g that moves is a sum over the uncertain cells, each between two values that a product of matrices gives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ipub.certificates.slopes.categories import ChoiceTerms
from ipub.certificates.slopes.cell_groups import CellTable, ColumnGroups
from ipub.certificates.slopes.few_rows import has_few_rows, row_free_forms
from ipub.certificates.slopes.mean_value import MeanValueBounds
from ipub.certificates.slopes.moves import InverseError, LinearizedMoves, ProvedMoves, WrongLabelMoves
from ipub.model_sets.base import ModelSet
from ipub.numeric.linalg import Inverse, forms_upper, joint_form, root_form_upper, roots_upper
from ipub.numeric.parallel import CACHED_NUMBERS, in_threads, row_slices
from ipub.numeric.rounding import (
    UNDERFLOW,
    Array,
    dot_bounds,
    down,
    floats,
    overflow_means_unbounded,
    sum_error,
    sum_upper,
    up,
)
from ipub.tables.interval_matrix import Indices

LEAST_COORDINATE = 1e-9
"""A coordinate of u that is a smaller fraction of the largest divides no other: it protects from ratios whose rounding
is large; cells of that column are then looked at one by one."""

MOST_WRONG_LABEL_ROWS = 4_000
"""Up to so many rows whose label may be wrong, each is multiplied with each training row: width against time."""


@dataclass(frozen=True)
class FirstRound:
    """The moves that were proved in the first round: the warm start for similar problems."""

    move_limits: Array
    radius: float
    excess: float


@dataclass(frozen=True)
class SlopeBounds(ModelSet):
    """Bounds of ``x.w''`` from thm-slopes, for any x."""

    w: Array
    """Shape (n_features,): the reference w'."""
    curvature: Array
    inverse: Array
    """Shape (n_features, n_features): A, and an approximate inverse; any is valid. Zero for coordinates that are zero
    in every completion's model."""
    gradient: Array
    """Shape (n_features,): the middle of g over all completions."""
    slack: Array
    """Shape (n_features,): what is bounded coordinate by coordinate: ``|u|.slack`` is part of every bound."""
    forms: Array
    """Shape (n_forms, n_features, n_features): what is bounded by ``sqrt(u.Q u)``, one for each Q: that of the slopes'
    radii (K), first, is no part of the mean value; then that of cells of one row together (lem-cell-gradient), and that
    of rows at a jump if these are too many."""
    form_rows: Indices
    """Shape (n_forms,): how many training rows each of them is a sum over."""
    move_limits: Array
    """Shape (n_features,): bounds of ``|v_j|``."""
    ellipsoid: Inverse | None
    radius: float
    """``v.L v <= radius^2``, if L is known, with its inverse."""
    groups: ColumnGroups
    jump_rows: Array
    """Shape (n, n_features): rows z with a term of any size up to ``|z.u|``: those at the jump of a derivative."""
    mean_value: MeanValueBounds | None
    """For smooth losses and the L2 penalty."""
    cells: CellTable | None
    """Without them bounds use the groups alone; they then need nothing of the size of the training table."""
    n_slopes: int = 0
    """How many training rows the curvature is a sum over."""
    n_incomplete: int = 0
    """How many training rows have an uncertain cell or a missing category."""
    choices: tuple[ChoiceTerms, ...] = ()
    """Missing categories, one by one; like `cells`."""
    flipped: WrongLabelMoves | None = None
    """The rows of wrong labels; like `cells`."""
    excess: float = np.inf
    """About how many times as wide as to first order alone, which no bound can undercut; infinite if not known."""
    first: FirstRound | None = None
    """The bounds of the round that the others started from."""
    moving_shares: Array | None = None
    """Shape (n_features,): `moving_shares` (lem-column-form) for a similar problem, if its cells are to be summed."""
    prices: Array | None = None
    """Shape (n_features,): prices (lem-hessian) for it."""
    name: str = "slope"

    @property
    def keeps_training_rows(self) -> bool:
        return self.cells is not None or self.flipped is not None or bool(len(self.choices) or len(self.jump_rows))

    @property
    def terms_per_row(self) -> int:
        n_cells = 0 if self.cells is None else len(self.cells.rows)
        return n_cells + sum(terms.generator_row.size for terms in self.choices)

    def faster(self) -> SlopeBounds:
        return replace(self, choices=tuple(replace(terms, is_fast=True) for terms in self.choices))

    def in_columns(self) -> SlopeBounds:
        """Return the form that takes the cells of a column together (lem-column-form): wider by some per cent."""
        return replace(self, cells=None, choices=(), jump_rows=self.jump_rows[:0], flipped=None)

    def without_training_rows(self) -> SlopeBounds | None:
        """Return the form that keeps no training row, nor a sum over fewer than `FEWEST_ROWS` of them.

        As `in_columns`, and where a column has few cells a little wider. If the table has fewer incomplete rows than
        that, all that they do is bounded by a multiple of the curvature, which is a sum over all rows: wider by a
        factor of about the root of n_features.
        There is no such form (None) if the curvature itself is a sum over few rows, as that of the hinge can be.
        """
        if has_few_rows(np.array([self.n_slopes]))[0]:
            return None
        free = row_free_forms(
            self.gradient, self.forms, self.form_rows, self.groups, self.n_incomplete, self.curvature, self.inverse
        )
        alone = replace(self.in_columns(), **free._asdict())
        if not has_few_rows(np.array([self.n_incomplete]))[0]:
            return alone
        # What few rows do to the Hessian, and how far they move each weight, says as much as a sum over them.
        alone = replace(alone, ellipsoid=None, radius=np.inf, mean_value=None, first=None)
        with overflow_means_unbounded():
            low, high = alone.forces(self.inverse)
            limits = up(np.maximum(np.abs(low), np.abs(high)) + alone.inverse_error.upper(np.eye(len(self.w))))
        return replace(alone, move_limits=np.where(np.isfinite(limits), limits, np.inf))

    def ends(self, X: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of the score of each row of X."""
        X = floats(X)
        # The largest product is of rows with the cells of one group, or with the rows themselves.
        n_cells = 0 if self.cells is None else len(self.cells.rows) // max(1, len(self.groups.columns))
        chunks = [X[rows] for rows in row_slices(len(X), max(n_cells, len(self.w)), CACHED_NUMBERS)] or [X]
        parts = in_threads(self._ends, chunks)
        low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
        return low, high

    @cached_property
    def proved(self) -> ProvedMoves:
        """What was known of v before."""
        return ProvedMoves(self.move_limits, self.ellipsoid, self.radius)

    def as_move_set(self) -> LinearizedMoves:
        """Return what these bounds say of ``|x.v|`` as a set that does not grow with the training rows.

        Less tight than `ends`, and fast: all that is not of first order is one form.
        """
        flipped = self.flipped if self.flipped is not None and len(self.flipped.rows) <= MOST_WRONG_LABEL_ROWS else None
        # The last form of all is that of wrong labels.
        groups = self.groups.forms if flipped is None else self.groups.forms[:-1]
        with overflow_means_unbounded():
            form = joint_form(np.concatenate([self.forms, groups]), self.inverse)
            inverse_error = self.inverse_error
        return LinearizedMoves(self.inverse, self.gradient, self.slack, form, self.proved, inverse_error, flipped)

    @cached_property
    def inverse_error(self) -> InverseError:
        """What an inverse that is not exact leaves (fp-slopes)."""
        curvature, d = np.abs(self.curvature), len(self.w)
        left = np.abs(np.eye(d) - self.curvature @ self.inverse.T)
        left = up(left + sum_error(np.eye(d) + curvature @ np.abs(self.inverse.T), 2 * d + 8))
        least = up(UNDERFLOW * sum_upper((curvature @ self.move_limits).sum(), 2 * d + 1))
        return InverseError(sum_upper(self.move_limits @ left, d + 1), float(least))

    def forces(self, U: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of ``u.(g + r)`` for each row u, over all completions."""
        low, high = dot_bounds(U, self.gradient)
        half = sum_upper(np.abs(U) @ self.slack, U.shape[1] + 1)
        half = up(half + roots_upper(self.forms, U))
        half = up(half + (self.column_by_column(U) if self.cells is None else self.cell_by_cell(U, self.cells)))
        for terms in self.choices:
            below, above = terms.ends(U, self.proved.max_score_move)
            low, high = down(low - below), up(high + above)
        if self.flipped is not None:
            below, above = self.flipped.ends(U)
            low, high = down(low - below), up(high + above)
        return down(low - half), up(high + half)

    @overflow_means_unbounded()
    def _ends(self, X: Array) -> tuple[Array, Array]:
        if self.mean_value is None or not self.choices:
            return self.narrowed_by_mean_value(X, *self._by_slopes(X))
        low, high = self._scores(X, *self._by_mean_value(X, self.mean_value))
        # Products of levels with v are most of the work: only where bounds without them would be narrower.
        least_low, least_high = self._without_products._by_slopes(X)
        helps = np.flatnonzero(~((least_low <= low) & (least_high >= high)))
        slope_low, slope_high = self._by_slopes(X[helps])
        low[helps], high[helps] = np.fmax(low[helps], slope_low), np.fmin(high[helps], slope_high)
        return low, high

    @cached_property
    def _without_products(self) -> SlopeBounds:
        """What no bound by slopes can be narrower than; no bound by itself."""
        return replace(self, choices=tuple(terms.without_products() for terms in self.choices))

    def _by_slopes(self, X: Array) -> tuple[Array, Array]:
        """Bound the scores of rows by thm-slopes, without the mean value."""
        low, high = self.forces(X @ self.inverse)
        error = self.inverse_error.upper(np.abs(X))
        return self._scores(X, down(low - error), up(high + error))

    def narrowed_by_mean_value(self, X: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Intersect bounds of scores with those of the mean value, if there is one."""
        if self.mean_value is None:
            return low, high
        mean_low, mean_high = self._scores(X, *self._by_mean_value(X, self.mean_value))
        # Each bounds by itself, so a NaN is passed over.
        return np.fmax(low, mean_low), np.fmin(high, mean_high)

    def _scores(self, X: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Turn bounds of ``-x.v`` into bounds of ``x.w''``."""
        score_low, score_high = dot_bounds(X, self.w)
        return down(score_low - high), up(score_high - low)

    def _by_mean_value(self, X: Array, mean: MeanValueBounds) -> tuple[Array, Array]:
        """Bound ``-x.v`` by the gradient alone: no term of a cell depends on v (thm-mean-value)."""
        C = X @ mean.center
        error = sum_error(np.abs(X) @ np.abs(mean.center), X.shape[1] + 1)
        low, high = self._gradient_alone.forces(C)
        half = sum_upper(error @ mean.gradient_limits, X.shape[1] + 1)
        half = up(half + up(root_form_upper(mean.spread, X) * mean.force))
        return down(low - half), up(high + half)

    @cached_property
    def _gradient_alone(self) -> SlopeBounds:
        """What the mean value is applied to: no term of a cell depends on v."""
        cells, groups, slack = self.cells, self.groups, self.slack if self.mean_value is None else self.mean_value.slack
        if cells is not None:
            nothing = np.zeros_like(cells.product_row)
            cells = replace(cells, product_row=nothing, product_cell=nothing)
        signed = groups.signed and replace(groups.signed, product_vectors=np.zeros_like(groups.signed.product_vectors))
        groups = replace(groups, product_vectors=np.zeros_like(groups.product_vectors), signed=signed)
        choices = tuple(terms.at_rest() for terms in self.choices)
        return replace(self, slack=slack, forms=self.forms[1:], groups=groups, cells=cells, choices=choices)

    @cached_property
    def _group_forms(self) -> Array:
        signed = self.groups.signed
        return self.groups.forms if signed is None else np.concatenate([self.groups.forms, signed.curvature_forms])

    def column_by_column(self, U: Array) -> Array:
        """Bound the cells' part by one form a column (lem-column-form), or by the signs of most of its cells."""
        signed, n_forms = self.groups.signed, len(self.groups.forms)
        values = forms_upper(self._group_forms, U)
        roots = up(np.sqrt(values[:, :n_forms]))
        total: Array = sum_upper(roots.sum(axis=1), roots.shape[1] + 2)
        if signed is None or len(signed.columns) == 0:
            return total
        along = U[:, signed.columns]
        size, signs = np.abs(along), np.where(along >= 0.0, 1.0, -1.0)
        with np.errstate(divide="ignore"):
            excess = up(up(values[:, n_forms:] / (2.0 * size)) + up(2.0 * size * signed.sign_slack))
        by_signs = up(signs * (U @ signed.generators.T) + excess)
        # Where a number is NaN, the form is the bound.
        n_signed = by_signs.shape[1]
        takes = by_signs < roots[:, :n_signed]
        signs = np.where(takes, signs, 0.0)
        roots[:, :n_signed] = np.where(takes, by_signs, roots[:, :n_signed])
        # What the signed products add up to, as a direction in which v may lie.
        products = (signs * along) @ signed.product_vectors
        products[:, signed.columns] += signs * (U @ signed.product_vectors.T)
        smaller = up(roots.sum(axis=1) + sum_error(np.abs(roots).sum(axis=1), roots.shape[1] + 2))
        least: Array = np.fmin(total, up(smaller + self.proved.max_score_move(products)))
        return least

    def cell_by_cell(self, U: Array, cells: CellTable) -> Array:
        """Bound ``sum_k xi_k (G_k.u + Gamma_k.v) + (1 - xi_k^2) curv_k / 2`` (lem-cell-product), and rows at a jump."""
        groups = self.groups
        whole = U @ groups.generators.T
        signs = np.where(whole >= 0.0, 1.0, -1.0)
        total: Array = np.abs(whole).sum(axis=1)
        total = up(total + sum_upper(self._uncertain_excess(U, cells, signs), len(cells.product_row) + 30))
        # What the signed products add up to, as a direction in which v may lie.
        products = (signs * U[:, groups.columns]) @ groups.product_vectors
        for g, column in enumerate(groups.columns):
            products[:, column] += signs[:, g] * (U @ groups.product_vectors[g])
        with_v = self.proved.max_score_move(products)
        total = up(sum_upper(total, len(groups.columns) + 2) + with_v)
        if len(self.jump_rows):
            rows = np.abs(U @ self.jump_rows.T).sum(axis=1)
            total = up(total + sum_upper(rows, len(self.jump_rows) + 2))
        return total

    def _uncertain_excess(self, U: Array, cells: CellTable, signs: Array) -> Array:
        """Sum up ``M(t - n) + n - t`` over the cells for each u, rounding apart (lem-cell-product).

        A cell with ``t >= n + F`` adds t: its group's generator has it already. Only the others are looked at.
        """
        largest, excess = np.abs(U).max(axis=1), np.zeros(len(U))
        lowest, highest = cells.certain_ratios
        ranges = zip(self.groups.columns, cells.starts, cells.starts[1:], strict=False)
        for g, (column, start, stop) in enumerate(ranges):
            along = U[:, column]
            screened = signs[:, g] * np.copysign(1.0, cells.generator_cell[start]) * along > LEAST_COORDINATE * largest
            factor = np.where(screened, along, 1.0)
            ratios = (U / factor[:, None]) @ cells.rows[start:stop].T
            is_certain = ratios <= highest[start:stop]
            is_certain &= ratios >= lowest[start:stop]
            is_certain[~screened] = False
            uncertain = np.flatnonzero(~is_certain)
            i = uncertain // (stop - start)
            k = uncertain - (stop - start) * i + start
            along, across = along[i], ratios.ravel()[uncertain] * factor[i]
            t = signs[i, g] * (cells.generator_row[k] * across + cells.generator_cell[k] * along)
            along, across = np.abs(along), np.abs(across)
            n = across * cells.product_row[k] + along * cells.product_cell[k]
            F = across * cells.curvature_row[k] + along * cells.curvature_cell[k]
            rest = np.abs(t - n)
            excess += np.bincount(i, np.maximum(rest, 0.5 * (rest + F)) + n - t, minlength=len(U))
        return excess

"""Bounds of a score from the slope theorem (Theorem 6): first order exactly, the rest as small remainders.

A model w'' = w' + v of a completion satisfies ``A v = -(g + r)``, with A the curvature of the table's center, g the
gradient of the completion at w', and r everything of higher order. So ``x.v = -u.(g + r)`` for ``u = A^-1 x``. The part
of u.g that moves is a sum over the uncertain cells, each between two values that a product of matrices gives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ipub.certificates.slope.categories import ChoiceTerms
from ipub.data.interval_matrix import Indices
from ipub.engine import Block
from ipub.linalg import Inverse, forms_upper, joint_form, root_form_upper, roots_upper
from ipub.parallel import in_threads, row_slices
from ipub.rounding import UNDERFLOW, Array, dot_bounds, down, overflow_means_unbounded, sum_error, sum_upper, up

NEGLIGIBLE = 1e-9
"""A coordinate below this share of the largest is no divisor."""

CHUNK_ROWS = 512
"""Test rows that are looked at in one go, so that what is computed for the cells of a group stays in the cache."""

GROUPED_ROWS = 4096
"""The same where cells are not looked at one by one: there is less to keep."""

FLIP_NUMBERS = 1 << 20
"""Products of test rows with rows whose label may be wrong that are computed in one go."""

MOST_FLIP_ROWS = 4_000
"""Up to so many rows whose label may be wrong, each of them is looked at for each training row."""


@dataclass(frozen=True)
class SignedColumns:
    """The cells of each column as if all signs were certain, and what that can miss (Lemma 8 (b)).

    Attributes
    ----------
    columns : array of shape (n_columns,)
    generators : array of shape (n_columns, n_features)
        Sum of the generators, each with the sign of its level.
    pulls : array of shape (n_columns, n_features)
        Sum of ``m_i R_ij h_i x_i``, each with the sign of its cell's level.
    bows : array of shape (n_columns, n_features, n_features)
        Matrices Q: ``u.Q u / (2 |u_j|)`` and
    spare : array of shape (n_columns,)
        twice this times ``|u_j|`` bound what signs that are not certain add.
    """

    columns: Indices
    generators: Array
    pulls: Array
    curvature_forms: Array
    spare: Array


@dataclass(frozen=True)
class ColumnGroups:
    """The uncertain cells by column and sign of the loss's derivative, and by column: nothing as long as the table.

    Attributes
    ----------
    columns : array of shape (n_groups,)
    generators : array of shape (n_groups, n_features)
        Sum of the generators of the cells of each group.
    pulls : array of shape (n_groups, n_features)
        Sum of ``m_i R_ij h_i x_i`` over the cells of each group.
    forms : array of shape (n_forms, n_features, n_features)
        Matrices S with ``sqrt(u.S u)`` at least what the cells of one column can add, remainders included. One more
        stands for the rows at a jump, and one for wrong labels.
    leaning : Leaning or None
        Another bound for each column: that of the first forms, in order.
    """

    columns: Indices
    generators: Array
    pulls: Array
    forms: Array
    leaning: SignedColumns | None = None


@dataclass(frozen=True)
class CellTable:
    """The uncertain cells one by one, sorted by their groups.

    The term of cell k is ``D (G.u + n) + (1 - D^2) F / 2`` for a D in [-1, 1], with ``|n| <= |x.u| pull_row + |u_j|
    pull_cell`` and ``|F| <= |x.u| bend_row + |u_j| bend_cell``.
    """

    starts: Indices
    """First cell of each group, and the number of cells."""
    rows: Array
    """The row x of each cell."""
    rise: Array
    level: Array
    """``G = rise x + level e_j``; level has one sign in a whole group."""
    pull_row: Array
    pull_cell: Array
    bend_row: Array
    bend_cell: Array

    @cached_property
    def certain(self) -> tuple[Array, Array]:
        """Between which ratios ``x.u/u_j`` a cell's term is ``|G.u|``, if ``level u_j`` has the sign of its group."""
        near = np.abs(self.level) - (self.pull_cell + self.bend_cell)
        rise, doubt = np.copysign(1.0, self.level) * self.rise, self.pull_row + self.bend_row
        with np.errstate(divide="ignore", invalid="ignore"):
            lowest = np.where(doubt + rise > 0.0, -near / (doubt + rise), -np.inf)
            highest = np.where(doubt - rise > 0.0, near / (doubt - rise), np.inf)
        return np.where(near >= 0.0, lowest, np.inf), np.where(near >= 0.0, highest, -np.inf)


@dataclass(frozen=True)
class MeanValueBounds:
    """What ``v = -H^-1 g`` says, with H between two matrices (Theorem 4 (c)): better where intervals are wide.

    Attributes
    ----------
    center, spread : arrays of shape (n_features, n_features)
        C and E with ``-E <= H^-1 - C <= E`` in the order of matrices.
    slack : array of shape (n_features,)
        What is bounded coordinate by coordinate in ``c.g``.
    reach : array of shape (n_features,)
        Bounds of ``|g_j|``.
    force : float
        Bound of ``sqrt(g.E g)``.
    """

    center: Array
    spread: Array
    slack: Array
    reach: Array
    force: float


@dataclass(frozen=True)
class FirstRound:
    """The moves that were proved first, of which a similar problem had best think: `SlopeBounds` without the rest."""

    farthest: Array
    radius: float
    excess: float


@dataclass(frozen=True)
class SlopeBounds:
    """Bounds of ``x.w''`` from Theorem 6, for any x.

    Attributes
    ----------
    w : array of shape (n_features,)
        The reference w'.
    curvature, inverse : arrays of shape (n_features, n_features)
        A, and an approximate inverse; any will do. Zero for coordinates that are zero in every completion's model.
    gradient : array of shape (n_features,)
        The middle of g over all completions.
    slack : array of shape (n_features,)
        What is bounded coordinate by coordinate: ``|u|.slack`` is part of every bound.
    forms : array of shape (n_forms, n_features, n_features)
        What is bounded by ``sqrt(u.Q u)``, one for each Q.
    farthest : array of shape (n_features,)
        Bounds of ``|v_j|``.
    ellipsoid, radius : Inverse or None, and float
        ``v.L v <= radius^2``, if L is known, with its inverse.
    groups : Groups
    generators : array of shape (n, n_features)
        Rows z with a term of any size up to ``|z.u|``: those at the jump of a derivative.
    mean_value : MeanValue or None
        For smooth losses and the L2 penalty.
    cells : Cells or None
        Without them bounds use the groups alone; they then need nothing of the size of the training table.
    choices : tuple of ChoiceTerms
        Missing categories, one by one; like `cells`.
    flips : array of shape (n, n_features) or None
        Rows z of which at most `n_flips`, whichever, add a term between 0 and ``z.u``: those of wrong labels. Like
        `cells`.
    n_flips : int
    excess : float
        About how many times as wide as to first order alone, which no bound can undercut; infinite if not known.
    first : FirstRound or None
        The bounds of the round that the others started from.
    shares : array of shape (n_features,) or None
        How a similar problem had best share the form of each column (Lemma 8), if its cells are to be summed.
    """

    w: Array
    curvature: Array
    inverse: Array
    gradient: Array
    slack: Array
    forms: Array
    farthest: Array
    ellipsoid: Inverse | None
    radius: float
    groups: ColumnGroups
    generators: Array
    mean_value: MeanValueBounds | None
    cells: CellTable | None
    choices: tuple[ChoiceTerms, ...] = ()
    flips: Array | None = None
    n_flips: int = 0
    excess: float = np.inf
    first: FirstRound | None = None
    shares: Array | None = None

    def grouped(self) -> SlopeBounds:
        """Return the form that is free of training rows: wider by some per cent."""
        return replace(self, cells=None, choices=(), generators=self.generators[:0], flips=None)

    def ends(self, X: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of the score of each row of X."""
        X = np.asarray(X, dtype=float)
        most = GROUPED_ROWS if self.cells is None else CHUNK_ROWS
        chunks = [X[rows] for rows in row_slices(len(X), 1, most)] or [X]
        parts = in_threads(self._ends, chunks)
        low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
        return low, high

    def reach(self, X: Array) -> Array:
        """Bound ``|x.v|`` for each row x: less tight than `ends`, and fast."""
        X = np.asarray(X, dtype=float)
        with overflow_means_unbounded():
            U, size = X @ self.inverse, np.abs(X)
            low, high = dot_bounds(U, self.gradient)
            if (flips := self._few_flips) is not None:
                below, above = self._flipped(U, flips)
                low, high = down(low - below), up(high + above)
            half = up(sum_upper(np.abs(U) @ self.slack, X.shape[1] + 1) + roots_upper(self._one_form, U))
            half = up(half + self._missed(size))
            return np.asarray(np.fmin(self._known_reach(X), up(np.maximum(np.abs(low), np.abs(high)) + half)))

    def reach_of(self, block: Block) -> Array:
        """Bound ``|x.v|`` for the rows x of a block's center."""
        return self.reach(block.center)

    @cached_property
    def _one_form(self) -> Array:
        # The last form of all is that of wrong labels.
        groups = self.groups.forms if self._few_flips is None else self.groups.forms[:-1]
        return joint_form(np.concatenate([self.forms, groups]), self.inverse)[None]

    @cached_property
    def _group_forms(self) -> Array:
        leaning = self.groups.leaning
        return self.groups.forms if leaning is None else np.concatenate([self.groups.forms, leaning.curvature_forms])

    @property
    def _few_flips(self) -> Array | None:
        return self.flips if self.flips is not None and len(self.flips) <= MOST_FLIP_ROWS else None

    def _known_reach(self, X: Array) -> Array:
        """Bound ``|x.v|`` by what was known of v before: its box, and its ellipsoid."""
        reach = sum_upper(np.abs(X) @ self.farthest, X.shape[1] + 1)
        if self.ellipsoid is None:
            return reach
        # fmin passes over a NaN: each bounds by itself.
        return np.asarray(np.fmin(reach, up(self.ellipsoid.norm_upper(X) * self.radius)))

    def forces(self, U: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of ``u.(g + r)`` for each row u, over all completions."""
        low, high, half = self._common(U)
        half = up(half + (self._grouped(U) if self.cells is None else self._cell_by_cell(U, self.cells)))
        for each in self.choices:
            below, above = each.ends(U, self._known_reach)
            low, high = down(low - below), up(high + above)
        if self.flips is not None:
            below, above = self._flipped(U, self.flips)
            low, high = down(low - below), up(high + above)
        return down(low - half), up(high + half)

    def _flipped(self, U: Array, flips: Array) -> tuple[Array, Array]:
        """Bound what wrong labels take from and add to u.g: the most that so many rows can."""
        count, ends = min(self.n_flips, len(flips)), np.zeros((2, len(U)))
        for rows in row_slices(len(U), len(flips), FLIP_NUMBERS):
            products = U[rows] @ flips.T
            if 0 < count < len(flips):
                products.partition((count - 1, len(flips) - count), axis=1)
            lowest, highest = products[:, :count], products[:, len(flips) - count :]
            # A NaN is put last: both ends then have one, or none.
            lost = np.isnan(highest).any(axis=1)
            below, above = np.maximum(-lowest, 0.0).sum(axis=1), np.maximum(highest, 0.0).sum(axis=1)
            ends[:, rows] = np.where(lost, np.nan, sum_upper(np.array([below, above]), count + 2))
        return ends[0], ends[1]

    @overflow_means_unbounded()
    def _ends(self, X: Array) -> tuple[Array, Array]:
        low, high = self.forces(X @ self.inverse)
        missed = self._missed(np.abs(X))
        low, high = self._scores(X, down(low - missed), up(high + missed))
        return self.narrowed_by_mean_value(X, low, high)

    def narrowed_by_mean_value(self, X: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Intersect bounds of scores with those of the mean value, if there is one."""
        if self.mean_value is None:
            return low, high
        other_low, other_high = self._scores(X, *self._by_mean_value(X, self.mean_value))
        # Each bounds by itself, so a NaN is passed over.
        return np.fmax(low, other_low), np.fmin(high, other_high)

    def _scores(self, X: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Turn bounds of ``-x.v`` into bounds of ``x.w''``."""
        score_low, score_high = dot_bounds(X, self.w)
        return down(score_low - high), up(score_high - low)

    def _by_mean_value(self, X: Array, mean: MeanValueBounds) -> tuple[Array, Array]:
        """Bound ``-x.v`` by the gradient alone: no term of a cell depends on v."""
        C = X @ mean.center
        error = sum_error(np.abs(X) @ np.abs(mean.center), X.shape[1] + 1)
        cells, groups = self.cells, self.groups
        if cells is not None:
            nothing = np.zeros_like(cells.pull_row)
            cells = replace(cells, pull_row=nothing, pull_cell=nothing)
        still = groups.leaning and replace(groups.leaning, pulls=np.zeros_like(groups.leaning.pulls))
        groups = replace(groups, pulls=np.zeros_like(groups.pulls), leaning=still)
        choices = tuple(each.at_rest() for each in self.choices)
        alone = replace(self, slack=mean.slack, forms=self.forms[1:], groups=groups, cells=cells, choices=choices)
        low, high = alone.forces(C)
        loose = up(sum_upper(error @ mean.reach, X.shape[1] + 1) + up(root_form_upper(mean.spread, X) * mean.force))
        return down(low - loose), up(high + loose)

    def _missed(self, size: Array) -> Array:
        """Bound ``|(x - A u).v|`` for rows of sizes ``|x|``: what an inverse that is not exact leaves (F9)."""
        each, least = self._miss
        return up(sum_upper(size @ each, size.shape[1] + 1) + least)

    @cached_property
    def _miss(self) -> tuple[Array, float]:
        curvature, d = np.abs(self.curvature), len(self.w)
        left = np.abs(np.eye(d) - self.curvature @ self.inverse.T)
        left = up(left + sum_error(np.eye(d) + curvature @ np.abs(self.inverse.T), 2 * d + 8))
        least = up(UNDERFLOW * sum_upper((curvature @ self.farthest).sum(), 2 * d + 1))
        return sum_upper(self.farthest @ left, d + 1), float(least)

    def _common(self, U: Array) -> tuple[Array, Array, Array]:
        """Bound u.g in the middle, and all that is not a matter of single cells."""
        low, high = dot_bounds(U, self.gradient)
        half = sum_upper(np.abs(U) @ self.slack, U.shape[1] + 1)
        return low, high, up(half + roots_upper(self.forms, U))

    def _grouped(self, U: Array) -> Array:
        """Bound the cells' part column by column: by one form each, or by the signs that most of its cells have."""
        leaning, n_forms = self.groups.leaning, len(self.groups.forms)
        values = forms_upper(self._group_forms, U)
        roots = up(np.sqrt(values[:, :n_forms]))
        total: Array = sum_upper(roots.sum(axis=1), roots.shape[1] + 2)
        if leaning is None or len(leaning.columns) == 0:
            return total
        along = U[:, leaning.columns]
        size, signs = np.abs(along), np.where(along >= 0.0, 1.0, -1.0)
        with np.errstate(divide="ignore"):
            missed = up(up(values[:, n_forms:] / (2.0 * size)) + up(2.0 * size * leaning.spare))
        leans = up(signs * (U @ leaning.generators.T) + missed)
        # A NaN is not taken: the form serves.
        takes = leans < roots[:, : leans.shape[1]]
        signs = np.where(takes, signs, 0.0)
        roots[:, : leans.shape[1]] = np.where(takes, leans, roots[:, : leans.shape[1]])
        # What the signed pulls add up to, as a direction in which v may lie.
        pulls = (signs * along) @ leaning.pulls
        pulls[:, leaning.columns] += signs * (U @ leaning.pulls.T)
        other = up(roots.sum(axis=1) + sum_error(np.abs(roots).sum(axis=1), roots.shape[1] + 2))
        return np.asarray(np.fmin(total, up(other + self._known_reach(pulls))))

    def _cell_by_cell(self, U: Array, cells: CellTable) -> Array:
        """Bound ``sum_k D_k (G_k.u + N_k.v) + (1 - D_k^2) F_k / 2``, v included (Lemma 7).

        A cell with ``t >= n + F`` adds t: its group's generator has it already. Only the others are looked at.
        """
        groups, largest = self.groups, np.abs(U).max(axis=1)
        whole = U @ groups.generators.T
        signs = np.where(whole >= 0.0, 1.0, -1.0)
        total: Array = np.abs(whole).sum(axis=1)
        doubtful: Array = np.zeros(len(U))
        lowest, highest = cells.certain
        for g, (column, start, stop) in enumerate(zip(groups.columns, cells.starts, cells.starts[1:], strict=False)):
            along = U[:, column]
            screened = signs[:, g] * np.copysign(1.0, cells.level[start]) * along > NEGLIGIBLE * largest
            factor = np.where(screened, along, 1.0)
            ratios = (U / factor[:, None]) @ cells.rows[start:stop].T
            is_certain = ratios <= highest[start:stop]
            is_certain &= ratios >= lowest[start:stop]
            is_certain[~screened] = False
            found = np.flatnonzero(~is_certain)
            i = found // (stop - start)
            k = found - (stop - start) * i + start
            along, across = along[i], ratios.ravel()[found] * factor[i]
            t = signs[i, g] * (cells.rise[k] * across + cells.level[k] * along)
            along, across = np.abs(along), np.abs(across)
            pull = across * cells.pull_row[k] + along * cells.pull_cell[k]
            bend = across * cells.bend_row[k] + along * cells.bend_cell[k]
            rest = np.abs(t - pull)
            more = np.maximum(rest, 0.5 * (rest + bend)) + pull - t
            doubtful += np.bincount(i, more, minlength=len(U))
        total = up(total + sum_upper(doubtful, len(cells.pull_row) + 30))
        # What the signed pulls add up to, as a direction in which v may lie.
        pulls = (signs * U[:, groups.columns]) @ groups.pulls
        for g, column in enumerate(groups.columns):
            pulls[:, column] += signs[:, g] * (U @ groups.pulls[g])
        with_v = self._known_reach(pulls)
        total = up(sum_upper(total, len(groups.columns) + 2) + with_v)
        if len(self.generators):
            rows = np.abs(U @ self.generators.T).sum(axis=1)
            total = up(total + sum_upper(rows, len(self.generators) + 2))
        return total

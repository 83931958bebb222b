"""The filled-in table at w': scores, derivatives and their ranges over all moves of each row (section 14)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipub.certificates.around_filling.moves import BudgetMoves, row_sums
from ipub.certificates.around_filling.units import MovableRows
from ipub.engine import Block
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import EPS, Array, down, midpoint_and_radius, norm_upper, sum_error, sum_upper, up

MOST_NUMBERS = 1 << 24
"""A table with more numbers than this is not gathered (128 MiB): the worst case is used alone."""


class TableRows(NamedTuple):
    """All rows of a table in one place."""

    X: Array
    y: Array
    weight: Array


def _table_rows(block: Block) -> TableRows:
    return TableRows(block.center, block.y, block.weight)


class RowDerivatives(NamedTuple):
    """The derivative of each row's loss at its score, and the next two: floats, and how far the exact ones are off."""

    first: Array
    first_error: Array
    second: Array
    second_error: Array
    third: Array
    third_error: Array

    @classmethod
    def of(cls, loss: Loss, y: Array, lower: Array, upper: Array) -> RowDerivatives:
        """Enclose all three at scores that lie in [lower, upper]."""
        ranges = (method(y, lower, upper) for method in (loss.derivative_range, loss.curvature_range))
        first, second = (midpoint_and_radius(*each) for each in ranges)
        third = midpoint_and_radius(*loss.curvature_slope_range(y, lower, upper))
        return cls(*first, *second, *third)


class ScoreSpread(NamedTuple):
    """Over all moves of each movable row, at w': bounds of its derivatives' derivatives."""

    curvature: Array
    """b_i: the greatest curvature."""
    slope_lower: Array
    slope_upper: Array
    """The derivative of the curvature lies between these."""
    slope: Array
    """c2_i: its greatest size."""
    bend: Array
    """c4_i: the greatest size of the curvature's second derivative."""


@dataclass(frozen=True)
class FilledTable:
    """A filled-in table with what may move in it, at one vector of weights.

    Attributes
    ----------
    loss : Loss
    w : array of shape (n_features,)
        w', any vector.
    lam, kappa : arrays of shape (n_features,)
        The L2 and the l1 penalty of each coordinate, 0 for an intercept.
    X, y, m : arrays of n rows
        The table, its labels, and the weights of its rows over their sum (off by a few roundings).
    movable : MovableRows
    moves : BudgetMoves
    """

    loss: Loss
    w: Array
    lam: Array
    kappa: Array
    X: Array
    y: Array
    m: Array
    movable: MovableRows
    moves: BudgetMoves

    @classmethod
    def of(cls, problem: Problem, w: Array, movable: MovableRows, moves: BudgetMoves) -> FilledTable | None:
        """Gather the rows of a problem; None if they are too many."""
        gathered = problem.rows.gather(_table_rows, most=MOST_NUMBERS)
        if gathered is None:
            return None
        rows, d = TableRows(*gathered), len(w)
        m = rows.weight / problem.rows.total_weight
        lam, kappa = problem.penalty.lam_vector(d), problem.penalty.kappa_vector(d)
        return cls(problem.loss, w, lam, kappa, rows.X, rows.y, m, movable, moves)

    @property
    def n_features(self) -> int:
        """Number of columns, that of an intercept included."""
        return len(self.w)

    @property
    def roundings(self) -> int:
        """More than the roundings of any sum over rows, units and columns of products of a few numbers (F2)."""
        return 2 * self.n_features + len(self.X) + 64

    @cached_property
    def row_norm(self) -> Array:
        """Euclidean norms of the rows, rounded up."""
        return norm_upper(self.X)

    @cached_property
    def scores(self) -> tuple[Array, Array]:
        """Bounds of ``p_i = x_i.w'``."""
        score = self.X @ self.w
        error = sum_error(np.abs(self.X) @ np.abs(self.w), len(self.w) + 1)
        return down(score - error), up(score + error)

    @cached_property
    def at(self) -> RowDerivatives:
        """Derivatives of all rows at their scores."""
        return RowDerivatives.of(self.loss, self.y, *self.scores)

    @cached_property
    def option_score(self) -> Array:
        """``delta_o.w'``, as computed."""
        return self.movable.changes(self.w)

    @cached_property
    def option_score_size(self) -> Array:
        """``sum_j |delta_oj w'_j|``, rounded up: what rounding of `option_score` is relative to."""
        return self.movable.changes_within(np.abs(self.w))

    @cached_property
    def unit_score(self) -> Array:
        """q_k: bounds of ``|delta_o.w'|`` over the options of each unit."""
        return self.movable.greatest(self._score_change(1.0, np.abs(self.option_score)))

    def _score_change(self, sign: float, change: Array) -> Array:
        return np.maximum(up(sign * change + up(4.0 * EPS * self.option_score_size)), 0.0)

    @cached_property
    def row_score(self) -> Array:
        """Q_i: bounds of ``|delta_i.w'|`` of each movable row."""
        return self.moves.row_totals(self.movable, self.unit_score)

    @cached_property
    def other_units_score(self) -> Array:
        """For each unit a bound of ``|delta.w'|`` of the other units of its row."""
        return self.of_other_units(self.unit_score, self.row_score)

    def of_other_units(self, values: Array, row_totals: Array) -> Array:
        """Bound for each unit what the others of its row can add up to, of what all of them can (`row_totals`)."""
        of = self.movable.unit_row
        width = sum(slots.shape[1] for _, slots in self.movable.groups)
        sums = row_sums(self.movable, values)[..., of]
        # Both are rounded up, so their difference is relative to the sum.
        others = np.maximum(up(sums - values + 2.0 * (width + 8) * EPS * sums), 0.0)
        return np.asarray(np.minimum(row_totals[..., of], others))

    @cached_property
    def score_ranges(self) -> tuple[Array, Array]:
        """Bounds of ``x''_i.w'`` of every row, over all moves."""
        lower, upper = (end.copy() for end in self.scores)
        rows, totals, change = self.movable.rows, self.moves.row_totals, self.option_score
        up_most, down_most = (self.movable.greatest(self._score_change(sign, change)) for sign in (1.0, -1.0))
        lower[rows] = down(lower[rows] - totals(self.movable, down_most))
        upper[rows] = up(upper[rows] + totals(self.movable, up_most))
        return lower, upper

    @cached_property
    def spread(self) -> ScoreSpread:
        """Bounds over all moves of each movable row, at w'."""
        lower, upper = (end[self.movable.rows] for end in self.score_ranges)
        y = self.y[self.movable.rows]
        slope_lower, slope_upper = self.loss.curvature_slope_range(y, lower, upper)
        return ScoreSpread(
            self.loss.curvature_range(y, lower, upper)[1],
            slope_lower,
            slope_upper,
            np.maximum(np.abs(slope_lower), np.abs(slope_upper)),
            self.loss.curvature_bend_upper(y, lower, upper),
        )

    @cached_property
    def l1_choice(self) -> Array:
        """A subgradient of the l1 part at w' that leaves as little gradient as it can."""
        return np.where(self.w == 0.0, np.clip(-self._smooth, -self.kappa, self.kappa), self.kappa * np.sign(self.w))

    @cached_property
    def _smooth(self) -> Array:
        return np.asarray((self.m * self.at.first) @ self.X + self.lam * self.w)

    @cached_property
    def gradient(self) -> Array:
        """The (sub)gradient at w' of the filled-in table, as computed."""
        return self._smooth + self.l1_choice

    @cached_property
    def gradient_error(self) -> Array:
        """What each of its coordinates may be off by."""
        sizes = np.abs(self.X)
        size = (self.m * np.abs(self.at.first)) @ sizes + np.abs(self.lam * self.w) + self.kappa
        return up(sum_error(size, self.roundings) + sum_upper((self.m * self.at.first_error) @ sizes, self.roundings))

    @cached_property
    def curvature(self) -> Array:
        """A: the Hessian at w' of the filled-in table with the floats `at.second`, as computed."""
        gram = (self.X * (self.m * self.at.second)[:, None]).T @ self.X
        return 0.5 * (gram + gram.T) + np.diag(self.lam)

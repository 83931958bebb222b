"""Row sums with one matrix for all directions: nearly as narrow where little may differ, at a small part of the cost.

Theorem 11 with the multipliers ``u = Z y`` and ``z_i = k_i x_i.u``, Z about the inverse of the Hessian at w and k_i the
slope of row i's derivative there, is a few matrix products for all directions at once (Lemma 30).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.graphs import LossGraph, heights_of_lines
from ipub.certificates.row_sums.ranges import COARSE, Ranges, kernel_type
from ipub.certificates.row_sums.table import RowTable, gradient_upper
from ipub.certificates.row_sums.upper import largest_scores
from ipub.model_sets.base import ModelSet, Outcome, Reason
from ipub.model_sets.proofs import Relaxed, prove
from ipub.model_sets.region import Region
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import (
    EPS,
    TINY,
    UNDERFLOW,
    Array,
    dot_bounds,
    down,
    midpoint_and_radius,
    norm_upper,
    overflow_means_unbounded,
    sum_error,
    sum_upper,
    up,
)
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows.completions import whole_table
from ipub.tables.interval_matrix import Indices

MOST_WORK = 1 << 29
"""Rows times directions times columns, at most: time, about a tenth of a second a round."""

TOGETHER = 1 << 15
"""Numbers that are looked at together, which fit into a processor's cache."""

N_PIECES = 6
"""Pieces into which the scores of a row are cut: width against time."""

CAN_BE_NARROWED = 1.1
"""Where ranges are this many times as wide as to first order, rows that are asked for also have sums with a matrix for
each: width against time."""

WIDE = 1.7
"""Where they are this many times as wide, ranges are narrowed by such sums, once, before: width against time."""

FIRST_WIDTH, WIDENING = 1.25, (0.03, 0.1)
"""Width of the first ranges, in first-order changes; and by how much more than what was found they are widened."""

WIDER_THAN_ANOTHER = 1.05
"""Ranges begin so many times as wide as those of another draw: most close at once, against width."""


class _Reached(NamedTuple):
    """What ranges of the scores and weights say of the rows; all rounded outward."""

    largest_weight: Array
    ends: tuple[Array, Array]
    """Of each weight."""
    spread: Array
    """Shape (n,): how far the derivative may be from its line, times the row's weight, both ways; and..."""
    shift: Array
    """Shape (d,): ...by how much more one way, summed over the rows; with its error."""
    shift_error: Array
    of_cells: Array
    """Shape (d,): what moves of scores and derivatives add to each column, over its uncertain cells."""


@dataclass(frozen=True, eq=False)
class OneMatrixTable:
    """A table whose cells are in intervals, as sums with one matrix see it."""

    X: Array
    weight: Array
    graph: LossGraph
    w: Array
    gradient: Array
    lam: Array
    rows: Indices
    columns: Indices
    radii: Array
    """Uncertain cells, column by column."""

    @classmethod
    def of(cls, problem: Problem, solution: Solution) -> OneMatrixTable | None:
        """Gather a table; None if it is long, or anything but numbers is uncertain, or the penalty has an l1 part."""
        rows, d = problem.rows, problem.rows.n_features
        is_usable = problem.loss.is_smooth and problem.penalty.kappa == 0.0 and not rows.uncertain_labels
        if not (is_usable and np.isfinite(solution.w).all() and rows.n_rows * (rows.n_rows + d) * d <= MOST_WORK):
            return None
        table = whole_table(rows)
        if table.missing_counts.any() or not table.cell_counts.any():
            return None
        keep = table.weight > 0.0
        weight = table.weight / rows.total_weight
        gradient = gradient_upper(problem, solution, table.center[keep], table.y[keep], weight[keep])
        in_row = np.repeat(np.arange(len(weight)), table.cell_counts)
        order = np.argsort(table.cell_columns, kind="stable")
        graph = LossGraph(problem.loss, table.y)
        cells = in_row[order], table.cell_columns[order], table.cell_radii[order]
        return cls(table.center, weight, graph, solution.w, gradient, problem.penalty.lam_vector(d), *cells)

    @property
    def directions(self) -> Array:
        """All rows, and the unit vectors."""
        return np.concatenate([self.X, np.eye(len(self.w))])

    @cached_property
    def lines(self) -> tuple[Array, Array, Array]:
        """A score of each row, its derivative there and its slope: any numbers, as they are written."""
        score = self.X @ self.w
        return score, self.graph.value(score), self.graph.slope(score)

    @cached_property
    def hessian(self) -> tuple[Array, Array]:
        """``K = Lambda + sum_i m_i k_i x_i x_i'``, as computed, and the sum of the sizes of its terms."""
        weight = self.weight * self.lines[2]
        size, diagonal = np.abs(self.X), np.diag(self.lam)
        return diagonal + (self.X.T * weight) @ self.X, diagonal + (size.T * np.abs(weight)) @ size

    @cached_property
    def inverse(self) -> Array:
        """About the inverse of K; any matrix is valid."""
        return np.asarray(np.linalg.inv(self.hessian[0]), dtype=float)

    @cached_property
    def middle(self) -> tuple[Array, Array]:
        """``sum_i m_i (k_i s_i - p_i) x_i``, whose product with u is about ``y.w``, and its error."""
        score, value, slope = self.lines
        size = np.abs(self.X).T @ (self.weight * (np.abs(slope * score) + np.abs(value)))
        return self.X.T @ (self.weight * (slope * score - value)), sum_error(size, len(self.X) + 8)

    @cached_property
    def norms(self) -> Array:
        """Norms of the rows, rounded up."""
        return norm_upper(self.X)

    @cached_property
    def of_cells(self) -> tuple[Array, Array]:
        """For each cell ``m_i r p_i`` and ``m_i r k_i``."""
        _, value, slope = self.lines
        weight = self.weight[self.rows] * self.radii
        return weight * value[self.rows], weight * slope[self.rows]

    def by_column(self, values: Array) -> Array:
        """Add up non-negative values of cells, rounded up."""
        total: Array = np.bincount(self.columns, values, minlength=len(self.w)).astype(float)
        return sum_upper(total, len(self.X) + 8)

    def reached(self, lower: Array, upper: Array) -> _Reached:
        """Bound what the rows can do while their scores, and the weights, are in ranges."""
        n, d = self.X.shape
        score, value, slope = self.lines
        low, high = lower[n:], upper[n:]
        largest = np.maximum(np.abs(low), np.abs(high))
        moves: Array = np.bincount(self.rows, self.radii * largest[self.columns], minlength=n).astype(float)
        moves = sum_upper(moves, d + 4)
        least, most = down(lower[:n] - moves), up(upper[:n] + moves)
        above, below = heights_of_lines(self.graph, slope, least, most, N_PIECES)
        rise = slope * score
        below_line, above_line = up(above + up(value - down(rise))), up(below + up(up(rise) - value))
        shift = 0.5 * (below_line - above_line)
        off = np.maximum(0.0, np.maximum(up(below_line - shift), up(above_line + shift)))
        farthest = np.maximum(0.0, np.maximum(below_line, above_line))
        reach = up(np.maximum(most - score, score - least))
        weighted = self.weight * shift
        return _Reached(
            largest,
            (low, high),
            up(up(self.weight * off)),
            self.X.T @ weighted,
            sum_error(np.abs(self.X).T @ np.abs(weighted), n + 8),
            self.by_column((self.weight * up(up(np.abs(slope) * reach) + farthest))[self.rows] * self.radii),
        )

    def ends(self, reached: _Reached, Y: Array) -> tuple[Array, Array]:
        """Bound ``y.w''`` for each direction, rounded outward (Lemma 30)."""
        low, high = np.empty(len(Y)), np.empty(len(Y))
        for some in row_slices(len(Y), max(len(self.X), len(self.rows)), TOGETHER):
            low[some], high[some] = self._ends(reached, Y[some])
        return low, high

    def _ends(self, reached: _Reached, Y: Array) -> tuple[Array, Array]:
        n, d = self.X.shape
        height = n + 2 * d + 32
        U = Y @ self.inverse
        size, length = np.abs(U), norm_upper(U)
        K, K_size = self.hessian
        left = up(np.abs(Y - U @ K) + height * EPS * (np.abs(Y) + size @ K_size) + UNDERFLOW)
        middle, middle_error = self.middle
        change = U @ (middle + reached.shift)
        change_size = size @ (np.abs(middle) + np.abs(reached.shift))
        C = self.X @ U.T
        pull, bend = self.of_cells
        weights = np.maximum(np.abs(reached.ends[0]), np.abs(reached.ends[1]))[self.columns]
        # An inner product x.u is off by so much, relative to |x| |u|; and so are the products of a cell.
        relative = (
            (d + 16)
            * EPS
            * float(
                sum_upper(
                    reached.spread @ self.norms + 2.0 * (np.abs(bend) * weights) @ self.norms[self.rows],
                    height + len(self.rows),
                )
            )
        )
        of_columns = up(reached.of_cells + 16 * EPS * self.by_column(np.abs(pull)))
        total = (
            reached.spread @ np.abs(C)
            + self._of_first_order(U, C, reached.ends)
            + size @ up(up(of_columns + self.gradient) + up(middle_error + reached.shift_error))
            + left @ reached.largest_weight
            + length * relative
            + height * EPS * change_size
        )
        total = sum_upper(total, height + len(self.rows))
        return down(change - total), up(change + total)

    def _of_first_order(self, U: Array, C: Array, weights: tuple[Array, ...]) -> Array:
        """Return the largest sum over the cells of ``m r |p u_j + k c w_j|``, each w_j one number for its column."""
        pull, bend = self.of_cells
        starts = np.flatnonzero(np.concatenate([[True], np.diff(self.columns) > 0]))
        of_row, of_column, best = C[self.rows], U.T[self.columns], None
        of_column *= pull[:, None]
        for end in weights:
            found = of_row * (bend * end[self.columns])[:, None]
            found += of_column
            np.abs(found, out=found)
            sums = np.add.reduceat(found, starts, axis=0)
            best = sums if best is None else np.maximum(best, sums)
        assert best is not None
        return np.asarray(best.sum(axis=0))


@dataclass(frozen=True, eq=False)
class OneMatrixBounds(ModelSet):
    """Bounds of ``x.w''`` by row sums over ranges that were proved with one matrix."""

    table: OneMatrixTable
    all_rows: RowTable | None
    """For sums with a matrix for each direction; None if they would gain little."""
    lower: Array
    upper: Array
    """Ranges of all rows and weights, for the models of all completions."""
    tried: tuple[Array, Array]
    """How far below and above w the ranges reached that proved themselves."""
    excess: float
    """How many times as wide they are as to first order: the median over rows and weights."""
    name: str = "row sums with one matrix"

    @property
    def keeps_training_rows(self) -> bool:
        return True

    @property
    def box(self) -> Region:
        """The ranges of the weights, which can be kept without training rows."""
        n = len(self.table.X)
        return Region("box", *midpoint_and_radius(self.lower[n:], self.upper[n:]), 0.0)

    @cached_property
    def _reached(self) -> _Reached:
        return self.table.reached(self.lower, self.upper)

    @cached_property
    def _closer(self) -> Ranges | None:
        """The ranges for sums with a matrix for each direction, if these gain much; they are made when asked for."""
        table = self.all_rows
        if table is None or kernel_type() is None:
            return None
        Y, n = table.directions, len(table.directions)
        ranges = replace(Ranges.of(table, *self._one_matrix_ends(Y), on_path=False), accuracy=COARSE)
        if self.excess <= WIDE:
            return ranges
        bounds = largest_scores(ranges, np.concatenate([Y, -Y]))
        return ranges.within(-bounds[n:], bounds[:n])

    @overflow_means_unbounded()
    def ends(self, X: Array) -> tuple[Array, Array]:
        low, high = self._one_matrix_ends(np.asarray(X, dtype=float))
        try:
            if self._closer is None:
                return low, high
            highest = largest_scores(self._closer, np.concatenate([X, -X]))
        except np.linalg.LinAlgError:
            return low, high
        return np.fmax(low, -highest[len(X) :]), np.fmin(high, highest[: len(X)])

    def _one_matrix_ends(self, X: Array) -> tuple[Array, Array]:
        low, high = self.table.ends(self._reached, X)
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)

    def without_training_rows(self) -> None:
        """Return nothing: every bound looks at every row."""


class _Guess(NamedTuple):
    """How far ranges that may hold all models reach below w, and above it."""

    below: Array
    above: Array


@overflow_means_unbounded()
def prove_with_one_matrix(
    problem: Problem, solution: Solution, like: OneMatrixBounds | None = None
) -> Outcome[OneMatrixBounds]:
    """Prove ranges of all rows and weights by their own sums (Theorem 12), beginning with those of a similar table."""
    table = OneMatrixTable.of(problem, solution)
    if table is None:
        return Outcome(None, Reason.NOT_APPLICABLE)
    Y = table.directions
    try:
        _ = table.inverse
    except np.linalg.LinAlgError:
        return Outcome(None, Reason.UNBOUNDED)
    at_w = dot_bounds(Y, table.w)
    # Of another draw only whether it was wide counts.
    first = _first_order(table, Y) if like is None else np.ones(len(Y))

    def relax(guess: _Guess) -> Relaxed[_Guess, OneMatrixBounds] | None:
        lower, upper = down(at_w[0] - guess.below), up(at_w[1] + guess.above)
        low, high = table.ends(table.reached(lower, upper), Y)
        is_bounded = bool(np.isfinite(lower).all() and np.isfinite(upper).all())
        excess = float(np.median((high - low) / (2.0 * first))) if like is None else like.excess
        bounds = OneMatrixBounds(
            table, None, np.fmax(lower, low), np.fmin(upper, high), (guess.below, guess.above), excess
        )
        if is_bounded and bool(((low > lower) & (high < upper)).all()):
            all_rows = RowTable.for_asked_rows(problem, solution) if excess > CAN_BE_NARROWED else None
            return Relaxed(replace(bounds, all_rows=all_rows), True, guess)
        found = _Guess(at_w[0] - low, high - at_w[1])
        wider = (
            np.maximum(before, each * (1.0 + np.clip(each / before - 1.0, *WIDENING)))
            for before, each in zip(guess, found, strict=True)
        )
        is_hopeless = not (is_bounded and np.isfinite(low).all() and np.isfinite(high).all())
        return Relaxed(bounds, False, _Guess(*wider), is_hopeless)

    if like is None:
        start = _Guess(FIRST_WIDTH * first, FIRST_WIDTH * first)
    else:
        start = _Guess(*(WIDER_THAN_ANOTHER * each for each in like.tried))
    proved, _ = prove(relax, start)
    return proved


def _first_order(table: OneMatrixTable, Y: Array) -> Array:
    """Return how far directions move to first order; never 0."""
    rise = np.empty(len(Y))
    for some in row_slices(len(Y), max(len(table.X), len(table.rows)), TOGETHER):
        U = Y[some] @ table.inverse
        rise[some] = table._of_first_order(U, table.X @ U.T, (table.w,))
    scale = np.abs(Y @ table.w)
    return np.asarray(np.maximum(rise, np.maximum(1e-6 * scale, 1e-9 * max(scale.max(), rise.max(), TINY))))

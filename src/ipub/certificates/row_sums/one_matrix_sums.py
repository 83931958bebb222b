"""Sums over all rows with one matrix for all directions (lem-one-matrix): a table, and what ranges say of its rows.

The multipliers of a direction y are a vector u and ``z_i = k_i x_i.u``, k_i the slope of a line near the derivative of
row i. Cells that y pulls to their ends change the Hessian K of these lines: ``K u = y + N``, with N what they add.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ipub.certificates.row_sums.graphs import LossGraph, heights_of_lines
from ipub.certificates.row_sums.ranges import chord
from ipub.certificates.row_sums.table import gradient_upper
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import EPS, TINY, UNDERFLOW, Array, dot_bounds, down, norm_upper, sum_upper, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows.completions import whole_table
from ipub.tables.interval_matrix import Indices

MOST_WORK = 1 << 29
"""Rows times directions times columns, at most: time, about a tenth of a second a round."""

TOGETHER = 1 << 16
"""Numbers that are looked at together, which fit into a processor's cache."""

N_PIECES = 6
"""Pieces into which the scores of a row are cut: width against time."""


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
    """Uncertain cells."""

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
        cells = np.repeat(np.arange(len(weight)), table.cell_counts), table.cell_columns, table.cell_radii
        graph, lam = LossGraph(problem.loss, table.y), problem.penalty.lam_vector(d)
        return cls(table.center, weight, graph, solution.w, gradient, lam, *cells)

    @property
    def directions(self) -> Array:
        """All rows, and the unit vectors."""
        return np.concatenate([self.X, np.eye(len(self.w))])

    @cached_property
    def norms(self) -> Array:
        """Norms of the rows, rounded up."""
        return norm_upper(self.X)

    @cached_property
    def indicators(self) -> tuple[csr_array, csr_array]:
        """Matrices that add up values of cells by their rows, and by their columns."""
        n_cells, (n, d) = len(self.rows), self.X.shape
        ones, cells = np.ones(n_cells), np.arange(n_cells)
        by_row = csr_array((ones, (self.rows, cells)), shape=(n, n_cells))
        return by_row, csr_array((ones, (self.columns, cells)), shape=(d, n_cells))

    def by_row(self, values: Array) -> Array:
        """Add up non-negative values of cells for each row, rounded up."""
        return sum_upper(self.indicators[0] @ values, len(self.w) + 8)

    def by_column(self, values: Array) -> Array:
        """Add up non-negative values of cells for each column, rounded up."""
        return sum_upper(self.indicators[1] @ values, len(self.X) + 8)


class _Lines(NamedTuple):
    """A line ``base + slope t`` for the derivative of each row, any numbers, and how far it may be from there."""

    base: Array
    slope: Array
    off: Array

    @classmethod
    def of(cls, graph: LossGraph, least: Array, most: Array) -> _Lines:
        """Lay the chords over ranges of scores, and move them into the middle of what they are off by."""
        slope = chord(graph, least, most)
        above, below = heights_of_lines(graph, slope, least, most, N_PIECES)
        base = 0.5 * (below - above)
        return cls(base, slope, np.maximum(0.0, np.maximum(up(above + base), up(below - base))))


class _Cells(NamedTuple):
    """Factors of ``u_j`` and of ``x.u`` in the term of each cell (G, nu and N of lem-one-matrix), as a column each."""

    pull_of_column: Array
    pull_of_row: Array
    limit_of_column: Array
    limit_of_row: Array
    bend: Array


class _Sums(NamedTuple):
    """Sums over rows and cells, for each direction."""

    of_rows: Array
    """How far derivatives may be from their lines."""
    of_cells: Array
    """What cells do at most, at the center and with how far the ranges reach from there."""
    pulled: Array
    """Shape (n_directions, d): what cells add to the matrix, times u."""


class AboutEnds(NamedTuple):
    """Bounds with one u for both ends, and what is to be expected of bounds with one for each."""

    low: Array
    high: Array
    about_low: Array
    about_high: Array
    pulled: Array
    """Shape (n_directions, d): about what the cells that a direction, or its opposite, pulls add to the matrix."""


class OneMatrixSums:
    """Sums for all w in ranges, with multipliers that suit these: lines, center and matrix are chosen by them."""

    def __init__(self, table: OneMatrixTable, lower: Array, upper: Array) -> None:
        self.table, X, weight, (n, d) = table, table.X, table.weight, table.X.shape
        low, high = lower[n:], upper[n:]
        self._height = n + 2 * d + len(table.rows) + 64
        self.center = 0.5 * low + 0.5 * high
        self._of_weights = up(np.maximum(high - self.center, self.center - low))
        at_center = dot_bounds(X, self.center)
        of_scores = up(np.maximum(upper[:n] - at_center[0], at_center[1] - lower[:n]))
        moves = table.by_row(table.radii * np.maximum(np.abs(low), np.abs(high))[table.columns])
        self.lines = _Lines.of(table.graph, down(lower[:n] - moves), up(upper[:n] + moves))
        base, slope, off = self.lines
        self._spread = up(weight * off)
        diagonal, size, steep = np.diag(table.lam), np.abs(X), weight * np.abs(slope)
        self.matrix = diagonal + (X.T * (weight * slope)) @ X
        self._matrix_size = diagonal + (size.T * steep) @ size
        self.inverse = _inverse(self.matrix)
        self._middle = -(X.T @ (weight * base)) - self.matrix @ self.center
        self._middle_size = size.T @ (weight * np.abs(base)) + self._matrix_size @ np.abs(self.center)
        rise = slope * (X @ self.center)
        doubt = up(np.abs(slope) * up(at_center[1] - at_center[0])) + 4.0 * EPS * (np.abs(base) + np.abs(rise))
        self._cells = self._cells_of(base + rise, of_scores)
        farthest = up(up(np.abs(slope) * moves) + up(off + doubt))
        of_cells = table.by_column((weight * farthest)[table.rows] * table.radii)
        self._of_columns = up(up(of_cells + table.gradient) + self._height * EPS * self._column_sizes(size))
        in_rows = (np.abs(self._cells.pull_of_row) + 2.0 * self._cells.limit_of_row)[:, 0] @ table.norms[table.rows]
        self._of_length = self._height * EPS * sum_upper(float(self._spread @ table.norms + in_rows), self._height)

    def _cells_of(self, derivative: Array, of_scores: Array) -> _Cells:
        """Return the factors of cells, given what the lines have at the center and how far scores may be from there."""
        table, rows, columns = self.table, self.table.rows, self.table.columns
        part = table.weight[rows] * table.radii
        bend = part * self.lines.slope[rows]
        factors = (
            part * derivative[rows],
            bend * self.center[columns],
            np.abs(bend) * of_scores[rows],
            np.abs(bend) * self._of_weights[columns],
            bend,
        )
        return _Cells(*(factor[:, None] for factor in factors))

    def _column_sizes(self, size: Array) -> Array:
        """Return for each column the sizes of all that is multiplied with its u, over its cells."""
        cells, reach = self._cells, (size @ self._of_weights)[self.table.rows]
        sizes = np.abs(cells.pull_of_column) + cells.limit_of_column + np.abs(cells.bend) * reach[:, None]
        return self.table.by_column(sizes[:, 0])

    def multipliers(self, Y: Array, pulled: Array) -> Array:
        """Return u for each direction, whose cells add `pulled` to the matrix times u."""
        return np.asarray((Y + pulled) @ self.inverse)

    def first_order(self, Y: Array) -> Array:
        """Return about how far directions move to first order, if the ranges hold one vector."""
        return self._sums(Y @ self.inverse).of_cells

    def about(self, Y: Array) -> AboutEnds:
        """Bound ``y.w''`` for each direction with one u for both ends, and look at what other u would do."""
        U = Y @ self.inverse
        sums, (value, doubt) = self._sums(U), self._middles(Y, U)
        total = self._totals(U, sums) + doubt
        left = self._of_left(Y, U, np.abs(Y - U @ self.matrix) + np.abs(sums.pulled))
        bound = sum_upper(total + left, self._height)
        return AboutEnds(down(value - bound), up(value + bound), value - total, value + total, sums.pulled)

    def ends(self, Y: Array, pulled: Array | None = None) -> tuple[Array, Array]:
        """Bound ``y.w''`` for each direction, rounded outward, given about what its cells add to the matrix."""
        pulled = self.about(Y).pulled if pulled is None else pulled
        high, negative = (self.upper(each, self.multipliers(each, pulled)) for each in (Y, -Y))
        return -negative, high

    def upper(self, Y: Array, U: Array) -> Array:
        """Bound ``y.w''`` from above, with any multipliers u, for each direction (lem-one-matrix)."""
        sums, (value, doubt) = self._sums(U), self._middles(Y, U)
        left = self._of_left(Y, U, np.abs(Y - U @ self.matrix + sums.pulled))
        return up(value + sum_upper(self._totals(U, sums) + doubt + left, self._height))

    def _middles(self, Y: Array, U: Array) -> tuple[Array, Array]:
        """Return what bounds of both ends have in common, and what it may be off by."""
        size = np.abs(Y) @ np.abs(self.center) + np.abs(U) @ self._middle_size
        return Y @ self.center + U @ self._middle, self._height * EPS * size

    def _totals(self, U: Array, sums: _Sums) -> Array:
        """Return the sums of non-negative parts, but for those that depend on the direction itself."""
        total: Array = sums.of_rows + sums.of_cells + np.abs(U) @ self._of_columns + norm_upper(U) * self._of_length
        return total

    def _of_left(self, Y: Array, U: Array, left: Array) -> Array:
        """Return what is left of directions, as far as the weights reach, with its rounding."""
        doubt = self._height * EPS * (np.abs(Y) + np.abs(U) @ self._matrix_size) + UNDERFLOW
        return np.asarray(up(left + doubt) @ self._of_weights)

    def _sums(self, U: Array) -> _Sums:
        """Sum over rows and cells, for each direction."""
        n_cells = len(self.table.rows)
        slices = row_slices(len(U), max(len(self.table.X), n_cells), TOGETHER) or [slice(0, 0)]
        room = np.empty((5, n_cells * slices[0].stop))
        parts = [self._sums_of_some(np.ascontiguousarray(U[some].T), room) for some in slices]
        return _Sums(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _sums_of_some(self, u: Array, room: Array) -> _Sums:
        """Sum for the directions that are the columns of u, with room for five numbers of each cell and direction."""
        table, cells, shape = self.table, self._cells, (len(self.table.rows), u.shape[1])
        of_row, of_column, pull, limit, share = (each[: shape[0] * shape[1]].reshape(shape) for each in room)
        C = table.X @ u
        np.take(C, table.rows, axis=0, out=of_row)
        np.take(u, table.columns, axis=0, out=of_column)
        np.multiply(of_row, cells.pull_of_row, out=pull)
        np.multiply(of_column, cells.pull_of_column, out=limit)
        pull += limit
        np.multiply(of_row, cells.limit_of_row, out=limit)
        np.abs(limit, out=limit)
        np.multiply(of_column, cells.limit_of_column, out=share)
        limit += np.abs(share, out=share)
        np.divide(pull, np.maximum(limit, TINY, out=share), out=share)
        np.clip(share, -1.0, 1.0, out=share)
        share *= cells.bend
        of_row *= share
        of_column *= share
        by_row, by_column = table.indicators
        pulled = by_column @ of_row + table.X.T @ (by_row @ of_column)
        largest = np.maximum(np.abs(pull, out=pull), limit, out=limit).sum(axis=0)
        return _Sums(self._spread @ np.abs(C), largest, pulled.T)


def _inverse(matrix: Array) -> Array:
    """Return about the inverse; where there is none, anything else."""
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=float)
    except np.linalg.LinAlgError:
        return np.zeros_like(matrix)

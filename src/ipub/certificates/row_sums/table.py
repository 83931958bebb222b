"""A small training table in one place: complete rows, incomplete ones with what may vary in them, and directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.certificate import Certificate
from ipub.certificates.row_sums.graphs import JoinedGraphs, LossGraph, SignGraph
from ipub.certificates.row_sums.labels import TableGraphs, TwoLabels, label_pair
from ipub.certificates.row_sums.settled import Settled, unsettled_rows
from ipub.certificates.row_sums.tilt import gradient_upper, is_coercive
from ipub.data.interval_matrix import Indices
from ipub.data.missing_category import Levels
from ipub.engine import Rows
from ipub.engine.completions import WholeTable, whole_table
from ipub.problem import Problem
from ipub.rounding import Array, sum_error, sum_upper
from ipub.solvers import Solution

MOST_ROWS = 5_000
"""Longer tables are not looked at: each row's score is bounded by a sum over all rows."""

MOST_WORK = 1 << 32
"""Rows times directions times columns squared, at most: about what one round of all ranges costs."""

MOST_LEVELS = 64
"""Categories with more levels are not looked at: each level of a missing one is tried."""


@dataclass(frozen=True, eq=False)
class MissingLevels:
    """Where one category is missing.

    Attributes
    ----------
    rows : array of shape (n_missing,)
        Positions among the incomplete rows.
    columns : array of shape (n_levels,)
        The columns of its levels.
    center : float
        The value of each of these columns where the category is missing.
    """

    rows: Indices
    columns: Indices
    center: float


@dataclass(frozen=True, eq=False)
class RowTable:
    """All rows of a small table, as the row sums see them.

    Attributes
    ----------
    lam : array of shape (d,)
        Strength of the l2 penalty of each coordinate.
    complete : array of shape (n_complete, d)
        Rows without uncertain cells; with an l1 penalty also the unit vectors of its coordinates, whose derivative is
        that of the penalty.
    complete_weight : array of shape (n_complete,)
    complete_graph : LossGraph or JoinedGraphs
        The derivatives of these rows, at the center where labels are uncertain.
    incomplete : array of shape (n_incomplete, d)
        Centers of the other rows.
    incomplete_weight : array of shape (n_incomplete,)
    incomplete_graph : LossGraph
    cell_rows, cell_columns, cell_radii : arrays of shape (n_cells,)
        Uncertain cells: the first of every incomplete row, then the second of every row that has one, and so on. A row
        is a position among the incomplete rows, which are in the order of their number of cells.
    ranks : tuple of int
        How many rows have a first, a second, ... cell.
    missing : tuple of MissingLevels
    directions : array of shape (k, d)
        Rows and unit vectors, each once: their products with a model are what ranges are about.
    complete_at, incomplete_at, weights_at : arrays
        Which direction each row, and each weight, is.
    gradient_upper : array of shape (d,)
        Bounds of the size of the center's gradient at w (with the best subgradient of an l1 penalty).
    w : array of shape (d,)
    """

    lam: Array
    complete: Array
    complete_weight: Array
    complete_graph: LossGraph | JoinedGraphs
    incomplete: Array
    incomplete_weight: Array
    incomplete_graph: LossGraph
    cell_rows: Indices
    cell_columns: Indices
    cell_radii: Array
    ranks: tuple[int, ...]
    missing: tuple[MissingLevels, ...]
    directions: Array
    complete_at: Indices
    incomplete_at: Indices
    weights_at: Indices
    gradient_upper: Array
    w: Array
    settled: Settled
    """Of the rows that are left out."""
    is_coercive: bool
    """Whether every objective between the center, tilted so that w is its model, and a completion has a model."""
    labels: TwoLabels | None = None
    """Where labels are uncertain: the derivatives with either of the two labels of each row."""

    @classmethod
    def of(cls, problem: Problem, solution: Solution) -> RowTable | None:
        """Gather a table; None if it is too long, or its labels are uncertain in a way that is not looked at."""
        rows, d = problem.rows, problem.rows.n_features
        if _has_many_levels(rows) or not _is_small(rows.n_rows, d):
            return None
        table = whole_table(rows)
        keep = table.weight > 0.0
        weight = table.weight[keep] / rows.total_weight
        gradient = gradient_upper(problem, solution, table.center[keep], table.y[keep], weight)
        return cls._of(problem, solution, table, Settled.nothing(d), gradient)

    @classmethod
    def within(cls, problem: Problem, solution: Solution, known: Certificate) -> RowTable | None:
        """Gather a table for the models of completions alone, given bounds of their scores.

        Rows of which these bounds settle the derivative are left out. None if too many rows are left, or labels are
        uncertain in a way that is not looked at.
        """
        rows, d = problem.rows, problem.rows.n_features
        if _has_many_levels(rows) or (problem.loss.is_smooth and not _is_small(rows.n_rows, d)):
            return None
        found = unsettled_rows(problem, known, MOST_ROWS)
        if found is None or not _is_small(len(found[1].y), d):
            return None
        settled, table = found
        return cls._of(problem, solution, table, settled, None)

    @classmethod
    def _of(
        cls,
        problem: Problem,
        solution: Solution,
        table: WholeTable,
        settled: Settled,
        gradient: Array | None,
    ) -> RowTable | None:
        """Order the rows of a table; without a gradient it is for the models of completions alone."""
        rows, d = problem.rows, problem.rows.n_features
        pair = label_pair(problem.loss, table, rows.max_wrong_labels) if rows.uncertain_labels else None
        if pair is None and rows.uncertain_labels:
            return None
        weight, keep = table.weight / rows.total_weight, table.weight > 0.0
        is_incomplete = keep & ((table.cell_counts > 0) | (table.missing_counts > 0))
        plain, numbers = keep & ~is_incomplete, np.flatnonzero(is_incomplete)
        numbers = numbers[np.argsort(-table.cell_counts[numbers], kind="stable")]
        position = np.full(len(table.y), -1)
        position[numbers] = np.arange(len(numbers))
        center = LossGraph(problem.loss, table.y)
        complete, complete_weight = _with_l1_part(problem, table.center[plain], weight[plain])
        incomplete = table.center[numbers]

        def graphs(of_all: LossGraph) -> TableGraphs:
            return TableGraphs(_with_l1_graph(problem, of_all.of_rows(plain), d), of_all.of_rows(numbers))

        labels = pair and TwoLabels(graphs(pair.first), graphs(pair.second), rows.max_wrong_labels or None)
        directions, at = np.unique(np.concatenate([complete, incomplete, np.eye(d)]), axis=0, return_inverse=True)
        at, n_complete, n_rows = at.ravel(), len(complete), len(complete) + len(incomplete)
        return cls(
            problem.penalty.lam_vector(d),
            complete,
            complete_weight,
            graphs(center).complete,
            incomplete,
            weight[numbers],
            graphs(center).incomplete,
            *_cells(table, position),
            _missing(table, position, rows.categories),
            directions,
            complete_at=at[:n_complete],
            incomplete_at=at[n_complete:n_rows],
            weights_at=at[n_rows:],
            gradient_upper=np.zeros(d) if gradient is None else gradient,
            w=solution.w,
            settled=settled,
            is_coercive=gradient is not None and is_coercive(problem, pair or (center, center), weight, gradient),
            labels=labels,
        )

    @property
    def is_uncertain(self) -> bool:
        """Whether cells, categories or labels are uncertain."""
        return len(self.incomplete) > 0 or self.labels is not None

    @property
    def graphs(self) -> TableGraphs:
        """The derivatives of all rows; at the center where labels are uncertain."""
        return TableGraphs(self.complete_graph, self.incomplete_graph)

    def derivative_ranges(
        self, complete: tuple[Array, Array], incomplete: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Bound the derivatives of complete and incomplete rows, with either label, given the ends of their scores."""
        graphs = (self.graphs,) if self.labels is None else (self.labels.first, self.labels.second)
        of_complete = [each.complete.range(*complete) for each in graphs]
        of_incomplete = [each.incomplete.range(*incomplete) for each in graphs]
        first, second = (
            (np.minimum.reduce([low for low, _ in each]), np.maximum.reduce([high for _, high in each]))
            for each in (of_complete, of_incomplete)
        )
        return first, second

    def without(
        self, complete: NDArray[np.bool_], incomplete: NDArray[np.bool_], derivatives: tuple[Array, Array]
    ) -> tuple[RowTable, Indices]:
        """Leave out rows whose derivatives are known, and add them up; return also which directions are left.

        Parameters
        ----------
        complete, incomplete : arrays of shape (n_complete,), (n_incomplete,)
            Which rows are left out; no category is missing in these.
        derivatives : tuple of arrays
            Of all complete and incomplete rows; only those of rows that are left out count.
        """
        kept, left = ~complete, ~incomplete
        cells, position = left[self.cell_rows], np.cumsum(left) - 1
        used = np.unique(np.concatenate([self.complete_at[kept], self.incomplete_at[left], self.weights_at]))
        place = np.full(len(self.directions), -1)
        place[used] = np.arange(len(used))
        counts = [int(cells[a:b].sum()) for a, b in pairwise(np.cumsum([0, *self.ranks]))]
        smaller = replace(
            self,
            complete=self.complete[kept],
            complete_weight=self.complete_weight[kept],
            complete_graph=self.complete_graph.of_rows(kept),
            incomplete=self.incomplete[left],
            incomplete_weight=self.incomplete_weight[left],
            incomplete_graph=self.incomplete_graph.of_rows(left),
            cell_rows=position[self.cell_rows[cells]],
            cell_columns=self.cell_columns[cells],
            cell_radii=self.cell_radii[cells],
            ranks=tuple(count for count in counts if count),
            missing=tuple(replace(each, rows=position[each.rows]) for each in self.missing),
            directions=self.directions[used],
            complete_at=place[self.complete_at[kept]],
            incomplete_at=place[self.incomplete_at[left]],
            weights_at=place[self.weights_at],
            settled=self._settled_with(complete, incomplete, derivatives),
            labels=self.labels and self.labels.of_rows(kept, left),
        )
        return smaller, used

    def _settled_with(
        self, complete: NDArray[np.bool_], incomplete: NDArray[np.bool_], derivatives: tuple[Array, Array]
    ) -> Settled:
        """Add rows to what is settled already."""
        rows = np.concatenate([self.complete[complete], self.incomplete[incomplete]])
        pull = np.where(incomplete, self.incomplete_weight * derivatives[1], 0.0)
        radius = np.bincount(self.cell_columns, np.abs(pull)[self.cell_rows] * self.cell_radii, minlength=len(self.w))
        pull = np.concatenate([(self.complete_weight * derivatives[0])[complete], pull[incomplete]])
        size = np.abs(pull) @ np.abs(rows) + np.abs(self.settled.middle)
        error = sum_error(size, len(rows) + 8)
        radius = sum_upper(self.settled.radius + radius + error, len(self.cell_rows) + 8)
        return Settled(self.settled.middle + pull @ rows, radius)

    @property
    def rows_and_weights_at(self) -> Indices:
        """Which direction each complete row, each incomplete one and each weight is."""
        return np.concatenate([self.complete_at, self.incomplete_at, self.weights_at])

    @cached_property
    def complete_squares(self) -> Array:
        """``x x^T`` of every complete row, each as one row."""
        squares: Array = np.einsum("ij,ik->ijk", self.complete, self.complete)
        return squares.reshape(len(self.complete), len(self.w) ** 2)

    @cached_property
    def inverse_at_w(self) -> Array:
        """About the inverse of the center's curvature at w; where that is flat along some direction, 0 along it."""
        slope = self.complete_graph.slope(self.complete @ self.w)
        K = np.diag(self.lam) + (self.complete.T * (self.complete_weight * slope)) @ self.complete
        slope = self.incomplete_graph.slope(self.incomplete @ self.w)
        K += (self.incomplete.T * (self.incomplete_weight * slope)) @ self.incomplete
        return np.asarray(np.linalg.pinv(K, hermitian=True))

    def sums_of_cells(self, values: Array) -> Array:
        """Add up values of cells, along the last axis, for each incomplete row."""
        return sums_by_rank(values, self.ranks, len(self.incomplete))

    def columns_of_cells(self, values: Array) -> Array:
        """Add up values of cells, shape (k, n_cells), for each column."""
        sums = np.zeros((len(values), len(self.w)))
        for column in np.unique(self.cell_columns):
            sums[:, column] = values[:, self.cell_columns == column].sum(axis=1)
        return sums


def sums_by_rank(values: Array, ranks: tuple[int, ...], n: int) -> Array:
    """Add up values, along the last axis, for each of n rows: the first of every row, then every second one, and so on.

    Parameters
    ----------
    values : array of shape (..., sum of ranks)
    ranks : tuple of int
        How many rows have a first, a second, ... value; those with more of them come first.
    n : int
    """
    sums = np.zeros((*values.shape[:-1], n))
    first = 0
    for count in ranks:
        sums[..., :count] += values[..., first : first + count]
        first += count
    return sums


def _has_many_levels(rows: Rows) -> bool:
    """Whether a category has very many levels."""
    return any(len(levels.columns) > MOST_LEVELS for levels in rows.categories)


def _is_small(n: int, d: int) -> bool:
    """Whether all ranges of so many rows can be looked at."""
    return n <= MOST_ROWS and n * (n + d) * d * d <= MOST_WORK


def _cells(table: WholeTable, position: Indices) -> tuple[Indices, Indices, Array, tuple[int, ...]]:
    """Return the cells of the incomplete rows: the first of every row, then every second one, and so on."""
    counts = table.cell_counts
    in_row = np.repeat(np.arange(len(counts)), counts)
    rank = np.arange(len(in_row)) - np.repeat(np.cumsum(counts) - counts, counts)
    cells = np.flatnonzero(position[in_row] >= 0)
    cells = cells[np.lexsort((position[in_row[cells]], rank[cells]))]
    ranks = tuple(np.bincount(rank[cells]).tolist())
    return position[in_row[cells]], table.cell_columns[cells], table.cell_radii[cells], ranks


def _missing(table: WholeTable, position: Indices, categories: tuple[Levels, ...]) -> tuple[MissingLevels, ...]:
    """Return where each category is missing."""
    in_row = position[np.repeat(np.arange(len(position)), table.missing_counts)]
    found = []
    for number, levels in enumerate(categories):
        rows = in_row[(table.categories == number) & (in_row >= 0)]
        if len(rows):
            found.append(MissingLevels(rows, levels.columns, levels.center_value))
    return tuple(found)


def _with_l1_part(problem: Problem, X: Array, weight: Array) -> tuple[Array, Array]:
    """Return rows and their weights; each weight of an l1 penalty is one more row."""
    d = X.shape[1]
    penalised = np.flatnonzero(problem.penalty.kappa_vector(d))
    return np.concatenate([X, np.eye(d)[penalised]]), np.concatenate([weight, np.ones(len(penalised))])


def _with_l1_graph(problem: Problem, graph: LossGraph, d: int) -> LossGraph | JoinedGraphs:
    """Return the derivatives of rows, and of the weights of an l1 penalty."""
    kappa = problem.penalty.kappa_vector(d)
    penalised = np.flatnonzero(kappa)
    return JoinedGraphs(graph, SignGraph(kappa[penalised]), len(graph.y)) if len(penalised) else graph
